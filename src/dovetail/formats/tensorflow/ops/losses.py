"""Losses and labels: SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits, L2Loss, CTCGreedyDecoder."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of


@row("SoftmaxCrossEntropyWithLogits: logits labels")
def _(logits: Any, labels: Any) -> Any:
    return [OPS["SoftmaxCrossEntropyWithLogits"](labels, logits, -1), ops.softmax(logits) - labels]


@row("SparseSoftmaxCrossEntropyWithLogits: logits labels")
def _(logits: Any, labels: Any) -> Any:
    hot = ops.one_hot(labels, dims_of(logits)[-1], dtype=logits.dtype)
    return [OPS["SparseSoftmaxCrossEntropyWithLogits"](labels, logits, -1), ops.softmax(logits) - hot]


@row("L2Loss: x")
def _(x: Any) -> Any:
    return ops.sum(ops.square(x)) / 2


@row("CTCGreedyDecoder: x lengths; merge_repeated:merged blank_index:blank")
def _(x: Any, lengths: Any, merged: bool = False, blank: int = -1) -> list[Any]:
    """The labels of the best path as a sparse tensor, and minus the sum of its scores."""
    labels, scores = OPS["CTCGreedyDecoder"](ops.transpose(x, (1, 0, 2)), lengths, merged, blank)
    places = OPS["Where"](labels >= 0)
    longest = ops.max(ops.sum(ops.cast(labels >= 0, "int64"), -1))
    shape = ops.stack([ops.cast(ops.shape(labels)[0], "int64"), longest])
    return [ops.cast(places, "int64"), ops.cast(OPS["GatherNd"](labels, places), "int64"), shape, scores]


# -- writing ----------------------------------------------------------------------------------------------------------


def _is_matrix(operation: Operation) -> bool:
    shape = operation.inputs[1].shape
    return shape is not None and len(shape) == 2 and operation.attrs["axis"] in (-1, 1)


@writes("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", _is_matrix)
def _cross_entropy(place: Place, labels: Ref, logits: Ref, axis: int) -> list[Ref]:
    return place.result(place.operation.type, logits, labels)
