"""The decoder of `contrib.seq2seq` that keeps the best sequences of all steps.

Source: `tf.contrib.seq2seq.BeamSearchDecoder` of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import nest_map_structure
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.seq2seq.decoders import Decoder, lookup
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of

PLACE = "tf.contrib.seq2seq.BeamSearchDecoder"


class BeamSearchDecoderState(NamedTuple):
    """The state of the search: that of the cell, and of each sequence its logarithm, whether it ended, its length.

    Source: `tf.contrib.seq2seq.BeamSearchDecoderState`.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any = ()


class BeamSearchDecoderOutput(NamedTuple):
    """The best sequences of a step: their scores, their last numbers, and the sequences that they continue.

    Source: `tf.contrib.seq2seq.BeamSearchDecoderOutput`.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The best sequences, (time, batch, beams), and the outputs of all steps.

    Source: `tf.contrib.seq2seq.FinalBeamSearchDecoderOutput`.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


@function("contrib.seq2seq.gather_tree", "v1")
def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Any:
    """Whole sequences from the numbers of each step and the sequences that they continue.

    Args:
        step_ids, parent_ids: (time, batch, beams).
        max_sequence_lengths: the largest length for each of the batch; later numbers are `end_token`.

    Source: `tf.contrib.seq2seq.gather_tree`.
    """

    def whole(steps: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: np.ndarray) -> np.ndarray:
        found = np.full_like(steps, end)
        for number, length in enumerate(np.minimum(lengths, len(steps))):
            beams = np.arange(steps.shape[2])
            for time in reversed(range(length)):
                found[time, number] = steps[time, number, beams]
                beams = parents[time, number, beams]
        ended = np.logical_or.accumulate(found == end, axis=0)
        return np.where(ended, end, found).astype(steps.dtype)

    steps = ops.convert(step_ids)
    return computed(whole, [steps, parent_ids, max_sequence_lengths, end_token], [steps.dtype], [steps.shape], name)[0]


class BeamSearchDecoder(Decoder):
    """A decoder that keeps the best sequences of each example.

    Args:
        cell: the cell.
        embedding: a table of inputs, or a function of numbers that makes them.
        start_tokens: the first number of each example.
        end_token: the number that ends a sequence.
        initial_state: the state of the cell, of which `tf.contrib.seq2seq.tile_batch` made each row `beam_width` times.
        beam_width: how many sequences of an example are kept.
        output_layer: a layer for the cell's outputs.
        length_penalty_weight: the power of ((5 + length) / 6) that divides the logarithm of a sequence.

    Raises:
        NotImplementedError: a coverage penalty is asked for, or a cell keeps the weights of its attention.

    Source: `tf.contrib.seq2seq.BeamSearchDecoder`.
    """

    tracks_own_finished = True

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if coverage_penalty_weight:
            raise op_error(NotImplementedError, PLACE, "leave coverage_penalty_weight out.")
        self._cell, self._layer, self._width = cell, output_layer, int(beam_width)
        self._embedded, self._end = lookup(embedding), ops.cast(end_token, "int32")
        self._start, self._weight = ops.cast(start_tokens, "int32"), length_penalty_weight
        self._first = nest_map_structure(self._apart, initial_state)

    @property
    def batch_size(self) -> Any:
        """The number of examples."""
        return dims_of(self._start)[0]

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """The sizes of the outputs."""
        return BeamSearchDecoderOutput(*[shape_of([self._width])] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """The dtypes of the outputs."""
        return BeamSearchDecoderOutput(as_dtype("float32"), as_dtype("int32"), as_dtype("int32"))

    def _apart(self, x: Any) -> Any:
        """A tensor (batch · beams, …) as (batch, beams, …); a scalar as it is."""
        if isinstance(x, TensorArray):
            raise op_error(NotImplementedError, PLACE, "leave alignment_history of the AttentionWrapper out.")
        return ops.reshape(x, [-1, self._width, *dims_of(x)[1:]]) if static_shape(x) else x

    def _joined(self, x: Any) -> Any:
        return ops.reshape(x, [-1, *dims_of(x)[2:]]) if static_shape(x) else x

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which sequences are finished at first, the first inputs, and the first state."""
        first = ops.expand_dims(ops.zeros_like(self._start), 1) + np.arange(self._width, dtype="int32")
        finished = ops.greater(first, 0)
        logs = ops.where(finished, np.float32(-np.inf), np.float32(0))
        lengths = ops.zeros_like(ops.cast(first, "int64"))
        inputs = self._embedded(ops.expand_dims(self._start, 1) + ops.zeros_like(first))
        return finished, inputs, BeamSearchDecoderState(self._first, logs, finished, lengths)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """The best sequences of a step, the next state and inputs, and which sequences are finished."""
        cell_state = nest_map_structure(self._joined, state.cell_state)
        outputs, after = self._cell(self._joined(inputs), cell_state)
        outputs = self._apart(outputs if self._layer is None else self._layer(outputs))
        after = nest_map_structure(self._apart, after)
        classes = static_shape(outputs)[-1]
        logs, ended = ops.log_softmax(ops.cast(outputs, "float32")), ops.expand_dims(state.finished, 2)
        is_end = ops.equal(np.arange(classes, dtype="int32"), self._end)
        of_ended = ops.where(is_end, np.float32(0), np.finfo("float32").min)
        totals = ops.expand_dims(state.log_probs, 2) + ops.where(ended, of_ended, logs)
        grows = ops.cast(ops.logical_not(ops.logical_or(ended, is_end)), "int64")
        scores = totals / self._penalty(ops.expand_dims(state.lengths, 2) + grows)
        flat = [ops.reshape(x, [-1, self._width * classes]) for x in (scores, totals)]
        places = ops.cast(ops.argsort(-flat[0])[:, : self._width], "int32")
        best = self._taken(flat[0], places)
        ids, parents = places % classes, places // classes
        before = self._taken(state.finished, parents)
        finished = ops.logical_or(before, ops.equal(ids, self._end))
        lengths = self._taken(state.lengths, parents) + ops.cast(ops.logical_not(before), "int64")
        kept = nest_map_structure(lambda x: self._taken(x, parents) if static_shape(x) else x, after)
        following = BeamSearchDecoderState(kept, self._taken(flat[1], places), finished, lengths)
        return BeamSearchDecoderOutput(best, ids, parents), following, self._embedded(ids), finished

    def _taken(self, x: Any, places: Any) -> Any:
        return ops.gather(x, places, 1, 1)

    def _penalty(self, lengths: Any) -> Any:
        """What divides the logarithms of sequences."""
        if not self._weight:
            return 1.0
        return ops.power((5.0 + ops.cast(lengths, "float32")) / 6.0, float(self._weight))

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The whole sequences, from the outputs of all steps."""
        longest = ops.cast(ops.max(final_state.lengths, 1), "int32")
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state


for _class in (
    BeamSearchDecoder, BeamSearchDecoderOutput, BeamSearchDecoderState, FinalBeamSearchDecoderOutput,
):  # fmt: skip
    value(f"contrib.seq2seq.{_class.__name__}", _class, "v1")
