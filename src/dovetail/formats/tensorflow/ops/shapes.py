"""Shapes: Shape, Size, Rank, Reshape, Transpose, ExpandDims, Squeeze, Tile, Roll, ConcatV2, Split, Pack, Unpack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.bodies import add_wider
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.writing import When
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import READ, body, row, rows, shapes, special
from dovetail.formats.tensorflow.tensor_lists import Variants
from dovetail.graph.shape_values import known_ints
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

rows("""
Shape: x; out_type>0
Reshape BroadcastTo: x shape?
Transpose: x axes!
ExpandDims: x axis!
Squeeze: x; squeeze_dims:axis@axes
Tile: x repeats?
Roll: x shift! axis!
ConcatV2: xs* axis!
Concat > ConcatV2: axis! xs*
Pack: xs*; axis
Unpack: x; num axis
SplitV: x sizes? axis!; num_split
""")

shapes("""
Shape: [?]
Size Rank: []
""")


@special("Shape")
def _shape(node: Node) -> Any:
    """The number of variants; of tensors, what the row computes."""
    if not isinstance(node.inputs[0], Variants):
        return by_row(READ[node.type], node)
    count = ops.shape(node.inputs[0].parts[0].sizes)[:1]
    return ops.cast(count, node.attrs("out_type", "int32"))


def scalar(value: Any) -> Any:
    """A number that is an input marked `?`.

    Raises:
        Unreadable: the list has none, or several.
    """
    if isinstance(value, list) and len(value) != 1:
        raise Unreadable(f"an input that is one number has {len(value)}")
    return value[0] if isinstance(value, list) else value


def element(numbers: Any, i: int) -> Any:
    """One of some integers: an int if it is known, else a tensor."""
    known = numbers if isinstance(numbers, list) else known_ints(numbers)
    return numbers[i] if known is None or known[i] is None else known[i]


@row("Rank: x")
def _(x: Any) -> Any:
    return ops.shape(ops.shape(x))[0] if x.shape is None else ops.convert(np.array(rank_of(x), "int32"))


@row("Size: x; out_type>0")
def _(x: Any) -> Any:
    return ops.prod(ops.shape(x))


@row("ShapeN: xs*; out_type:dtype")
def _(xs: Sequence[Any], dtype: Any) -> Any:
    return [ops.cast(ops.shape(x), dtype) for x in xs]


@row("BroadcastArgs: a? b?; T:dtype")
def _(a: Any, b: Any, dtype: Any) -> Any:
    """The shape of two shapes; an op that broadcasts to it refuses those that do not fit."""
    if isinstance(a, list) and isinstance(b, list):
        try:
            return ops.convert(np.array(np.broadcast_shapes(a, b)), dtype)
        except ValueError:
            raise Unreadable(f"the shapes {a} and {b} do not broadcast") from None
    shapes = [ops.convert(shape, dtype=dtype) for shape in (a, b)]
    ranks: list[Any] = [known_dims(shape)[0] for shape in shapes]
    if None in ranks:
        raise Unreadable("the rank of a shape is not known")
    ones = (ops.ones([max(ranks) - rank], dtype) for rank in ranks)
    one, other = (ops.concatenate(pair, 0) for pair in zip(ones, shapes, strict=True))
    return ops.where(ops.equal(one, 1), other, one)


@row("ConcatOffset: axis! shapes*")
def _(axis: int, shapes: Sequence[Any]) -> Any:
    """Where each tensor of a concatenation begins."""
    rank = dims_of(shapes[0])[0]
    is_axis = ops.cast(ops.equal(ops.arange(rank), axis if axis >= 0 else axis + rank), shapes[0].dtype)
    starts = [ops.zeros_like(shapes[0])]
    for shape in shapes[:-1]:
        starts.append(starts[-1] + shape * is_axis)
    return starts


@row("Split: axis! x; num_split:count")
def _(axis: int, x: Any, count: int) -> Any:
    return ops.split(x, count, axis)


@row("SplitV: x sizes? axis!; num_split")
def _(x: Any, sizes: Any, axis: int) -> Any:
    if isinstance(sizes, list) and -1 in sizes:
        sizes[sizes.index(-1)] = dims_of(x)[axis] - (sum(sizes) + 1)
    return OPS["SplitV"](x, sizes, axis)


# -- writing ----------------------------------------------------------------------------------------------------------


def has(name: str, *kinds: Any) -> When:
    """Whether a static argument of an operation is of some kinds."""
    return lambda operation: isinstance(operation.attrs.get(name), kinds)


add_wider(body, "Tile: uint16 > int32")  # whose kernel refuses them as it runs


@body("ExpandDims", has("axis", tuple))
def _expand(op: Any, x: Any, axis: Sequence[int]) -> Any:
    rank = rank_of(x) + len(axis)
    for number in sorted(one % rank for one in axis):
        x = op(x, number)
    return x


@body("Roll", lambda operation: not (has("shift", tuple)(operation) and has("axis", tuple)(operation)))
def _roll(op: Any, x: Any, shift: Any, axis: Any) -> Any:
    if axis is None:
        return ops.reshape(op(ops.reshape(x, (-1,)), (shift,), (0,)), dims_of(x))
    shifts, axes = (value if isinstance(value, tuple) else (value,) for value in (shift, axis))
    count = max(len(shifts), len(axes))
    return op(x, shifts * (count // len(shifts)), axes * (count // len(axes)))


@body("ConcatV2", lambda operation: len(operation.inputs) == 1)
def _alone(op: Any, xs: Sequence[Any], axis: int) -> Any:
    return xs[0]
