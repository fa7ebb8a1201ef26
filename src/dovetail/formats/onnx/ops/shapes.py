"""Shapes: Shape, Size, Reshape, Flatten, Expand, Transpose, Squeeze, Unsqueeze, Concat, Split, Tile, DepthToSpace."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.calls import of_numbers
from dovetail.formats.onnx.nodes import Later, Narrow, Node, Weight
from dovetail.formats.onnx.ops.strings import is_of_strings, placed, words_at
from dovetail.formats.onnx.sizes import less, numbers
from dovetail.formats.onnx.table import row, rows, special, writes
from dovetail.formats.onnx.tensors import CARRIERS, RANKS
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.shape_values import known_ints
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

rows("""
Concat = ConcatV2: xs*; axis
Transpose > Transpose: x; perm:axes
Squeeze 1-12 > Squeeze: x; axes:axis
Squeeze 13 > Squeeze: x axis!
Unsqueeze 1-12 = ExpandDims: x; axes:axis
Unsqueeze 13 = ExpandDims: x axis!
Tile = Tile: x repeats?
""")


# -- reading ----------------------------------------------------------------------------------------------------------


@special("Reshape Transpose Squeeze Unsqueeze Concat Flatten Expand Tile Split")
def moved(node: Node) -> Any:
    """The dtype stays where elements move only, also one that Dovetail does not have; of strings, their places move."""
    value: Any = node.value(0)
    value = placed(value.array) if is_of_strings(value) else value
    if isinstance(value, Later):
        inner = copy(node)  # an opaque operation takes the inputs of the node itself
        inner.inputs = [value.tensor, *node.inputs[1:]]
        return [words_at(one, value.make) for one in of_numbers(inner)]
    number = node.number(0) if isinstance(value, (Narrow, Weight)) else 0
    moved = of_numbers(node)
    return [Narrow(one, number) for one in moved] if number in CARRIERS else moved


@row("Shape: x; start end")
def _(x: Any, start: int = 0, end: int | None = None) -> Any:
    return ops.cast(ops.shape(x)[start:end], "int64")


@row("Size: x")
def _(x: Any) -> Any:
    return ops.prod(ops.cast(ops.shape(x), "int64"))


@row("Reshape: x shape?; allowzero")
def _(x: Any, shape: Any, allowzero: int = 0) -> Any:
    """Zeros in the shape stand for the sizes of the input."""
    dims = dims_of(x)
    if is_tensor(shape):
        if allowzero:
            return ops.reshape(x, shape)
        count = known_dims(shape)[0]
        if count is None or count > RANKS:
            raise Unreadable(f"the number of axes of its result is not known, or above {RANKS}")
        known = list(known_ints(shape) or [None] * count)
        if known.count(None) == 1 and not {0, -1} & {*known}:
            shape = [-1 if size is None else size for size in known]
        else:
            sizes = ops.stack([ops.cast(dim, "int32") for dim in [*dims, *[1] * count][:count]])
            return ops.reshape(x, ops.where(ops.equal(shape, 0), sizes, ops.cast(shape, "int32")))
    if not allowzero and 0 in shape:
        shape = [dims[i] if size == 0 else size for i, size in enumerate(shape)]
    return ops.reshape(x, shape)


@row("Flatten: x; axis")
def as_matrix(x: Any, axis: int = 1) -> Any:
    """A matrix: the axes before one become its rows."""
    dims = dims_of(x)
    axis = axis + len(dims) if axis < 0 else axis
    rows, columns = math.prod(dims[:axis]), math.prod(dims[axis:])
    return ops.reshape(x, [rows, columns])


@row("Expand: x shape?")
def _(x: Any, shape: Any) -> Any:
    if is_tensor(shape):
        return x * ops.ones(shape, x.dtype) if not x.dtype.is_bool else ops.logical_and(x, ops.ones(shape, "bool"))
    missing = len(shape) - rank_of(x)
    dims = [*[1] * missing, *dims_of(x)]
    shape = [*[1] * -missing, *shape]
    return ops.broadcast_to(x, [dim if size == 1 else size for dim, size in zip(dims, shape, strict=True)])


@row("Split 1-12: x; axis split:sizes outputs:count", "Split 13: x sizes?; axis outputs:count")
def _(x: Any, sizes: Any = None, axis: int = 0, count: int = 1) -> Any:
    if sizes is None:
        whole = dims_of(x)[axis]
        each = -(-whole // count)
        sizes = [less(each, whole - i * each) for i in range(count)]
    return OPS["SplitV"](x, numbers(sizes), axis)


@row("DepthToSpace: x; blocksize:size mode")
def _(x: Any, size: int, mode: str = "DCR") -> Any:
    n, c, h, w = dims_of(x)
    if mode == "DCR":
        x = ops.transpose(ops.reshape(x, [n, size, size, c // (size * size), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        x = ops.transpose(ops.reshape(x, [n, c // (size * size), size, size, h, w]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(x, [n, c // (size * size), h * size, w * size])


@row("SpaceToDepth: x; blocksize:size mode")
def _(x: Any, size: int, mode: str = "DCR") -> Any:
    n, c, h, w = dims_of(x)
    x = ops.reshape(x, [n, c, h // size, size, w // size, size])
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    return ops.reshape(ops.transpose(x, order), [n, c * size * size, h // size, w // size])


# -- writing ----------------------------------------------------------------------------------------------------------

COPIES = 13  # the last opset in which a 0 in a shape is the size of the input, which for a batch of none is the same


@writes("Shape")
def _shape(place: Place, x: Ref) -> list[Ref]:
    return place.result("Cast", place.shape(x), to=as_dtype("int32"))


@writes("Reshape")
def _reshape(place: Place, x: Ref, shape: Any) -> list[Ref]:
    has_zero = place.opset > COPIES if isinstance(shape, Ref) else 0 in shape
    return place.result("Reshape", x, place.ints(shape), allowzero=int(has_zero) or None)


@writes("BroadcastTo")
def _expand(place: Place, x: Ref, shape: Any) -> list[Ref]:
    return place.result("Expand", x, place.ints(shape))


@writes("Squeeze")
def _squeeze(place: Place, x: Ref, axis: Any) -> list[Ref]:
    return place.result("Squeeze", x, None if axis is None else place.constant(np.atleast_1d(axis)))


@writes("Transpose")
def _transpose(place: Place, x: Ref, axes: Any) -> list[Ref]:
    return place.result("Transpose", x, perm=axes)


@writes("SplitV")
def _split(place: Place, x: Ref, sizes: Any, axis: int) -> list[Ref]:
    return place.result("Split", x, place.ints(sizes), axis=axis)
