"""TensorFlow 1's `contrib.seq2seq`: decoders, which take steps until all sequences end, and helpers for inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.creation import zeros_like
from dovetail.compat.tensorflow.names.array.structures import nest_flatten, nest_map_structure
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.graph.control import while_loop
from dovetail.compat.tensorflow.names.nn.embeddings import embedding_lookup
from dovetail.compat.tensorflow.names.random.draws import multinomial, uniform
from dovetail.compat.tensorflow.names.rnn.base import zeros_of
from dovetail.compat.tensorflow.names.rnn.loops import swapped, where_of
from dovetail.compat.tensorflow.names.variables.variable_scope import variable_scope
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.values.value_kinds import dtype_of
from dovetail.ops.shapes.shape import dims_of

# -- helpers ----------------------------------------------------------------------------------------------------------


def in_graph(x: Any) -> Any:
    """A value as a tensor of the graph that is being built."""
    return graph_mode.recorded(ops.convert(x), "helper")


def lookup(embedding: Any) -> Callable[[Any], Any]:
    return embedding if callable(embedding) else lambda ids: in_v1(embedding_lookup)(embedding, ids)


def _largest(outputs: Any) -> Any:
    return ops.cast(ops.argmax(outputs, -1), "int32")


def _drawn(logits: Any, seed: Any) -> Any:
    return ops.cast(in_v1(multinomial)(logits, 1, seed=seed)[:, 0], "int32")


class Helper:
    """The base of helpers, which choose the inputs of a decoder.

    Source: `tf.contrib.seq2seq.Helper`.
    """

    sample_ids_shape, sample_ids_dtype = shape_of(()), "int32"

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Which sequences are finished at first, and the first inputs."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The numbers that the outputs of a step stand for."""
        return _largest(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Which sequences are finished, the next inputs, and the next state."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper of three functions.

    Source: `tf.contrib.seq2seq.CustomHelper`.
    """

    def __init__(
        self,
        initialize_fn: Any,
        sample_fn: Any,
        next_inputs_fn: Any,
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self.initialize = lambda name=None: initialize_fn()  # type: ignore[method-assign]
        self._sample, self._next = sample_fn, next_inputs_fn
        self.sample_ids_shape, self.sample_ids_dtype = shape_of(sample_ids_shape or ()), sample_ids_dtype or "int32"

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """A helper that gives the inputs of known sequences, (batch, time, ...), up to their lengths.

    Source: `tf.contrib.seq2seq.TrainingHelper`.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        whole = nest_map_structure(in_graph, inputs)
        self._inputs = whole if time_major else nest_map_structure(swapped, whole)
        self._lengths = ops.cast(in_graph(sequence_length), "int32")

    @property
    def inputs(self) -> Any:
        """The inputs, time first."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths of the sequences."""
        return self._lengths

    def _at(self, time: Any) -> Any:
        return nest_map_structure(lambda x: ops.take(x, ops.minimum(time, dims_of(x)[0] - 1), axis=0), self._inputs)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return ops.less_equal(self._lengths, 0), self._at(in_graph(0))

    def next_inputs(self, time: Any, outputs: Any, state: Any, *others: Any, **more: Any) -> tuple[Any, Any, Any]:
        return ops.greater_equal(time + 1, self._lengths), self._at(time + 1), state


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A training helper that gives, with some probability, the embedding of a drawn output instead.

    Source: `tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper`.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major)
        self._embedded, self._probability = lookup(embedding), sampling_probability
        self._seeds = seed, scheduling_seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        draws = in_v1(uniform)([dims_of(outputs)[0]], seed=self._seeds[1])
        return ops.where(ops.less(draws, self._probability), _drawn(outputs, self._seeds[0]), -1)

    def next_inputs(self, time: Any, outputs: Any, state: Any, *others: Any, **more: Any) -> tuple[Any, Any, Any]:
        ids = others[0] if others else more["sample_ids"]
        finished, known, state = super().next_inputs(time, outputs, state)
        return finished, where_of(ops.less(ids, 0), known, self._embedded(ops.maximum(ids, 0))), state


class GreedyEmbeddingHelper(Helper):
    """A helper that gives the embedding of the largest output, until it is the last token.

    Source: `tf.contrib.seq2seq.GreedyEmbeddingHelper`.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedded, self._end = lookup(embedding), end_token
        self._start = ops.cast(in_graph(start_tokens), "int32")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return zeros_like(self._start, "bool"), self._embedded(self._start)

    def next_inputs(self, time: Any, outputs: Any, state: Any, *others: Any, **more: Any) -> tuple[Any, Any, Any]:
        ids = others[0] if others else more["sample_ids"]
        return ops.equal(ids, self._end), self._embedded(ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that gives the embedding of a drawn output, until it is the last token.

    Source: `tf.contrib.seq2seq.SampleEmbeddingHelper`.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return _drawn(outputs if self._temperature is None else outputs / self._temperature, self._seed)


# -- decoders ---------------------------------------------------------------------------------------------------------


class Decoder:
    """The base of decoders.

    Attributes:
        tracks_own_finished: whether `step` says itself which sequences stay finished.

    Source: `tf.contrib.seq2seq.Decoder`.
    """

    tracks_own_finished = False


class BasicDecoderOutput(NamedTuple):
    """The outputs of a step: of the cell or its output layer, and the numbers that the helper makes of them.

    Source: `tf.contrib.seq2seq.BasicDecoderOutput`.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A decoder of a cell, of a helper, and of a layer for the cell's outputs.

    Source: `tf.contrib.seq2seq.BasicDecoder`.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        self._cell, self._helper, self._first, self._layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return dims_of(nest_flatten(self._helper.initialize()[0])[0])[0]

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The sizes of the outputs."""
        size = self._cell.output_size
        if self._layer is not None:
            size = getattr(self._layer, "units", None) or self._layer.compute_output_shape([None, size])[-1]
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The dtypes of the outputs."""
        return BasicDecoderOutput(dtype_of(nest_flatten(self._first)[0]), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which sequences are finished at first, the first inputs, and the first state."""
        return (*self._helper.initialize(), self._first)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """The outputs of a step, the next state and inputs, and which sequences are finished."""
        outputs, state = self._cell(inputs, state)
        outputs = outputs if self._layer is None else self._layer(outputs)
        ids = self._helper.sample(time=time, outputs=outputs, state=state)
        finished, following, state = self._helper.next_inputs(time=time, outputs=outputs, state=state, sample_ids=ids)
        return BasicDecoderOutput(outputs, ids), state, following, finished


@function("contrib.seq2seq.dynamic_decode", "v1")
def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Take steps of a decoder until all sequences are finished, and return the outputs, the last state and the lengths.

    Args:
        output_time_major: whether the outputs are (time, batch, ...).
        impute_finished: whether the outputs of finished sequences are zeros, and their states stay.
        maximum_iterations: the largest number of steps.

    Source: `tf.contrib.seq2seq.dynamic_decode`.
    """
    with variable_scope(scope or "decoder"):
        finished, inputs, state = decoder.initialize()
        batch = dims_of(finished)[0]
        sizes, dtypes = decoder.output_size, decoder.output_dtype
        zeros = nest_map_structure(lambda size, dtype: zeros_of(size, batch, dtype), sizes, dtypes)
        if maximum_iterations is not None:
            finished = ops.logical_or(finished, ops.less_equal(maximum_iterations, 0))
        arrays = nest_map_structure(
            lambda zero: TensorArray(zero.dtype, 0, dynamic_size=True, element_shape=dims_of(zero)), zeros
        )

        def body(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> tuple[Any, ...]:
            outputs, after, following, now = decoder.step(time, inputs, state)
            now = now if decoder.tracks_own_finished else ops.logical_or(now, finished)
            if maximum_iterations is not None:
                now = ops.logical_or(now, ops.greater_equal(time + 1, ops.cast(maximum_iterations, "int32")))
            lengths = ops.where(ops.logical_and(ops.logical_not(finished), now), time + 1, lengths)
            if impute_finished:
                outputs = nest_map_structure(lambda zero, new: where_of(finished, zero, new), zeros, outputs)
                after = nest_map_structure(lambda old, new: _kept(finished, old, new), state, after)
            arrays = nest_map_structure(lambda array, one: array.write(time, one), arrays, outputs)
            return time + 1, arrays, after, following, now, lengths

        lengths = zeros_like(finished, "int32")
        start = (in_graph(0), arrays, state, inputs, finished, lengths)
        last = while_loop(lambda _1, _2, _3, _4, finished, _5: ops.logical_not(ops.all(finished)), body, start)
        stacked, state, lengths = nest_map_structure(lambda array: array.stack(), last[1]), last[2], last[5]
        if hasattr(decoder, "finalize"):
            stacked, state = decoder.finalize(stacked, state, lengths)
        return stacked if output_time_major else nest_map_structure(swapped, stacked), state, lengths


def _kept(finished: Any, old: Any, new: Any) -> Any:
    return new if isinstance(new, TensorArray) else where_of(finished, old, new)


@function("contrib.seq2seq.tile_batch", "v1")
def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each sequence of tensors several times.

    Source: `tf.contrib.seq2seq.tile_batch`.
    """
    return nest_map_structure(lambda x: ops.repeat(x, multiplier, axis=0), t)


for _class in (
    *(Helper, CustomHelper, TrainingHelper, ScheduledEmbeddingTrainingHelper, GreedyEmbeddingHelper),
    *(SampleEmbeddingHelper, Decoder, BasicDecoder, BasicDecoderOutput),
):
    value(f"contrib.seq2seq.{_class.__name__}", _class, "v1")
