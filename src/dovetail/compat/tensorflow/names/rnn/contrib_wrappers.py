"""The cells of `contrib.rnn` around other cells, as rows, and its cells that run whole sequences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import is_nested, nest_flatten, nest_map_structure
from dovetail.compat.tensorflow.names.nn.embeddings import embedding_lookup
from dovetail.compat.tensorflow.names.rnn.base import BOTH, RNNCell, parts_of
from dovetail.compat.tensorflow.names.rnn.contrib_cells import LSTMBlockCell
from dovetail.compat.tensorflow.names.rnn.loops import over_steps, reversed_steps
from dovetail.compat.tensorflow.names.rnn.wrappers import Wrapper
from dovetail.compat.tensorflow.names.variables.initializers import Constant, RandomUniform
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from dovetail.compat.tensorflow.table import in_v1, row
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    scope: Any = None,
) -> Any:
    """The product of tensors (batch, n), next to each other, with the variable `kernel`, and a `bias`.

    Source: `tensorflow.python.ops.rnn_cell_impl._linear`.
    """
    joined = ops.concatenate(list(args), 1) if is_nested(args) else args
    dtype = dtype_of(joined)
    with variable_scope(scope or get_variable_scope()):
        product = ops.matmul(
            joined, get_variable("kernel", [static_shape(joined)[1], output_size], dtype, kernel_initializer)
        )
        if not bias:
            return product
        first = bias_initializer if callable(bias_initializer) else Constant(bias_initializer or 0.0)
        return ops.bias_add(product, get_variable("bias", [output_size], dtype, first))


row(
    "nn.rnn_cell._linear contrib.rnn._linear",
    linear,
    "args output_size bias bias_initializer kernel_initializer",
    v1="+bias_start:bias_initializer scope",
    defers=False,
)


class Around(Wrapper):
    """A cell around another, with variables of its own."""

    is_whole = False
    no_activation = staticmethod(ops.identity)
    __call__ = RNNCell.__call__
    begin = RNNCell.begin


class EmbeddingWrapper(Around, places=BOTH, takes="cell embedding_classes embedding_size initializer=None reuse=None"):
    """A cell whose inputs are numbers of rows in a table, which is a variable.

    Source: `tf.contrib.rnn.EmbeddingWrapper`.
    """

    def call(self, inputs: Any, state: Any) -> Any:
        bound = math.sqrt(3)  # of uniform numbers with variance 1
        first = self._initializer or RandomUniform(-bound, bound)
        shape, dtype = [self._embedding_classes, self._embedding_size], dtype_of(nest_flatten(state)[0])
        table = get_variable("embedding", shape, dtype, first)
        return self._cell(in_v1(embedding_lookup)(table, ops.reshape(inputs, [-1])), state)


class InputProjectionWrapper(Around, places=BOTH, takes="cell num_proj activation=None input_size=None reuse=None"):
    """A cell whose inputs are first multiplied with a variable.

    Source: `tf.contrib.rnn.InputProjectionWrapper`.
    """

    def call(self, inputs: Any, state: Any) -> Any:
        return self._cell(self._activation(linear(inputs, self._num_proj, True)), state)


class OutputProjectionWrapper(Around, places=BOTH, takes="cell output_size activation=None reuse=None"):
    """A cell whose outputs are multiplied with a variable.

    Source: `tf.contrib.rnn.OutputProjectionWrapper`.
    """

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        output, after = self._cell(inputs, state)
        return self._activation(linear(output, self._output_size, True)), after


class AttentionCellWrapper(
    Around,
    places="contrib.rnn",
    takes="cell attn_length attn_size=None attn_vec_size=None input_size=None state_is_tuple=True reuse=None",
):
    """A cell that attends to its last `attn_length` outputs.

    Its state has the cell's, the last attention, and these outputs.

    Raises:
        ValueError: `attn_length` is not positive, or the cell's state is a tuple that cannot be part of one tensor.

    Source: `tf.contrib.rnn.AttentionCellWrapper`.
    """

    def begin(self) -> None:
        if self._attn_length <= 0 or (is_nested(self._cell.state_size) and not self._state_is_tuple):
            problem = "attn_length must be positive, and the cell's state one tensor if state_is_tuple is False."
            raise op_error(ValueError, "tf.contrib.rnn.AttentionCellWrapper", problem)
        self._length, self._size = self._attn_length, self._attn_size or self._cell.output_size

    @property
    def state_size(self) -> Any:
        return tuple(self._sizes()) if self._state_is_tuple else sum(self._sizes())

    def _sizes(self) -> list[Any]:
        return [self._cell.state_size, self._size, self._size * self._length]

    @property
    def output_size(self) -> Any:
        return self._size

    zero_state = RNNCell.zero_state

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            state = parts_of(state, self._sizes())
        inner, attention, outputs = state
        outputs = ops.reshape(outputs, [-1, self._length, self._size])
        inputs = linear([inputs, attention], self._input_size or static_shape(inputs)[1], True)
        output, inner = self._cell(inputs, inner)
        attention = self._attention(ops.concatenate(nest_flatten(inner), 1), outputs)
        with variable_scope("attn_output_projection"):
            output = linear([output, attention], self._size, True)
        outputs = ops.concatenate([outputs[:, 1:], ops.expand_dims(output, 1)], 1)
        after = (inner, attention, ops.reshape(outputs, [-1, self._size * self._length]))
        return output, after if self._state_is_tuple else ops.concatenate(after, 1)

    def _attention(self, query: Any, outputs: Any) -> Any:
        features = self._attn_vec_size or self._size
        with variable_scope("attention"):
            w = get_variable("attn_w", [1, 1, self._size, features])
            return attended(query, outputs, w, get_variable("attn_v", [features]))


def attended(query: Any, states: Any, w: Any, v: Any) -> Any:
    """The mean of states (batch, length, size), weighted by how they fit a query; it has variables of its own."""
    features = static_shape(v)[0]
    y = ops.expand_dims(linear(query, features, True), 1)
    hidden = ops.matmul(states, ops.reshape(w, [-1, features]))
    scores = ops.softmax(ops.sum(v * ops.tanh(hidden + y), 2))
    return ops.sum(ops.expand_dims(scores, 2) * states, 1)


class HighwayWrapper(Wrapper, places="contrib.rnn", takes="cell couple_carry_transform_gates=True carry_bias_init=1.0"):
    """A cell whose output is mixed with its input, by a gate.

    Source: `tf.contrib.rnn.HighwayWrapper`.
    """

    is_whole = False

    def around(self, cell: Callable[..., Any], inputs: Any, state: Any) -> Any:
        output, after = cell(inputs, state)
        return nest_map_structure(self._mixed, inputs, output), after

    def _mixed(self, x: Any, y: Any) -> Any:
        first, carry = self._carry_bias_init, self._gate("carry", x, self._carry_bias_init)
        return x * carry + y * (1 - carry if self._couple_carry_transform_gates else self._gate("transform", x, -first))

    def _gate(self, name: str, x: Any, first: float) -> Any:
        size = static_shape(x)[1]
        weight = get_variable(f"{name}_w", [size, size])
        bias = get_variable(f"{name}_b", [size], initializer=Constant(first))
        return ops.sigmoid(ops.bias_add(ops.matmul(x, weight), bias))


class LSTMBlockFusedCell:
    """An LSTM over whole sequences (time, batch, depth), with the arguments of `LSTMBlockCell`.

    Source: `tf.contrib.rnn.LSTMBlockFusedCell`.
    """

    def __init__(self, *args: Any, name: str = "lstm_fused_cell", **options: Any) -> None:
        make: Any = LSTMBlockCell
        self._cell = make(*args, name=name, **options)

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        """The outputs of all steps, and the last state."""
        if initial_state is None:
            initial_state = self._cell.zero_state(dims_of(inputs)[1], dtype or dtype_of(inputs))
        return over_steps(self._cell, inputs, initial_state, sequence_length, time_major=True, scope=scope)


class TimeReversedFusedRNN:
    """Another cell for whole sequences, as `LSTMBlockFusedCell`, from the last step to the first.

    Source: `tf.contrib.rnn.TimeReversedFusedRNN`.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> Any:
        """The outputs of all steps, in their order, and the state after the first."""
        backwards = reversed_steps(inputs, sequence_length, time_major=True)
        outputs, state = self._cell(backwards, initial_state, dtype, sequence_length, scope)
        return reversed_steps(outputs, sequence_length, time_major=True), state


value("contrib.rnn.LSTMBlockFusedCell", LSTMBlockFusedCell, "v1")
value("contrib.rnn.TimeReversedFusedRNN", TimeReversedFusedRNN, "v1")
