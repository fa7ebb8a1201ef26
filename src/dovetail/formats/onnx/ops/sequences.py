"""Sequences and optional values, which are lists and values of the host while a model is read: SequenceAt, Optional."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import each_step
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import EMPTY, Node, Parts, Weight
from dovetail.formats.onnx.ops.control import bounded
from dovetail.formats.onnx.sizes import numbers, scalar
from dovetail.formats.onnx.table import special
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of


def _sequence(node: Node, index: int = 0) -> list[Any]:
    value = node.value(index)
    if not isinstance(value, list):
        node.refuse(index, "sequence")
    return value


def _place(node: Node, size: int, index: int, default: int) -> int:
    """A position in a sequence of a size, which an input gives.

    Raises:
        Unreadable: it is out of range.
    """
    if not node.has(index):
        return default
    at = int(np.reshape(node.constant(index), -1)[0])
    if not -size <= at <= size:
        raise Unreadable(f"the position {at} is out of range for {size} elements")
    return at + size if at < 0 else at


@special("SequenceEmpty")
def _empty(node: Node) -> Any:
    return [[]]


@special("SequenceConstruct")
def _construct(node: Node) -> Any:
    return [list(node.inputs)]


@special("SequenceInsert")
def _insert(node: Node) -> Any:
    values = _sequence(node)
    at = _place(node, len(values), 2, len(values))
    return [[*values[:at], node.value(1), *values[at:]]]


@special("SequenceErase")
def _erase(node: Node) -> Any:
    values = _sequence(node)
    at = _place(node, len(values), 1, len(values) - 1)
    return [[*values[:at], *values[at + 1 :]]]


@special("SequenceAt")
def _at(node: Node) -> Any:
    if isinstance(node.value(0), Parts):
        return _part(node.value(0), scalar(node.shape(1)))
    values = _sequence(node)
    return [values[_place(node, len(values), 1, 0)]]


@special("SequenceLength")
def _length(node: Node) -> Any:
    if isinstance(node.value(0), Parts):
        return ops.cast(_count(node.value(0)), "int64")
    return Weight("", np.asarray(len(_sequence(node)), "int64"))


def _count(parts: Parts) -> Any:
    return -(-dims_of(parts.x)[parts.axis] // parts.size)


def _part(parts: Parts, at: Any) -> Any:
    """The part at a position, which counts from the end if it is negative; it is checked when the graph runs."""
    x, size, axis, is_flat, name = parts
    count = _count(parts)
    at = ops.where(ops.less(at, 0), at + count, ops.cast(at, "int32"))
    is_inside = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, count))
    text = f"the position is out of range for the parts of SplitToSequence {name!r}: position and number are"
    first = at * size * ops.cast(OPS["Assert"](is_inside, [at, count], text), "int32")
    item = (slice(None),) * axis
    part = x[(*item, slice(first, ops.minimum(first + size, dims_of(x)[axis])))]
    return ops.squeeze(part, axis) if is_flat else part


@special("ConcatFromSequence")
def _concatenated(node: Node) -> Any:
    value, is_new = node.value(0), bool(node.attrs.get("new_axis", 0))
    if isinstance(value, Parts) and value.is_flat == is_new:
        axis = node.attrs["axis"] % rank_of(value.x)
        if is_new or axis == value.axis:
            return ops.moveaxis(value.x, value.axis, axis)
    join = ops.stack if is_new else ops.concatenate
    return join(node.reader.tensors_of(_sequence(node)), node.attrs["axis"])


@special("SplitToSequence")
def _split(node: Node) -> Any:
    x, is_flat = node.tensor(0), not node.has(1) and not node.attrs.get("keepdims", 1)
    axis = node.attrs.get("axis", 0) % rank_of(x)
    known = node.known(1) if node.has(1) else np.asarray(1)
    if known is None and None not in (node.tensor(1).shape or (None,)):
        return [list(OPS["SplitV"](x, numbers(node.tensor(1)), axis))]
    sizes = node.constant(1) if known is None and node.tensor(1).shape != () else known
    if sizes is None or (sizes.ndim == 0 and known_dims(x)[axis] is None):
        return [_parts(node, x, node.tensor(1) if sizes is None else int(sizes), axis, is_flat)]
    if sizes.ndim == 0:
        size, most = known_dims(x)[axis], max(int(sizes), 1)
        starts = range(0, size, most)
        bounded(len(starts))
        sizes = np.asarray([min(most, size - at) for at in starts], int)
    parts = ops.split(x, np.cumsum(sizes)[:-1].tolist(), axis)
    return [[ops.squeeze(part, axis) if is_flat else part for part in parts]]


def _parts(node: Node, x: Any, size: Any, axis: int, is_flat: bool) -> Parts:
    """Parts of a number that is not known.

    Raises:
        Unreadable: it may be known later.
    """
    parts = Parts(x, ops.cast(size, "int32") if is_tensor(size) else size, axis, is_flat, node.name)
    if is_tensor(size):
        node.reader.need(size)
    if node.reader.may_know([x, size]):
        raise Unreadable(parts.reason)
    return parts


@special("SequenceMap")
def _mapped(node: Node) -> Any:
    """The results of a subgraph for the elements of sequences, and for tensors that all steps share."""
    steps = each_step(len(_sequence(node)))
    each = [
        node.reader.subgraph(
            node, node.attrs["body"], [one[i] if isinstance(one, list) else one for one in node.inputs]
        )
        for i in steps
    ]
    return [list(values) for values in zip(*each, strict=True)] if each else [[] for _ in node.proto.output]


# -- optional values --------------------------------------------------------------------------------------------------


@special("Optional")
def _optional(node: Node) -> Any:
    return [node.value(0) if node.has(0) else EMPTY]


@special("OptionalHasElement")
def _has_element(node: Node) -> Any:
    return Weight("", np.asarray(node.has(0) and node.value(0) is not EMPTY))


@special("OptionalGetElement")
def _element(node: Node) -> Any:
    if node.value(0) is EMPTY:
        raise Unreadable("the optional value is empty")
    return [node.value(0)]
