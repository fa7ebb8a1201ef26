"""Ragged tensors: RaggedTensorToVariant, RaggedTensorFromVariant, RaggedRange."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import row, special
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


@special("RaggedTensorToVariant")
def _to_variant(node: Node) -> Any:
    *splits, values = node.tensors()
    lengths = [one[1:] - one[:-1] for one in splits]
    if not node.attrs("batched_input"):
        return Variants((*lengths, values))
    if not splits:
        raise Unreadable("each row of its values is one variant")
    bounds, parts = splits[0], []
    for part, following in zip([*lengths[1:], values], [*splits[1:], None], strict=True):
        parts.append(RaggedList.split(part, bounds[1:] - bounds[:-1]))
        bounds = bounds if following is None else OPS["GatherV2"](following, bounds, 0)
    return Variants(tuple(parts))


@special("RaggedTensorFromVariant")
def _of_variant(node: Node) -> Any:
    value = node.inputs[0]
    if not isinstance(value, Variants):
        raise node.refused(0, "no ragged tensor")
    *lengths, values = value.parts
    if not is_tensor(values):
        lengths = [value.parts[0].sizes[:, 0], *(one.data for one in lengths)]
        values = values.concatenated()[0]
    if len(lengths) != (rank := node.attrs("output_ragged_rank")):
        raise Unreadable(f"its ragged tensor has the rank {len(lengths)}, not {rank}")
    dtype = node.attrs("Tsplits", "int64")
    return [*(ops.concatenate([ops.zeros([1], dtype), ops.cumsum(ops.cast(one, dtype))], 0) for one in lengths), values]
