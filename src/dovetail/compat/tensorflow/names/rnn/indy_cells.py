"""The cells of `contrib.rnn` whose elements see little or nothing of the other elements' last states, as rows."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow.names.rnn.cells import Cell
from dovetail.compat.tensorflow.names.variables.initializers import RandomUniform


class SRUCell(Cell, places="contrib.rnn", takes="num_units activation=None reuse=None name=None"):
    """A cell whose products are of the inputs alone, so that only its gates go from step to step.

    Source: `tf.contrib.rnn.SRUCell`.
    """

    def shapes(self, depth: int) -> dict[str, list[int]]:
        return {"kernel": [depth, 4 * self._num_units], "bias": [2 * self._num_units]}

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        new, f, r, straight = ops.split(ops.matmul(x, self.of["kernel"]), 4, axis=1)
        f, r = ops.split(ops.sigmoid(ops.concatenate([f, r], 1) + self.of["bias"]), 2, axis=1)
        c = f * state[0] + (1 - f) * new
        return r * self._activation(c) + (1 - r) * straight, c


class _OwnState:
    """The part of a cell whose elements see their own last state alone, not that of the others."""

    _seen: ClassVar = RandomUniform(-1.0, 1.0)
    of: dict[str, Any]

    def _initializer_of(self, name: str) -> Any:
        return self._seen if name.endswith("kernel_u") else super()._initializer_of(name)  # type: ignore[misc]

    def gate(self, x: Any, h: Any, scope: str = "") -> Any:
        """The product of the inputs with a matrix, of the state with a vector, and a bias."""
        kernel, own, bias = (self.of[f"{scope}{name}"] for name in ("kernel_w", "kernel_u", "bias"))
        return ops.matmul(x, kernel) + h * own + bias


def _shapes(depth: int, width: int, scope: str = "") -> dict[str, list[int]]:
    return {f"{scope}kernel_w": [depth, width], f"{scope}kernel_u": [1, width], f"{scope}bias": [width]}


class IndRNNCell(
    _OwnState, Cell, places="contrib.rnn", takes="num_units activation=None reuse=None name=None dtype=None"
):
    """A cell whose elements see their own last state alone.

    Source: `tf.contrib.rnn.IndRNNCell`.
    """

    def shapes(self, depth: int) -> dict[str, list[int]]:
        return _shapes(depth, self._num_units)

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        h = self._activation(self.gate(x, state[0]))
        return h, h


class IndyGRUCell(
    _OwnState,
    Cell,
    places="contrib.rnn",
    takes="num_units activation=None reuse=None kernel_initializer=None bias_initializer=None name=None dtype=None",
):
    """`GRUCell` whose elements see their own last state alone.

    Source: `tf.contrib.rnn.IndyGRUCell`.
    """

    first: ClassVar = {"gates/bias": 1.0}

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units = self._num_units
        return _shapes(depth, 2 * units, "gates/") | _shapes(depth, units, "candidate/")

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        (h,) = state
        r, u = ops.split(ops.sigmoid(self.gate(x, ops.concatenate([h, h], 1), "gates/")), 2, axis=1)
        h = u * h + (1 - u) * self._activation(self.gate(x, r * h, "candidate/"))
        return h, h


class IndyLSTMCell(
    _OwnState,
    Cell,
    places="contrib.rnn",
    takes="num_units forget_bias=1.0 activation=None reuse=None kernel_initializer=None bias_initializer=None "
    "name=None dtype=None",
):
    """An LSTM cell whose elements see their own last output alone.

    Source: `tf.contrib.rnn.IndyLSTMCell`.
    """

    @property
    def sizes(self) -> list[int]:
        return [self._num_units, self._num_units]

    def shapes(self, depth: int) -> dict[str, list[int]]:
        return _shapes(depth, 4 * self._num_units)

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        i, j, f, o = ops.split(self.gate(x, ops.concatenate([h] * 4, 1)), 4, axis=1)
        c = c * ops.sigmoid(f + self._forget_bias) + ops.sigmoid(i) * self._activation(j)
        h = self._activation(c) * ops.sigmoid(o)
        return h, c, h
