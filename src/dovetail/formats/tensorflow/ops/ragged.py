"""Ragged tensors: RaggedTensorToVariant, RaggedTensorFromVariant, RaggedRange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.table import row
from dovetail.formats.tensorflow.tensor_lists import RaggedList, Variants
from dovetail.ops.shapes.shape import dims_of


@row("RaggedRange: starts limits deltas; Tsplits>0")
def _(starts: Any, limits: Any, deltas: Any) -> list[Any]:
    """The ranges of rows one behind the other, and where each row begins."""
    counts = ops.ceil((ops.cast(limits, "float64") - ops.cast(starts, "float64")) / ops.cast(deltas, "float64"))
    counts = ops.maximum(ops.reshape(ops.cast(counts, "int64"), [-1]), 0)
    splits = ops.concatenate([ops.cast([0], "int64"), ops.cumsum(counts)])
    places = ops.arange(splits[-1], dtype="int64")
    row_ = ops.searchsorted(splits[1:], places, "right")
    starts, deltas = (
        OPS["GatherV2"](ops.broadcast_to(ops.reshape(one, [-1]), dims_of(counts)), row_, 0) for one in (starts, deltas)
    )
    within = ops.cast(places - OPS["GatherV2"](splits, row_, 0), starts.dtype)
    return [splits, starts + deltas * within]


@row("RaggedTensorToVariant: splits* values; batched_input:is_batched")
def _(splits: Sequence[Any], values: Any, is_batched: bool) -> Any:
    lengths = [one[1:] - one[:-1] for one in splits]
    if not is_batched:
        return Variants((*lengths, values))
    if not splits:
        raise Unreadable("each row of its values is one variant")
    bounds, parts = splits[0], []
    for part, following in zip([*lengths[1:], values], [*splits[1:], None], strict=True):
        parts.append(RaggedList.split(part, bounds[1:] - bounds[:-1]))
        bounds = bounds if following is None else OPS["GatherV2"](following, bounds, 0)
    return Variants(tuple(parts))


@row("RaggedTensorFromVariant: variant~; output_ragged_rank:rank Tsplits:dtype input_ragged_rank Tvalues")
def _(variant: Any, rank: int, dtype: Any) -> Any:
    if not isinstance(variant, Variants):
        raise Unreadable("its input 0 is no ragged tensor")
    *lengths, values = variant.parts
    if not is_tensor(values):
        lengths = [variant.parts[0].sizes[:, 0], *(one.data for one in lengths)]
        values = values.concatenated()[0]
    if len(lengths) != rank:
        raise Unreadable(f"its ragged tensor has the rank {len(lengths)}, not {rank}")
    return [*(ops.concatenate([ops.zeros([1], dtype), ops.cumsum(ops.cast(one, dtype))], 0) for one in lengths), values]
