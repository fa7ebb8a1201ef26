"""Reductions: Sum to Any, ArgMax, ArgMin, Cumsum, Cumprod; sums of gradients over broadcast axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import of
from dovetail.formats.nodes.constants import constant_of, filled
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.calls import by_row
from dovetail.formats.tensorflow.read_nodes import Node
from dovetail.formats.tensorflow.table import READ, body, row, rows, special, writes
from dovetail.formats.tensorflow.values import Foreign
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import GraphTensor
from dovetail.graph.shape_values import shape_values
from dovetail.ops.shapes.shape import rank_of, sum_like

rows("""
Sum Prod Max Min: x axis!; keep_dims:keepdims
Mean EuclideanNorm: x axis!; keep_dims:keepdims T>0
All Any: x axis!; keep_dims:keepdims
ArgMax ArgMin: x axis!; output_type>0
Cumsum Cumprod: x axis!; exclusive reverse
CumulativeLogsumexp: x axis!; exclusive reverse
""")


@row(
    "ArgMax: x axis!; output_type>0 +op=ArgMax",
    "ArgMin: x axis!; output_type>0 +op=ArgMin",
)
def _(x: Any, axis: int, op: str) -> Any:
    """The place of the first largest or smallest element: TensorFlow passes over NaN."""
    if x.dtype.is_floating:
        worst = x.dtype.min if op == "ArgMax" else x.dtype.max
        x = ops.where(ops.greater(x, worst) if op == "ArgMax" else ops.less(x, worst), x, worst)
    return OPS[op](x, axis)


@special("BroadcastGradientArgs", "its results are no axes if a rank is not known")
def _broadcast(node: Node) -> Any:
    """The axes over which two gradients are summed; if a rank is not known, the shapes to which they are."""
    a, b = node.tensors()
    if (None,) not in (a.shape, b.shape):
        return broadcast_axes(a, b, node.attrs("T", "int32"))
    return [Foreign(node.name, "the rank of a shape is not known", sum_to=shape) for shape in (a, b)]


def broadcast_axes(a: Any, b: Any, dtype: Any) -> Any:
    """The axes over which a gradient is summed: an unknown dimension is taken for one that is not broadcast.

    If it is, the following `Reshape` to this dimension refuses the gradient.

    Raises:
        Unreadable: a rank is not known.
    """
    shapes = [shape_values(one).of(one) if type(one) is GraphTensor else constant_of(one) for one in (a, b)]
    if any(shape is None for shape in shapes):
        raise Unreadable("the rank of a shape is not known")
    rank = max(len(shape) for shape in shapes if shape is not None)
    padded = [[1.0] * (rank - len(shape)) + list(shape) for shape in shapes if shape is not None]
    if padded[0] == padded[1]:
        padded = [[np.nan] * rank] * 2
    return [ops.convert(np.array([i for i, dim in enumerate(dims) if dim == 1]), dtype) for dims in padded]


@special("Sum")
def _sum(node: Node) -> Any:
    """A sum over axes, or to the shape that a tensor of unknown rank has before it is broadcast."""
    if not isinstance(node.inputs[1], Foreign) or node.inputs[1].sum_to is None:
        return by_row(READ[node.type], node)
    g = node.tensor(0)
    return sum_like(g, filled(node.inputs[1].sum_to, 0, g.dtype))


# -- writing ----------------------------------------------------------------------------------------------------------


@writes("SumLike")
def _sum_like(place: Place, g: Ref, like: Ref) -> list[Ref]:
    """As TensorFlow's own gradients of broadcasting."""
    shape, whole = (place.node("Shape", x, dtype="int32", out_type=as_dtype("int32")) for x in (like, g))
    axes, _ = place.several("BroadcastGradientArgs", shape, whole, dtypes=["int32", "int32"])
    return place.result("Reshape", place.node("Sum", g, axes, keep_dims=False), shape)


@body("EuclideanNorm", of("complex64", "complex128"))
def _norm(op: Any, *args: Any) -> Any:
    return op.body(*args)


@body("ArgMax ArgMin", lambda operation: operation.attrs["axis"] is None or operation.attrs["keepdims"])
def _position(op: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    position = op(ops.reshape(x, (-1,)) if axis is None else x, axis or 0)
    if not keepdims:
        return position
    return ops.reshape(position, (1,) * rank_of(x)) if axis is None else ops.expand_dims(position, axis)
