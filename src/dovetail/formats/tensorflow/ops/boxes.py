"""Boxes with the best scores, without others that overlap them: NonMaxSuppression, CombinedNonMaxSuppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.boxes import Overlap, overlap_of, selected
from dovetail.formats.tensorflow.ops.shapes import scalar
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of

_BOXES = "boxes scores count?"


@row(
    "NonMaxSuppression: boxes scores count?; iou_threshold:threshold +outputs=1",
    f"NonMaxSuppressionV2: {_BOXES} threshold; +outputs=1",
    f"NonMaxSuppressionV3: {_BOXES} threshold least; +outputs=1",
    f"NonMaxSuppressionV4: {_BOXES} threshold least; pad_to_max_output_size:pad +outputs=2",
    f"NonMaxSuppressionV5: {_BOXES} threshold least sigma; pad_to_max_output_size:pad +outputs=3",
)
def _(
    boxes: Any,
    scores: Any,
    count: Any,
    outputs: int,
    threshold: Any = 0.5,
    least: Any = -np.inf,
    sigma: Any = None,
    pad: bool = False,
) -> Any:
    boxes = ops.expand_dims(OPS["PadV2"](boxes, [0, 0], [1, 0]), 0)
    return _first(scores, overlap_of(boxes), scalar(count), threshold, least, sigma, pad, outputs)


@row("NonMaxSuppressionWithOverlaps: overlaps scores count? threshold least")
def _(overlaps: Any, scores: Any, count: Any, threshold: Any, least: Any) -> Any:
    overlaps = ops.transpose(OPS["PadV2"](overlaps, [0, 0], [1, 1]))
    overlap = (overlaps,), lambda number, overlaps: OPS["GatherV2"](overlaps, number, 0)
    return _first(scores, overlap, scalar(count), threshold, least)


def _first(
    scores: Any,
    overlap: Overlap,
    count: Any,
    threshold: Any,
    least: Any,
    sigma: Any = None,
    pad: bool = False,
    outputs: int = 1,
) -> Any:
    """The results for one group, cut to as many boxes as there are."""
    scores = OPS["PadV2"](scores, [0], [1], -np.inf)  # a box that is never taken, so that there is one
    choice = selected(ops.expand_dims(scores, 0), overlap, count, threshold, least, sigma)
    numbers, values, valid = (one[0] for one in choice)
    if not pad:
        numbers, values = numbers[:valid], values[:valid]
    return {1: [numbers], 2: [numbers, valid], 3: [numbers, values, valid]}[outputs]


@row("CombinedNonMaxSuppression: boxes scores count! total! threshold least; pad_per_class:per_class clip_boxes:clip")
def _(
    boxes: Any,
    scores: Any,
    count: int,
    total: int,
    threshold: Any,
    least: Any,
    per_class: bool = False,
    clip: bool = True,
) -> Any:
    """The best boxes of all classes: boxes are (batch, boxes, 1 or classes, 4), and scores (batch, boxes, classes)."""
    batch, size, classes = dims_of(scores)
    of_classes = ops.broadcast_to(ops.transpose(boxes, (0, 2, 1, 3)), [batch, classes, size, 4])
    flat = ops.reshape(of_classes, [batch * classes, size, 4])
    groups = ops.reshape(ops.transpose(scores, (0, 2, 1)), [batch * classes, size])
    numbers, values, valid = selected(groups, overlap_of(flat), count, threshold, least)
    is_taken = ops.arange(count, dtype="int32") < ops.expand_dims(valid, -1)
    length = min(total, count * classes) if per_class else total
    ranked = ops.reshape(ops.where(is_taken, values, -np.inf), [batch, classes * count])
    ranked = OPS["PadV2"](ranked, [0, 0], [0, max(0, length - classes * count)], -np.inf)
    best, places = OPS["TopKV2"](ranked, length)
    places = ops.minimum(places, classes * count - 1)
    taken = ops.reshape(ops.take_along_axis(flat, ops.expand_dims(numbers, -1), 1), [batch, classes * count, 4])
    corners = ops.take_along_axis(taken, ops.expand_dims(places, -1), 1)
    corners = ops.clip(corners, 0, 1) if clip else corners
    is_there = best > -np.inf
    kinds = ops.where(is_there, ops.cast(places // count, "float32"), 0)
    valid = ops.sum(ops.cast(is_there, "int32"), -1)
    return [ops.where(ops.expand_dims(is_there, -1), corners, 0), ops.where(is_there, best, 0), kinds, valid]
