"""Nodes of sequences and optional values, which are lists and values of the host while a model is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.read_limits import each_step
from dovetail.core.table import OPS
from dovetail.formats.onnx.bodies.shapes import numbers
from dovetail.formats.onnx.loops import bounded
from dovetail.formats.onnx.nodes import EMPTY, Node, Weight
from dovetail.formats.onnx.reading import special
from dovetail.formats.opaque import Unreadable


def _sequence(node: Node, index: int = 0) -> list[Any]:
    value = node.inputs[index]
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
    return [[*values[:at], node.inputs[1], *values[at:]]]


@special("SequenceErase")
def _erase(node: Node) -> Any:
    values = _sequence(node)
    at = _place(node, len(values), 1, len(values) - 1)
    return [[*values[:at], *values[at + 1 :]]]


@special("SequenceAt")
def _at(node: Node) -> Any:
    values = _sequence(node)
    return [values[_place(node, len(values), 1, 0)]]


@special("SequenceLength")
def _length(node: Node) -> Any:
    return Weight("", np.asarray(len(_sequence(node)), "int64"))


@special("ConcatFromSequence")
def _concatenated(node: Node) -> Any:
    join = ops.stack if node.attrs.get("new_axis", 0) else ops.concatenate
    return join(node.reader.tensors_of(_sequence(node)), node.attrs["axis"])


@special("SplitToSequence")
def _split(node: Node) -> Any:
    x, axis = node.tensor(0), node.attrs.get("axis", 0)
    if node.has(1) and node.known(1) is None and None not in (node.tensor(1).shape or (None,)):
        return [list(OPS["SplitV"](x, numbers(node.tensor(1)), axis))]
    sizes = node.constant(1) if node.has(1) else 1
    if isinstance(sizes, int):
        size = x.shape[axis]
        if size is None:
            raise Unreadable("the size of the axis is not known")
        starts = range(0, size, max(sizes, 1))
        bounded(len(starts))
        sizes = [min(sizes, size - at) for at in starts]
    parts = ops.split(x, np.cumsum(sizes)[:-1].tolist(), axis)
    is_flat = not node.has(1) and not node.attrs.get("keepdims", 1)
    return [[ops.squeeze(part, axis) if is_flat else part for part in parts]]


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
    return [node.inputs[0] if node.has(0) else EMPTY]


@special("OptionalHasElement")
def _has_element(node: Node) -> Any:
    return Weight("", np.asarray(node.has(0) and node.inputs[0] is not EMPTY))


@special("OptionalGetElement")
def _element(node: Node) -> Any:
    if node.inputs[0] is EMPTY:
        raise Unreadable("the optional value is empty")
    return [node.inputs[0]]
