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
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.calls import listed
from dovetail.formats.onnx.nodes import Node, Weight
from dovetail.formats.onnx.table import BY_VALUES, row_of
from dovetail.ops.shapes.shape import known_dims

AXES = ("axis", "axes")  # the parameters of inputs with axes
MOST = 64  # branches


def read_by_values(node: Node, read: Callable[[Node], list[Any]]) -> list[Any] | None:
    """The results of a node whose integers are not known; None if they are, or if it must know them.

    Args:
        node: the node.
        read: reads a node whose integers are known.

    Raises:
        Unreadable: there would be too many branches.
    """
    if node.type in BY_VALUES:
        is_known = all(node.known(i) is not None for i in range(1, len(node.inputs)) if node.has(i))
        return None if is_known else listed(BY_VALUES[node.type](node))
    row = row_of(node.type, node.version, node.attrs)
    index = next((i for i, one in enumerate(row.inputs if row else ()) if one.param in AXES and one.way == "!"), 0)
    return _by_axes(node, index, read) if index and node.has(index) and node.known(index) is None else None


def _by_axes(node: Node, index: int, read: Callable[[Node], list[Any]]) -> list[Any]:
    """A branch for each set of axes."""
    axes, shape = ops.reshape(node.tensor(index), [-1]), known_dims(node.tensor(0))
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
