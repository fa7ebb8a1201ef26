"""Nodes that take integers as values which only a run knows: each reading that the integers may ask for is a branch.

They are read so where no more will be known; where it is, a node becomes fewer operations.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import counted, is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.calls import listed
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.tensors import OPEN_ENDS
from dovetail.ops.shapes.shape import dims_of

REDUCED = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp"
AXES = {  # types → the input with axes
    **dict.fromkeys((f"Reduce{name}" for name in REDUCED.split()), 1),
    **dict.fromkeys(("Squeeze", "Unsqueeze", "CumSum", "CumProd"), 1),
    "DFT": 2,
}
MOST = 64  # branches
INTEGERS: dict[str, Callable[[Node], Any]] = {}  # types → functions that take integers as tensors


def read_by_values(node: Node, read: Callable[[Node], list[Any]]) -> list[Any] | None:
    """The results of a node whose integers are not known; None if they are, or if it must know them.

    Args:
        node: the node.
        read: reads a node whose integers are known.

    Raises:
        Unreadable: there would be too many branches.
    """
    index = AXES.get(node.type, 0)
    if index and node.has(index) and node.known(index) is None:
        return _by_axes(node, index, read)
    if node.type in INTEGERS and any(node.has(i) and node.known(i) is None for i in range(1, len(node.inputs))):
        return listed(INTEGERS[node.type](node))
    return None


def _by_axes(node: Node, index: int, read: Callable[[Node], list[Any]]) -> list[Any]:
    """A branch for each set of axes."""
    axes, shape = ops.reshape(node.tensor(index), [-1]), node.tensor(0).shape
    rank = len(shape)
    count = axes.shape[0]
    if count is None and (not node.type.startswith("Reduce") or not node.attrs.get("keepdims", 1)):
        raise Unreadable(f"its input {index} says the rank of its result")
    rank += count if node.type == "Unsqueeze" else 0
    counts = range(rank + 1) if count is None else [count]
    usable: Any = range(rank)
    if node.type == "Squeeze":
        usable = [axis for axis in usable if shape[axis] in (1, None)]
    elif node.type == "DFT":
        usable = usable[:-1]  # the last axis has the two parts of a number
    sets = [one for size in counts for one in itertools.combinations(usable, size)]
    if len(sets) > MOST:
        raise Unreadable(f"its axes are one of {len(sets)} sets, and at most {MOST} are read")
    code = ops.sum(ops.left_shift(np.int32(1), ops.cast(axes, "int32") % rank))
    codes = np.array([sum(1 << axis for axis in one) for one in sets], "int32")
    place = ops.sum(ops.where(ops.equal(codes, code), np.arange(len(sets), dtype="int32"), 0))
    is_scalar = node.type in ("CumSum", "CumProd", "DFT")

    def branch(axes: tuple[int, ...]) -> Callable[[], list[Any]]:
        array = np.array(axes, "int64")
        return lambda: node.reader.tensors_of(read(_with(node, {index: array[0] if is_scalar else array})))

    return listed(ops.switch_case(place, [branch(one) for one in sets]))


def _with(node: Node, arrays: dict[int, Any]) -> Node:
    """A node with arrays in place of some inputs."""
    copied = copy.copy(node)
    copied.inputs = [Weight("", np.asarray(arrays[i])) if i in arrays else one for i, one in enumerate(node.inputs)]
    return copied


def _integer(node: Node, index: int) -> Any:
    """An input that is one integer."""
    known = node.known(index)
    return ops.reshape(ops.cast(node.tensor(index), "int32"), []) if known is None else int(known.reshape(-1)[0])


def _sorted(node: Node) -> Any:
    """All elements in their order, of which the first ones are taken."""
    axis, k = node.attrs.get("axis", -1), _integer(node, 1)
    x = ops.moveaxis(node.tensor(0), axis, -1)
    last = dims_of(x)[-1] - 1
    if node.attrs.get("largest", 1):  # of equal ones the first come first
        order = last - ops.flip(ops.argsort(ops.flip(x, -1), -1), -1)
    else:
        order = ops.argsort(x, -1)
    order = order[..., :k]
    values = OPS["TakeAlongAxis"](x, order, -1)
    return ops.moveaxis(values, -1, axis), ops.cast(ops.moveaxis(order, -1, axis), "int64")


def _triangle(node: Node) -> Any:
    x, k = node.tensor(0), _integer(node, 1)
    rows, columns = (counted(size) for size in dims_of(x)[-2:])
    distance = columns - ops.expand_dims(rows, 1)
    kept = ops.greater_equal(distance, k) if node.attrs.get("upper", 1) else ops.less_equal(distance, k)
    return ops.where(kept, x, ops.zeros_like(x))


def _cut(node: Node) -> Any:
    """The elements from starts to ends, by their places along each axis."""
    x = node.tensor(0)
    starts, ends = (ops.cast(node.tensor(i), "int64") for i in (1, 2))
    count = starts.shape[0] if starts.shape[0] is not None else ends.shape[0]
    axes = node.known(3) if node.has(3) else None
    if count is None or (node.has(3) and axes is None and count > 1):
        raise Unreadable("the axes that it cuts are not known")
    steps: Any = ops.cast(node.tensor(4), "int64") if node.has(4) else [1] * count
    if axes is None and node.has(3):
        only = ops.reshape(ops.cast(node.tensor(3), "int32"), []) % len(x.shape)
        places = range(len(x.shape))
        cuts = [lambda axis=axis: _along(x, axis, starts[0], ends[0], steps[0]) for axis in places]
        return ops.switch_case(only, cuts)
    for i, axis in enumerate(range(count) if axes is None else axes.reshape(-1).tolist()):
        x = _along(x, axis, starts[i], ends[i], steps[i])
    return x


def _along(x: Any, axis: int, start: Any, end: Any, step: Any) -> Any:
    size = dims_of(x)[axis]
    size = ops.cast(size, "int64") if is_tensor(size) else np.int64(size)
    is_forth = ops.greater(step, 0)
    is_whole = ops.logical_and(ops.any(ops.equal(end, OPEN_ENDS)), ops.less(step, 0))
    end = ops.where(is_whole, -1 - size, end)
    start, end = (ops.where(ops.less(one, 0), one + size, one) for one in (start, end))
    start = ops.where(is_forth, ops.clip(start, 0, size), ops.clip(start, 0, size - 1))
    end = ops.where(is_forth, ops.clip(end, 0, size), ops.clip(end, -1, size - 1))
    return OPS["GatherV2"](x, ops.arange(start, end, ops.cast(step, "int64")), axis)


INTEGERS |= {"TopK": _sorted, "Trilu": _triangle, "Slice": _cut}
