"""The cells of `nn.rnn_cell`, as rows, each with its variables and one step."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.layers.base import Layer
from dovetail.compat.tensorflow.names.rnn.base import BOTH, RNNCell, parts_of
from dovetail.compat.tensorflow.names.variables.initializers import Constant
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of
from dovetail.ops.sequence.cells import gates_in_order, gru_cell, lstm_cell
from dovetail.ops.shapes.shape import dims_of


class LSTMStateTuple(namedtuple("LSTMStateTuple", "c h")):
    """The state of an LSTM cell: the cell and the output.

    Source: `tf.compat.v1.nn.rnn_cell.LSTMStateTuple`.
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        return self.c.dtype


value("nn.rnn_cell.LSTMStateTuple contrib.rnn.LSTMStateTuple", LSTMStateTuple, "v1")
ALL: Any = ()  # the lengths of sequences whose steps all count


class Cell(RNNCell):
    """A cell of a row.

    Attributes:
        gates: how many products of the inputs and the state a step takes; `kernel` and `bias` have them side by side.
        first: name of a variable → the number that it begins with, or None as the scope says; biases begin with 0.
        of: name of a variable → the variable.
    """

    gates: ClassVar[int] = 1
    first: ClassVar[dict[str, float | None]] = {}
    _state_is_tuple = True
    of: dict[str, Any]

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **options: Any) -> Any:
        return Layer.__call__(self, inputs, state, scope=scope, **options)

    def shapes(self, depth: int) -> dict[str, list[int]]:
        """The shapes of its variables, by name, for inputs of a depth."""
        width = self.gates * self.sizes[0]
        return {"kernel": [depth + self.output_size, width], "bias": [width]}

    def products(self, x: Any, h: Any) -> list[Any]:
        """The product of each gate."""
        return ops.split(linear(x, h, self.of["kernel"], self.of["bias"]), self.gates, axis=1)

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        """The output and the parts of the next state."""
        raise NotImplementedError

    @property
    def sizes(self) -> list[int]:
        """The sizes of the parts of its state."""
        return [self._num_units]

    @property
    def state_size(self) -> Any:
        sizes = self.sizes
        if len(sizes) == 1:
            return sizes[0]
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self.sizes[-1]

    def build(self, input_shape: Any) -> None:
        """Make its variables.

        Raises:
            ValueError: the last dimension of the inputs is not known.
        """
        depth = input_shape[-1]
        if depth is None:
            problem = f"the last dimension of the inputs must be known, but their shape is {input_shape}."
            raise op_error(ValueError, f"tf.nn.rnn_cell.{type(self).__name__}", problem)
        self.of = {}
        for name, shape in self.shapes(int(depth)).items():
            self.of[name] = self.add_weight(name, shape=shape, initializer=self._initializer_of(name))
        self._kernel, self._bias = self.of.get("kernel"), self.of.get("bias")  # as programs' own cells know them
        super().build(input_shape)

    def _initializer_of(self, name: str) -> Any:
        last = name.rpartition("/")[2]
        given = getattr(self, f"_{_ARGUMENTS.get(last, 'initializer')}", None)
        if given is None:
            given = self.first.get(name, 0.0 if last.startswith("bias") else None)
        return Constant(given) if isinstance(given, (int, float)) else given

    def call(self, inputs: Any, state: Any) -> Any:
        """One step: the output and the next state."""
        sizes = self.sizes
        if len(sizes) == 1:
            return self.step(inputs, state)
        output, *after = self.step(inputs, *(state if self._state_is_tuple else parts_of(state, sizes)))
        return output, LSTMStateTuple(*after) if self._state_is_tuple else ops.concatenate(after, 1)


# The last name of a variable → the argument that says how it begins.
_ARGUMENTS = {"gamma": "norm_gain", "beta": "norm_shift", **dict.fromkeys(["bias", "biases"], "bias_initializer")}


def linear(x: Any, h: Any, kernel: Any, bias: Any) -> Any:
    """The product of inputs and state, next to each other, with a matrix, and a bias."""
    return ops.bias_add(ops.matmul(ops.concatenate([x, h], 1), kernel), bias)


class BasicRNNCell(
    Cell,
    places=BOTH,
    takes="num_units activation=None reuse=None name=None dtype=None",
):
    """A cell whose output is its state.

    Source: `tf.compat.v1.nn.rnn_cell.BasicRNNCell`.
    """

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        h = self._activation(linear(x, state[0], self.of["kernel"], self.of["bias"]))
        return h, h


class GRUCell(
    Cell,
    places=BOTH,
    takes="num_units activation=None reuse=None kernel_initializer=None bias_initializer=None name=None dtype=None",
):
    """Gated recurrent units, whose reset gate comes before the recurrent product.

    Source: `tf.compat.v1.nn.rnn_cell.GRUCell`.
    """

    first: ClassVar = {"gates/bias": 1.0}
    variables_of_step: ClassVar[tuple[str, ...]] = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

    def shapes(self, depth: int) -> dict[str, list[int]]:
        (units,) = self.sizes
        rows = depth + units
        shapes = [rows, 2 * units], [2 * units], [rows, units], [units]
        return dict(zip(self.variables_of_step, shapes, strict=True))

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        (h,) = state
        kernel, bias, candidate_kernel, candidate_bias = (self.of[name] for name in self.variables_of_step)
        gates = ops.split(linear(x, h, kernel, bias), 2, axis=1)

        def candidate(r: Any) -> Any:
            return linear(x, r * h, candidate_kernel, candidate_bias)

        h = gru_cell(gates, candidate, h, (ops.sigmoid, self._activation)).h
        return h, h

    @property
    def is_whole(self) -> bool:
        return self.is_row and self._activation is ops.tanh

    def call(self, inputs: Any, state: Any, lengths: Any = None) -> Any:
        if lengths is None:
            return super().call(inputs, state)
        gates, gates_bias, new, new_bias = (self.of[name] for name in self.variables_of_step)
        return whole_gru(inputs, state, gates, gates_bias, new, new_bias, lengths)


class _LSTM(Cell):
    """An LSTM cell: the options that a class does not take are off.

    Attributes:
        seen: the names of the variables by which the input gate, the forget gate and the output gate see the cell.
        projection: the name of the variable that multiplies the output.
    """

    gates: ClassVar = 4
    seen: ClassVar = ("w_i_diag", "w_f_diag", "w_o_diag")
    projection: ClassVar = "projection/kernel"
    _use_peepholes, _cell_clip, _num_proj, _proj_clip = False, None, None, None
    _peepholes = "f i o"  # in the order of variables
    _activation = staticmethod(ops.tanh)
    _forget_bias = 0.0

    @property
    def sizes(self) -> list[int]:
        return [self._num_units, self._num_proj or self._num_units]

    def shapes(self, depth: int) -> dict[str, list[int]]:
        units, outputs = self.sizes
        shapes = super().shapes(depth)
        if self._use_peepholes:
            shapes |= {f"w_{gate}_diag": [units] for gate in self._peepholes.split()}
        return shapes | ({self.projection: [units, outputs]} if self._num_proj else {})

    def step(self, x: Any, *state: Any) -> tuple[Any, ...]:
        c, h = state
        i, j, f, o = self.products(x, h)
        return self.stepped(i, f, j, o, c)

    def stepped(self, i: Any, f: Any, j: Any, o: Any, c: Any) -> tuple[Any, ...]:
        """The output and the next state, by the sums of the gates and of the new cell `j`."""
        peepholes = self.of.get(self.seen[0]), self.of.get(self.seen[1]), self.of.get(self.seen[2])
        activations = ops.sigmoid, self.new_cell, self._activation
        after = lstm_cell((i, f + self._forget_bias, j, o), c, peepholes, self.bounded, activations)
        h = self.projected(after.h)
        return h, after.c, h

    def new_cell(self, j: Any) -> Any:
        """The activation of a new cell."""
        return self._activation(j)

    def bounded(self, c: Any) -> Any:
        """The cell, within its limit."""
        return c if self._cell_clip is None else ops.clip(c, -self._cell_clip, self._cell_clip)

    def projected(self, h: Any) -> Any:
        """The output, multiplied with a variable if the cell has it."""
        kernel = self.of.get(self.projection)
        if kernel is None:
            return h
        h = ops.matmul(h, kernel)
        return h if self._proj_clip is None else ops.clip(h, -self._proj_clip, self._proj_clip)

    @property
    def is_whole(self) -> bool:
        plain = not (self._use_peepholes or self._num_proj) and self._cell_clip is None and self._state_is_tuple
        return plain and self.is_row and self._activation is ops.tanh

    def call(self, inputs: Any, state: Any, lengths: Any = None) -> Any:
        if lengths is None:
            return super().call(inputs, state)
        c, h = state
        output, *after = whole_lstm(inputs, c, h, self.of["kernel"], self.of["bias"], self._forget_bias, lengths)
        return output, LSTMStateTuple(*after)


class BasicLSTMCell(
    _LSTM,
    places=BOTH,
    takes="num_units forget_bias=1.0 state_is_tuple=True activation=None reuse=None name=None dtype=None",
):
    """A cell of long short-term memory.

    Source: `tf.compat.v1.nn.rnn_cell.BasicLSTMCell`.
    """


class LSTMCell(
    _LSTM,
    places=BOTH,
    takes="num_units use_peepholes=False cell_clip=None initializer=None num_proj=None proj_clip=None "
    "num_unit_shards=None num_proj_shards=None forget_bias=1.0 state_is_tuple=True activation=None reuse=None "
    "name=None dtype=None",
):
    """A cell of long short-term memory, with peepholes, a limit of the cell, or a projection of the output.

    Source: `tf.compat.v1.nn.rnn_cell.LSTMCell`.
    """


_SHUT = 3e4  # a gate with such an input is shut, or open, in every dtype


def whole_lstm(
    x: Any, c: Any, h: Any, kernel: Any, bias: Any, forget_bias: float, lengths: Any
) -> tuple[Any, Any, Any]:
    """All steps of an LSTM cell: the outputs (batch, steps, units), the last cell and the last output.

    Args:
        x: the inputs (batch, steps, depth).
        c, h: the state before the first step.
        kernel, bias: the cell's variables, for the input gate, the new cell, the forget gate and the output gate.
        forget_bias: a number that the forget gate also adds.
        lengths: how many steps of each sequence count, or `ALL`.  After them the state stays: a column of the inputs
            shuts the input gate, and opens the forget gate.
    """
    kernel = gates_in_order(kernel, "ijfo", "ifjo", 1)
    i, j, f, o = ops.split(bias, 4)
    bias = ops.concatenate([i, f + forget_bias, j, o])
    depth = dims_of(x)[-1]
    recurrent = kernel[depth:]
    kernel = kernel[:depth]
    if lengths is ALL:
        y, after, c = ops.lstm(x, h, c, kernel, recurrent, bias)
        return y, c, after
    x, kernel = _held(x, kernel, [-_SHUT, _SHUT, 0, 0], lengths)
    y, _, c = ops.lstm(x, h, c, kernel, recurrent, bias)
    return y, c, _at_end(h, y, lengths)


def whole_gru(x: Any, h: Any, gates: Any, gates_bias: Any, new: Any, new_bias: Any, lengths: Any) -> tuple[Any, Any]:
    """All steps of a GRU cell: the outputs (batch, steps, units), and the last one.

    Args:
        x: the inputs (batch, steps, depth).
        h: the state before the first step.
        gates, gates_bias: the cell's variables for the reset gate and the update gate.
        new, new_bias: those for the new output.
        lengths: how many steps of each sequence count, or `ALL`.  After them a column of the inputs opens the update
            gate, so that the state stays.
    """
    (r, u), (r_bias, u_bias) = ops.split(gates, 2, axis=1), ops.split(gates_bias, 2)
    both, bias = ops.concatenate([u, r, new], 1), ops.concatenate([u_bias, r_bias, new_bias])
    depth = dims_of(x)[-1]
    kernel, recurrent = both[:depth], both[depth:]
    if lengths is ALL:
        return ops.gru_reset_before(x, h, kernel, recurrent, bias)
    x, kernel = _held(x, kernel, [_SHUT, 0, 0], lengths)
    y, _ = ops.gru_reset_before(x, h, kernel, recurrent, bias)
    return y, _at_end(h, y, lengths)


def _held(x: Any, kernel: Any, gates: list[float], lengths: Any) -> tuple[Any, Any]:
    """The inputs and the kernel with a column that gives each gate a number, where a sequence is over."""
    past = ops.expand_dims(ops.arange(dims_of(x)[1], dtype=lengths.dtype) >= ops.expand_dims(lengths, 1), 2)
    x = ops.concatenate([ops.where(past, 0, x), ops.cast(past, dtype_of(x))], 2)
    parts = ops.split(ops.zeros_like(kernel[:1]), len(gates), axis=1)
    return x, ops.concatenate([kernel, ops.concatenate([part + n for part, n in zip(parts, gates, strict=True)], 1)])


def _at_end(h: Any, y: Any, lengths: Any) -> Any:
    """The output after the last step that counts; the first state for no steps."""
    states = ops.concatenate([ops.expand_dims(h, 1), y], 1)
    return ops.gather(states, ops.minimum(lengths, dims_of(y)[1]), axis=1, batch_dims=1)
