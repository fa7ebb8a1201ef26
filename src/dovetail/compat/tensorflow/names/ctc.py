"""TensorFlow's names for decoding the scores of CTC, and for comparing sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names.python_calls import py_func
from dovetail.compat.tensorflow.table import V2, function, value
from dovetail.core.errors import op_error


def _sparse(labels: Any) -> SparseTensor:
    """Labels (batch, time) with -1 behind the last one, as a sparse tensor as wide as the longest."""
    there = ops.greater_equal(labels, 0)
    places = ops.positions(there)
    width = ops.max(ops.sum(ops.cast(there, "int64"), 1))
    values = ops.cast(ops.gather_nd(labels, places), "int64")
    return SparseTensor(ops.cast(places, "int64"), values, (ops.cast(ops.shape(labels)[0], "int64"), width))


@function("nn.ctc_greedy_decoder", scope=True)
def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """The labels of the path that takes the best class at each time, and minus the sum of its scores, (batch, 1).

    Args:
        inputs: scores, (time, batch, classes).
        blank_index: the number of the blank class, by default the last.

    Source: `tf.nn.ctc_greedy_decoder`.
    """
    blank = -1 if blank_index is None else blank_index
    labels, scores = ops.ctc_greedy_decode(ops.swapaxes(inputs, 0, 1), sequence_length, merge_repeated, blank)
    return [_sparse(labels)], scores


@function("nn.ctc_beam_search_decoder contrib.ctc.ctc_beam_search_decoder", "v1", scope=True)
def ctc_beam_search_decoder_v1(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """The most likely labels, one sparse tensor for each of the best paths, and their logarithms, (batch, paths).

    Args:
        inputs: scores, (time, batch, classes); the last class is blank.
        merge_repeated: whether equal neighbours become one label.

    Source: `tf.compat.v1.nn.ctc_beam_search_decoder`.
    """
    scores = ops.swapaxes(inputs, 0, 1)
    labels, logs = ops.ctc_beam_search_decode(scores, sequence_length, beam_width, top_paths, merge_repeated, -1)
    return [_sparse(each) for each in ops.unstack(labels, top_paths)], logs


@function("nn.ctc_beam_search_decoder", "v2", scope=True)
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, name: str | None = None
) -> tuple[list[Any], Any]:
    """The most likely labels; equal neighbours stay.

    Source: `tf.nn.ctc_beam_search_decoder`.
    """
    return ctc_beam_search_decoder_v1(inputs, sequence_length, beam_width, top_paths, False)


value("nn.ctc_beam_search_decoder_v2", V2["nn.ctc_beam_search_decoder"], "v1")


@function("edit_distance")
def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None) -> Any:
    """How many insertions, deletions and substitutions turn sequences into others, float32.

    Args:
        hypothesis, truth: sparse tensors, whose last axis is the sequences'.
        normalize: whether to divide by the length of the truth.

    Raises:
        TypeError: one of them is not sparse.

    Source: `tf.edit_distance`.
    """
    if not isinstance(hypothesis, SparseTensor) or not isinstance(truth, SparseTensor):
        raise op_error(
            TypeError, "tf.edit_distance", "it takes two sparse tensors: write tf.sparse.from_dense(labels)."
        )
    parts = [part for x in (hypothesis, truth) for part in (x.indices, x.values, x.dense_shape)]
    found = py_func(lambda *arrays: _distances(*arrays, normalize=normalize), parts, "float32", False, name)
    found.set_shape(truth.shape[:-1])
    return found


def _distances(*parts: np.ndarray, normalize: bool) -> np.ndarray:
    shape = tuple(np.maximum(parts[2], parts[5])[:-1])
    found = np.zeros(shape, "float32")
    given, wanted = _sequences(*parts[:3]), _sequences(*parts[3:])
    for place in np.ndindex(shape):
        a, b = given.get(place, []), wanted.get(place, [])
        distance = _distance(a, b)
        found[place] = distance if not normalize else distance / len(b) if b else np.inf if a else 0.0
    return found


def _sequences(places: np.ndarray, values: np.ndarray, _: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    """The sequences of a sparse tensor, by their place."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for (*place, _time), element in zip(places.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place), []).append(element)
    return found


def _distance(a: list[Any], b: list[Any]) -> int:
    row = [*range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (x != y)))
    return row[-1]
