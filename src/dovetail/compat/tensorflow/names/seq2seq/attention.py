"""TensorFlow 1's attention for cells: means of a memory, weighted by how its parts fit a cell's output."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.creation import sequence_mask, zeros
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.layers.core import dense
from dovetail.compat.tensorflow.names.nn.basics import softmax
from dovetail.compat.tensorflow.names.rnn.base import RNNCell
from dovetail.compat.tensorflow.names.seq2seq.decoders import in_graph
from dovetail.compat.tensorflow.names.variables.initializers import Constant
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, variable_scope
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of


class AttentionMechanism:
    """The base of mechanisms: a memory (batch, length, size), and how its parts fit a query.

    Args:
        num_units: the size in which queries and the memory are compared.
        memory: the memory, of which parts beyond `memory_sequence_length` do not count.
        probability_fn: makes weights of the scores; by default softmax.
        score_mask_value: the score of parts that do not count.

    Source: `tf.contrib.seq2seq.AttentionMechanism`.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
    ) -> None:
        memory = in_graph(memory)
        length = dims_of(memory)[1]
        self._mask = None
        if memory_sequence_length is not None:
            self._mask = in_v1(sequence_mask)(memory_sequence_length, length)
            memory = memory * ops.cast(ops.expand_dims(self._mask, 2), dtype_of(memory))
        self._units, self.values, self.alignments_size = num_units, memory, length
        self._probabilities = probability_fn or softmax
        self._masked = -math.inf if score_mask_value is None else score_mask_value
        self.memory_layer = dense.kind(num_units, name="memory_layer", use_bias=False)
        self.keys = self.memory_layer(memory)

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return dims_of(self.keys)[0]

    @property
    def state_size(self) -> Any:
        """The size of its state, the weights."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """The weights before the first step: zeros."""
        return in_v1(zeros)([batch_size, self.alignments_size], dtype)

    initial_state = initial_alignments

    def score(self, query: Any) -> Any:
        """How each part of the memory fits the queries: (batch, length)."""
        raise NotImplementedError

    def __call__(self, query: Any, state: Any = None, previous_alignments: Any = None) -> tuple[Any, Any]:
        with variable_scope(self.scope):  # type: ignore[attr-defined]
            score = self.score(query)
        if self._mask is not None:
            score = ops.where(self._mask, score, ops.cast(self._masked, dtype_of(score)))
        weights = self._probabilities(score)
        return weights, weights


class BahdanauAttention(AttentionMechanism):
    """Scores by a layer of tanh.

    Source: `tf.contrib.seq2seq.BahdanauAttention`.
    """

    scope = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        super().__init__(num_units, memory, memory_sequence_length, probability_fn, score_mask_value)
        self._normalize = normalize
        self.query_layer = dense.kind(num_units, name="query_layer", use_bias=False)

    def score(self, query: Any) -> Any:
        whole, dtype = self.keys + ops.expand_dims(self.query_layer(query), 1), dtype_of(query)
        v = get_variable("attention_v", [self._units], dtype)
        if self._normalize:
            scale = get_variable("attention_g", [], dtype, Constant(math.sqrt(1.0 / self._units)))
            whole += get_variable("attention_b", [self._units], dtype, Constant(0.0))
            v = scale * v * ops.rsqrt(ops.sum(ops.square(v)))
        return ops.sum(v * ops.tanh(whole), 2)


class LuongAttention(AttentionMechanism):
    """Scores by products.

    Source: `tf.contrib.seq2seq.LuongAttention`.
    """

    scope = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        super().__init__(num_units, memory, memory_sequence_length, probability_fn, score_mask_value)
        self._scale = scale

    def score(self, query: Any) -> Any:
        scores = ops.sum(self.keys * ops.expand_dims(query, 1), 2)
        return scores * get_variable("attention_g", [], dtype_of(query), Constant(1.0)) if self._scale else scores


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`.

    Source: `tf.contrib.seq2seq.AttentionWrapperState`.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **parts: Any) -> AttentionWrapperState:
        """The state with other parts."""
        return self._replace(**parts)


class AttentionWrapper(RNNCell):
    """A cell that also gets what it attended to in the step before.

    Args:
        cell: the cell.
        attention_mechanism: a mechanism, or several.
        attention_layer_size: the size of a layer of the cell's output and of what it attended to; for several
            mechanisms, a list.
        alignment_history: whether the state keeps the weights of all steps.
        cell_input_fn: makes the cell's input of the input and the attention; by default both next to each other.
        output_attention: whether the output is the attention, and not the cell's output.
        initial_cell_state: the state of the cell in `zero_state`.

    Source: `tf.contrib.seq2seq.AttentionWrapper`.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
    ) -> None:
        super().__init__(name=name)
        self._several = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms: Sequence[Any] = attention_mechanism if self._several else [attention_mechanism]
        given = attention_layer if attention_layer_size is None else attention_layer_size
        sizes = given if isinstance(given, (list, tuple)) else [given] * len(self._mechanisms)
        self._layers = [
            dense.kind(one, name="attention_layer", use_bias=False) if isinstance(one, int) else one for one in sizes
        ]
        self._cell, self._keeps, self._attends = cell, alignment_history, output_attention
        self._joined = cell_input_fn or (lambda inputs, attention: ops.concatenate([inputs, attention], -1))
        self._first = initial_cell_state

    def _attention_size(self) -> int:
        pairs = zip(self._layers, self._mechanisms, strict=True)
        return sum(static_shape(one.values)[-1] if layer is None else int(layer.units) for layer, one in pairs)

    @property
    def output_size(self) -> Any:
        return self._attention_size() if self._attends else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        sizes = self._parts([one.alignments_size for one in self._mechanisms])
        return AttentionWrapperState(self._cell.state_size, self._attention_size(), (), sizes, sizes, sizes)

    def _parts(self, parts: list[Any]) -> Any:
        return tuple(parts) if self._several else parts[0]

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        weights = [one.initial_alignments(batch_size, dtype) for one in self._mechanisms]
        histories = [TensorArray(dtype, 0, dynamic_size=True, element_shape=dims_of(one)) for one in weights]
        return AttentionWrapperState(
            self._cell.zero_state(batch_size, dtype) if self._first is None else self._first,
            in_v1(zeros)([batch_size, self._attention_size()], dtype),
            in_graph(0),
            self._parts(weights),
            self._parts(histories) if self._keeps else (),
            self._parts(list(weights)),
        )

    def call(self, inputs: Any, state: AttentionWrapperState) -> tuple[Any, AttentionWrapperState]:
        """One step."""
        output, cell_state = self._cell(self._joined(inputs, state.attention), state.cell_state)
        weights, attentions = [], []
        for mechanism, layer in zip(self._mechanisms, self._layers, strict=True):
            weight, _ = mechanism(output)
            context = ops.sum(ops.expand_dims(weight, 2) * mechanism.values, 1)
            weights.append(weight)
            attentions.append(context if layer is None else layer(ops.concatenate([output, context], 1)))
        attention = ops.concatenate(attentions, 1)
        history = state.alignment_history
        if self._keeps:
            before = history if self._several else [history]
            history = self._parts([x.write(state.time, one) for x, one in zip(before, weights, strict=True)])
        after = self._parts(weights)
        result = AttentionWrapperState(cell_state, attention, state.time + 1, after, history, self._parts([*weights]))
        return attention if self._attends else output, result


for _class in (AttentionMechanism, BahdanauAttention, LuongAttention, AttentionWrapperState, AttentionWrapper):
    value(f"contrib.seq2seq.{_class.__name__}", _class, "v1")
