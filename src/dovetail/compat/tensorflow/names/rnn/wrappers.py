"""Cells around other cells, as rows: stacks, dropout, sums, devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.array.structures import (
    is_nested,
    nest_flatten,
    nest_map_structure,
    pack_sequence_as,
)
from dovetail.compat.tensorflow.names.layers.base import Layer
from dovetail.compat.tensorflow.names.nn.basics import dropout_v1
from dovetail.compat.tensorflow.names.random.draws import uniform
from dovetail.compat.tensorflow.names.rnn.base import BOTH, RNNCell, dims_of_size, parts_of
from dovetail.compat.tensorflow.names.rnn.cells import LSTMStateTuple
from dovetail.compat.tensorflow.names.session.devices import device as device_scope
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_tensor


class MultiRNNCell(RNNCell, places=BOTH, takes="cells state_is_tuple=True"):
    """Cells in a stack: the output of each is the input of the next.

    Its state is the tuple of the cells' states; without `state_is_tuple` it is one tensor of them all.

    Raises:
        TypeError: `cells` is no list or tuple.
        ValueError: there are none; or a state is a tuple that cannot be part of one tensor.

    Source: `tf.compat.v1.nn.rnn_cell.MultiRNNCell`.
    """

    def begin(self) -> None:
        if not is_nested(self._cells):
            raise op_error(TypeError, "tf.nn.rnn_cell.MultiRNNCell", f"cells must be a list, not {self._cells!r}.")
        if not self._cells:
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", "it needs a cell.")
        if not self._state_is_tuple and any(is_nested(cell.state_size) for cell in self._cells):
            problem = "the state of a cell is a tuple: give state_is_tuple=False to the cells, too."
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", problem)

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def is_whole(self) -> Any:
        return self.is_row and self._state_is_tuple and all(getattr(cell, "is_whole", False) for cell in self._cells)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with graph_mode.name_scope("MultiRNNCellZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any, **options: Any) -> Any:
        """One step: the output of the last cell, and the next states."""
        if not self._state_is_tuple:
            state = parts_of(state, [cell.state_size for cell in self._cells])
        if not is_nested(state) or len(state) != len(self._cells):
            problem = f"the state must be a tuple of {len(self._cells)} states, not {state!r}."
            raise op_error(ValueError, "tf.nn.rnn_cell.MultiRNNCell", problem)
        after = []
        for i, (cell, before) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, before, **options)
            after.append(new)
        return inputs, tuple(after) if self._state_is_tuple else ops.concatenate(after, 1)


class Wrapper(RNNCell):
    """A cell around another, which has the variables and the state."""

    def begin(self) -> None:
        if isinstance(self._cell, Layer):
            self._trainable_weights = self._cell._trainable_weights
            self._non_trainable_weights = self._cell._non_trainable_weights

    @property
    def wrapped_cell(self) -> Any:
        """The other cell."""
        return self._cell

    cell = wrapped_cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def is_whole(self) -> Any:
        return self.is_row and getattr(self._cell, "is_whole", False)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with graph_mode.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **options: Any) -> Any:
        return self.around(partial(self._cell, **({} if scope is None else {"scope": scope}), **options), inputs, state)

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        """One step: the output and the next state, by one step of the other cell."""
        raise NotImplementedError


def _dropped_by_default(state: Any) -> Any:
    """Which parts of a state may lose elements: not the cell of an LSTM."""
    return LSTMStateTuple(False, True) if isinstance(state, LSTMStateTuple) else True


class DropoutWrapper(
    Wrapper,
    places=BOTH,
    takes="cell input_keep_prob=1.0 output_keep_prob=1.0 state_keep_prob=1.0 variational_recurrent=False "
    "input_size=None dtype=None seed=None dropout_state_filter_visitor=None",
):
    """A cell whose inputs, outputs and states lose random elements; the others are scaled up.

    A chance of 1 drops nothing.  With `variational_recurrent`, which needs `dtype` and `input_size`, all steps lose the
    same elements.  `dropout_state_filter_visitor` says of a part of the state whether it may be dropped.

    Raises:
        ValueError: a chance is not between 0 and 1; or `variational_recurrent` lacks an argument.

    Source: `tf.compat.v1.nn.rnn_cell.DropoutWrapper`.
    """

    def begin(self) -> None:
        super().begin()
        self._keep = {kind: getattr(self, f"_{kind}_keep_prob") for kind in ("input", "output", "state")}
        for kind, keep in self._keep.items():
            if not is_tensor(keep) and not 0 <= keep <= 1:
                problem = f"{kind}_keep_prob must be between 0 and 1, not {keep}."
                raise op_error(ValueError, "tf.nn.rnn_cell.DropoutWrapper", problem)
        self._noise: dict[str, Any] = {}
        if self._variational_recurrent:
            sizes = {"input": self._input_size, "output": self.output_size, "state": self.state_size}
            needed = {kind: size for kind, size in sizes.items() if self._drops(kind)}
            if self.dtype is None or None in needed.values():
                problem = "variational_recurrent needs the inputs' dtype, and their input_size if they are dropped."
                raise op_error(ValueError, "tf.nn.rnn_cell.DropoutWrapper", problem)
            self._noise = {kind: nest_map_structure(self._draw, size) for kind, size in needed.items()}

    def _drops(self, kind: str) -> bool:
        return is_tensor(self._keep[kind]) or self._keep[kind] < 1

    def _draw(self, size: Any) -> Any:
        return in_v1(uniform)([1, *dims_of_size(size)], dtype=self.dtype, seed=self._seed)

    @property
    def is_whole(self) -> Any:
        return super().is_whole and not self._noise and not self._drops("state")

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        output, after = cell(self._dropped("input", inputs), state)
        return self._dropped("output", output), self._dropped("state", after)

    def _dropped(self, kind: str, values: Any) -> Any:
        """A nest of tensors without their dropped elements."""
        if not self._drops(kind):
            return values
        leaves, keep = nest_flatten(values), self._keep[kind]
        noises = nest_flatten(self._noise[kind]) if self._noise else [None] * len(leaves)
        visit = self._dropout_state_filter_visitor or _dropped_by_default
        chosen = _chosen(visit, values) if kind == "state" else [True] * len(leaves)

        def dropped(x: Any, noise: Any, is_chosen: bool) -> Any:
            if not is_chosen:
                return x
            if noise is None:
                return in_v1(dropout_v1)(x, keep, seed=self._seed)
            return ops.divide(x, keep) * ops.floor(noise + keep)

        return pack_sequence_as(values, list(map(dropped, leaves, noises, chosen)))


def _chosen(visit: Callable[[Any], Any], state: Any) -> list[bool]:
    """For each tensor of a state, whether it may be dropped."""
    verdict = visit(state)
    if is_nested(verdict):
        return [bool(one) for one in nest_flatten(verdict)]
    if verdict and is_nested(state):
        return [one for part in state for one in _chosen(visit, part)]
    return [bool(verdict)] * len(nest_flatten(state))


class ResidualWrapper(Wrapper, places=BOTH, takes="cell residual_fn=None"):
    """A cell whose output is added to its input, or joined with it by `residual_fn`.

    Source: `tf.compat.v1.nn.rnn_cell.ResidualWrapper`.
    """

    @property
    def is_whole(self) -> Any:
        return super().is_whole and self._residual_fn is None

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        output, after = cell(inputs, state)
        joined = self._residual_fn or partial(nest_map_structure, ops.add)
        return joined(inputs, output), after


class DeviceWrapper(Wrapper, places=BOTH, takes="cell device"):
    """A cell whose operations are on a device.

    Source: `tf.compat.v1.nn.rnn_cell.DeviceWrapper`.
    """

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        with device_scope(self._device):
            return cell(inputs, state)
