"""Indexing: reading and writing elements at positions that are themselves tensors.

Negative positions count from the end.  A position outside is an IndexError if values can be seen (NumPy, PyTorch
on the CPU, JAX and TensorFlow outside of compiled programs).  In a program compiled by JAX or TensorFlow it reads as
NaN (the lowest integer, True) and writes nothing.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.kinds import Anything, Index, Number, Real
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer, shapes
from dovetail.core.values.shapes import normalize_axis
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.math import compare
from dovetail.ops.math.complex import adjoint
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import full, full_like, iota, zeros_like
from dovetail.ops.shapes.join import stack
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, reorder, reshape, shaped, sum_like

# -- reading ----------------------------------------------------------------------------------------------------------


def _gather_spec(x: RankedSpec, indices: RankedSpec, axis: int = 0) -> TensorSpec:
    axis = normalize_axis(axis, len(x.shape))
    return TensorSpec((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@primitive(
    "GatherV2",
    cost="move",
    infer=_gather_spec,
    samples=[
        sample(array(4, 3), ints(2, 2, low=-4, high=4)),
        sample(array(2, 4, 3), ints(2, high=4), axis=-2),
        sample(array(4), ints(high=4)),
        sample(array(4, 3), ints(0)),
    ],
)
def _gather(x: Anything, indices: Index, axis: int = 0) -> Tensor:
    """The slices of `x` at positions along one axis."""


@_gather.gradient
def _(op: Any, g: Any) -> Any:
    x, indices, axis = op.args
    axis = normalize_axis(axis, len(x.shape))
    front = [axis, *(i for i in range(len(x.shape)) if i != axis)]
    zeros = reorder(zeros_like(x, g.dtype), front)
    rank = len(indices.shape)
    moved = reorder(g, [*range(axis, axis + rank), *range(axis), *range(axis + rank, len(g.shape))])
    back = sorted(range(len(front)), key=front.__getitem__)
    return reorder(tensor_scatter_add(zeros, expand_dims(indices, -1), moved), back), None


@checked
def gather(x: Any, indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    """The slices of `x` at positions along one axis.

    Args:
        x: any tensor.
        indices: integers of any shape.
        axis: the axis of `x` that they are positions on.
        batch_dims: how many leading axes `x` and `indices` have in common, each with positions of its own.

    Returns:
        A tensor in which the axes of `indices`, except the common ones, replace `axis`.

    Source: `tf.gather`.

    Example:
        >>> gather([[1, 2], [3, 4], [5, 6]], [2, 0]).numpy()
        array([[5, 6],
               [1, 2]], dtype=int32)
        >>> gather([[1, 2], [3, 4]], [[1, 1], [0, 0]], axis=1, batch_dims=1).numpy()
        array([[2, 2],
               [3, 3]], dtype=int32)
    """
    if not batch_dims:
        return _gather(x, indices, axis)
    x, indices = shaped(x), shaped(indices)
    axis = normalize_axis(axis, len(static_shape(x)))
    rank, count = len(static_shape(x)), len(static_shape(indices)) - batch_dims
    if axis < batch_dims:
        raise ValueError(f"the axis {axis} must not be one of the {batch_dims} batch axes.")
    x = reorder(x, [*range(batch_dims), axis, *(i for i in range(batch_dims, rank) if i != axis)])
    slices = gather_nd(x, stack([*coordinates(indices, batch_dims), indices], -1))
    middle = range(batch_dims + count, count + axis)
    chosen = range(batch_dims, batch_dims + count)
    return reorder(slices, [*range(batch_dims), *middle, *chosen, *range(count + axis, rank + count - 1)])


def coordinates(indices: Any, axes: int) -> list[Any]:
    """The position of each element of `indices`: for each of its first axes, a tensor of its shape."""
    dims = dims_of(indices)
    numbers = [iota((dims[i],), for_positions(indices.dtype)) for i in range(axes)]
    return [broadcast_to(reshape(n, (-1, *(1,) * (len(dims) - i - 1))), dims) for i, n in enumerate(numbers)]


def for_positions(dtype: Any) -> Any:
    """The dtype of integers itself, or int32 if it has too few bits for the numbers of all positions."""
    return dtype if native_to_dtype(dtype).itemsize >= 4 else "int32"


@checked
def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The slices of `x` at positions along an axis; the elements of the flattened `x` if no axis is given.

    Source: `numpy.take`.

    Example:
        >>> take([[1, 2], [3, 4]], [-1, 0]).numpy()
        array([4, 1], dtype=int32)
    """
    return _gather(reshape(x, (-1,)), indices) if axis is None else _gather(x, indices, axis)


def _indexed_rank(x: RankedSpec, indices: RankedSpec) -> int | None:
    """The number of axes of `x` that the last axis of `indices` indexes; None if unknown."""
    if not indices.shape:
        raise ValueError("indices must have a last axis, with a position for each axis that is indexed.")
    depth = indices.shape[-1]
    if depth is not None and not 1 <= depth <= len(x.shape):
        raise ValueError(
            f"the last axis of indices must be of size 1 to {len(x.shape)}, the rank, but is of size {depth}."
        )
    return depth


def _gather_nd_spec(x: RankedSpec, indices: RankedSpec) -> TensorSpec:
    depth = _indexed_rank(x, indices)
    if depth is None:
        return TensorSpec(None, x.dtype)
    return TensorSpec((*indices.shape[:-1], *x.shape[depth:]), x.dtype)


@primitive(
    "GatherNd",
    cost="move",
    infer=_gather_nd_spec,
    samples=[
        sample(array(3, 3, 2), ints(4, 2, low=-3, high=3)),
        sample(array(3), ints(2, 0, 1, high=3)),
    ],
)
def gather_nd(x: Anything, indices: Index) -> Tensor:
    """The slices of `x` at positions on its first axes.

    Args:
        x: any tensor.
        indices: integers of shape (…, n): each vector along the last axis is a position on the first n axes.

    Returns:
        A tensor of shape (…, the other axes of `x`).

    Source: `tf.gather_nd`.

    Example:
        >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
        array([2, 3], dtype=int32)
    """


@gather_nd.gradient
def _(op: Any, g: Any) -> Any:
    x, indices = op.inputs
    return tensor_scatter_add(zeros_like(x, g.dtype), indices, g), None


def _along_axis_spec(x: RankedSpec, indices: RankedSpec, axis: int) -> TensorSpec:
    if len(x.shape) != len(indices.shape):
        raise ValueError(
            f"the tensor and the indices must have the same rank, not {len(x.shape)} and {len(indices.shape)}."
        )
    axis = normalize_axis(axis, len(x.shape))
    shape = list(shapes.broadcast(_one_at(x.shape, axis), _one_at(indices.shape, axis)))  # type: ignore[arg-type]
    shape[axis] = indices.shape[axis]
    return TensorSpec(tuple(shape), x.dtype)


def _one_at(shape: Any, axis: int) -> list[Any]:
    return [1 if i == axis else dim for i, dim in enumerate(shape)]


@composite(
    "TakeAlongAxis",
    cost="move",
    infer=_along_axis_spec,
    samples=[
        sample(array(2, 4), ints(2, 3, low=-4, high=4), axis=1),
        sample(array(3, 1), ints(2, 4, high=3), axis=0),
        sample(array(2, 3), ints(2, 0), axis=-1),
    ],
)
def _take_along_axis(x: Anything, indices: Index, axis: int) -> Tensor:
    """For each line of `x` along an axis, the elements at its own positions."""
    return gather_nd(*_aligned(x, indices, axis))


def _aligned(x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    """`x`, broadcast to the indices except along the axis, and the indices as full coordinates, for `gather_nd`."""
    rank = len(x.shape)
    axis = normalize_axis(axis, rank)
    around = dims_of(x), dims_of(indices)
    shape = [_broadcast_dim(a, b) for a, b in zip(*around, strict=True)]
    x = broadcast_to(x, [around[0][i] if i == axis else dim for i, dim in enumerate(shape)])
    indices = broadcast_to(indices, [around[1][i] if i == axis else dim for i, dim in enumerate(shape)])
    where = coordinates(indices, rank)
    where[axis] = indices
    return x, stack(where, -1)


def _broadcast_dim(a: Any, b: Any) -> Any:
    """The dimension to which two broadcast; each is an int, or a tensor if it is not known."""
    if isinstance(a, int):
        return b if a == 1 else a
    if isinstance(b, int):
        return a if b == 1 else b
    return compare.where(compare.equal(a, 1), b, a)


@_take_along_axis.gradient
def _(op: Any, g: Any) -> Any:
    return add_along_axis(g, *op.args), None


def add_along_axis(g: Any, x: Any, indices: Any, axis: int) -> Any:
    """Zeros in the shape of `x` with `g` added where `take_along_axis` reads: its gradient."""
    whole, where = _aligned(x, indices, axis)
    return sum_like(tensor_scatter_add(zeros_like(whole, g.dtype), where, g), x)


@checked
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """For each line of `x` along an axis, the elements at its own positions.

    Args:
        x: any tensor.
        indices: integers of the same rank; all axes except `axis` broadcast.
        axis: the axis the positions are on; None for positions in the flattened `x`.

    Source: `numpy.take_along_axis`.

    Example:
        >>> take_along_axis([[1, 2, 3], [4, 5, 6]], [[2], [0]]).numpy()
        array([[3],
               [4]], dtype=int32)
    """
    return _take_along_axis(reshape(x, (-1,)), indices, 0) if axis is None else _take_along_axis(x, indices, axis)


# -- writing ----------------------------------------------------------------------------------------------------------


def _scatter_spec(x: RankedSpec, indices: RankedSpec, updates: RankedSpec) -> TensorSpec:
    if _indexed_rank(x, indices) is not None:
        infer.require_shape(updates, _gather_nd_spec(x, indices).shape)
    return x


SCATTERS = [
    sample(array(4, 2, gap=0.1), [[3], [0], [-2]], array(3, 2, low=-1.9)),
    sample(array(2, 3), ints(0, 2), array(0)),
]


@primitive("TensorScatterUpdate", cost="move", infer=_scatter_spec, samples=SCATTERS)
def tensor_scatter_update(x: Anything, indices: Index, updates: Anything) -> Tensor:
    """`x` with slices replaced.

    Args:
        x: any tensor.
        indices: integers of shape (…, n), positions on the first n axes, as in `gather_nd`.
        updates: the new slices, of shape (…, the other axes of `x`).  Of several for one position, one wins.

    Source: `tf.tensor_scatter_nd_update`.

    Example:
        >>> tensor_scatter_update([1, 2, 3], [[0], [2]], [7, 8]).numpy()
        array([7, 2, 8], dtype=int32)
    """


@tensor_scatter_update.gradient
def _(op: Any, g: Any) -> Any:
    _, indices, updates = op.inputs
    return tensor_scatter_update(g, indices, zeros_like(updates, g.dtype)), None, gather_nd(g, indices)


@primitive(
    "TensorScatterAdd",
    cost="move",
    infer=_scatter_spec,
    samples=[*SCATTERS, sample(array(3, 2), ints(2, 2, 2, low=-2, high=2), array(2, 2))],
)
def tensor_scatter_add(x: Number, indices: Index, updates: Number) -> Tensor:
    """`x` with numbers added to slices; several numbers for one position add up.

    Args:
        x, indices, updates: as for `tensor_scatter_update`.

    Source: `tf.tensor_scatter_nd_add`.

    Example:
        >>> tensor_scatter_add([1, 2, 3], [[0], [0]], [10, 100]).numpy()
        array([111,   2,   3], dtype=int32)
    """


@tensor_scatter_add.gradient
def _(op: Any, g: Any) -> Any:
    return g, None, gather_nd(g, op.inputs[1])


@primitive(
    "TensorScatterMul",
    cost="move",
    infer=_scatter_spec,
    samples=[
        *SCATTERS,
        sample(array(3, 2, low=0.5), ints(2, 2, 2, low=-2, high=2), array(2, 2, low=0.5)),
        sample([2.0, 3.0, 5.0], [[0], [1], [1], [2], [2]], [0.0, 0.0, 4.0, 0.0, 0.0]),
    ],
)
def tensor_scatter_mul(x: Number, indices: Index, updates: Number) -> Tensor:
    """`x` with slices multiplied by numbers; a position with several numbers is multiplied by all.

    Args:
        x, indices, updates: as for `tensor_scatter_update`.

    Source: `jax.numpy.ndarray.at`, its `multiply`.

    Example:
        >>> tensor_scatter_mul([1, 2, 3], [[1], [1]], [10, 100]).numpy()
        array([   1, 2000,    3], dtype=int32)
    """


@tensor_scatter_mul.gradient
def _(op: Any, g: Any) -> Any:
    """Give each number the product of the others: divide by the number, or leave it out if it is zero."""
    x, indices, updates = op.inputs
    zero = compare.equal(updates, 0)
    ones = compare.where(zero, 1, updates)
    count = cast(zero, "int32")
    others_zero = gather_nd(tensor_scatter_add(zeros_like(x, "int32"), indices, count), indices) > count
    others = gather_nd(tensor_scatter_mul(x, indices, ones), indices) / ones
    factor = tensor_scatter_mul(full_like(x, 1), indices, updates)
    return g * adjoint(factor), None, gather_nd(g, indices) * adjoint(compare.where(others_zero, 0, others))


@primitive("TensorScatterMax", cost="move", infer=_scatter_spec, samples=SCATTERS)
def tensor_scatter_max(x: Real, indices: Index, updates: Real) -> Tensor:
    """`x` with slices replaced by the maximum of the slice and the updates for its position.

    Source: `tf.tensor_scatter_nd_max`.

    Example:
        >>> tensor_scatter_max([1, 2, 3], [[0], [2]], [7, 0]).numpy()
        array([7, 2, 3], dtype=int32)
    """


@primitive("TensorScatterMin", cost="move", infer=_scatter_spec, samples=SCATTERS)
def tensor_scatter_min(x: Real, indices: Index, updates: Real) -> Tensor:
    """`x` with slices replaced by the minimum of the slice and the updates for its position.

    Source: `tf.tensor_scatter_nd_min`.

    Example:
        >>> tensor_scatter_min([1, 2, 3], [[0], [2]], [7, 0]).numpy()
        array([1, 2, 0], dtype=int32)
    """


@tensor_scatter_max.gradient
@tensor_scatter_min.gradient
def _(op: Any, g: Any) -> Any:
    """Send the gradient to the winner, in equal parts if several are equal."""
    x, indices, updates = op.inputs
    y = op.outputs[0]
    from_x = cast(compare.equal(x, y), g.dtype)
    from_updates = cast(compare.equal(updates, gather_nd(y, indices)), g.dtype)
    share = g / tensor_scatter_add(from_x, indices, from_updates)
    return share * from_x, None, gather_nd(share, indices) * from_updates


@checked
def scatter_nd(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros of a shape with values added at positions; several values for one position add up.

    Args:
        indices: integers of shape (…, n), positions on the first n axes of the result.
        values: of shape (…, the other axes of the result).
        shape: the shape of the result.

    Source: `tf.scatter_nd`; `keras.ops.scatter`.

    Example:
        >>> scatter_nd([[1], [1]], [10, 100], (3,)).numpy()
        array([  0, 110,   0], dtype=int32)
    """
    values = shaped(values)
    return tensor_scatter_add(full(shape, 0, dtype_of(values)), indices, values)
