"""Shape and dtype: reading them, changing them, joining and splitting tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.errors import UnknownRank
from dovetail.core.base.table import OPS
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Axes, DTypeLike
from dovetail.core.dtypes import ALL, DType, as_dtype, promote
from dovetail.core.engines.accumulation import HALVES
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.kinds import Anything, Each, Ints
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments, host, infer
from dovetail.core.values.shapes import normalize_axes
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, is_recorded, is_tensor, require_numbers, static_shape, unwrapped
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.identity import identity


@primitive(
    "Cast",
    cost="move",
    infer=infer.cast,
    prepare=lambda x, dtype: [host.fitted(x, dtype), dtype],
    samples=[sample(array(2, 3), "float64"), sample(array(2, 3), "int32")],
)
def cast(x: Anything, dtype: DTypeLike) -> Tensor:
    """The values in another dtype; floats are truncated toward zero when they become integers.

    Raises:
        OverflowError: a Python number does not fit into the dtype.  Numbers of tensors and arrays are not checked.

    Source: `numpy.ndarray.astype`.

    Example:
        >>> cast([1.7, -1.7], "int32").numpy()
        array([ 1, -1], dtype=int32)
    """


@cast.gradient
def _(op: Any, g: Any) -> Any:
    return cast(g, op.inputs[0].dtype)


def wide(x: Any) -> Any:
    """16-bit floats as float32."""
    return cast(x, "float32") if x.dtype in HALVES else x


def narrow(x: Any, like: Any) -> Any:
    """What `wide` made of numbers, in their dtype."""
    return x if x.dtype == like.dtype else cast(x, like.dtype)


def _bitcast_spec(x: RankedSpec, dtype: DType) -> TensorSpec:
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return TensorSpec(x.shape, dtype)
    if new < old:
        return TensorSpec((*x.shape, old // new), dtype)
    if not x.shape or x.shape[-1] not in (new // old, None):
        raise ValueError(f"to read {x.dtype} as {dtype} the last axis must be of size {new // old}, not {x.shape}.")
    return TensorSpec(x.shape[:-1], dtype)


@primitive(
    "Bitcast",
    cost="move",
    infer=_bitcast_spec,
    differentiable=False,
    samples=[
        sample(array(2, 3), "int32"),
        sample(array(), "uint32"),
        sample(array(2, 3), "int16"),
        sample(array(3, 2), "int64"),
        sample(array(0, 2), "uint8"),
    ],
)
def bitcast(x: Each, dtype: DTypeLike) -> Tensor:
    """The bits of the elements read as another dtype.

    Args:
        x: any tensor.
        dtype: the dtype.  If it is k times narrower, each element becomes k of them on a new last axis.  If it is k
            times wider, the last axis must be of size k, and its elements become one.

    Source: `tf.bitcast`.

    Example:
        >>> bitcast([1.0], "int32").numpy()
        array([1065353216], dtype=int32)
        >>> bitcast([1.0], "uint16").numpy()
        array([[    0, 16256]], dtype=uint16)
    """


def _shape_spec(x: TensorSpec) -> TensorSpec:
    return TensorSpec((x.rank,), ALL["int32"])


@primitive("Shape", cost="move", infer=_shape_spec, differentiable=False, samples=[sample(array(2, 3))])
def shape(x: Each) -> Tensor:
    """The shape as an int32 tensor, for graphs in which dimensions are unknown.

    Source: `tf.shape`.

    Example:
        >>> shape([[1, 2, 3]]).numpy()
        array([1, 3], dtype=int32)
    """


@primitive("Reshape", cost="move", infer=infer.reshape, samples=[sample(array(2, 6), (3, -1)), sample(array(1), ())])
def reshape(x: Anything, shape: Ints) -> Tensor:
    """The same elements, in row-major order, in another shape.

    Args:
        x: any tensor.
        shape: the new shape; one dimension may be -1, and dimensions may be tensors.

    Raises:
        ValueError: the numbers of elements differ.

    Source: `numpy.reshape`.

    Example:
        >>> reshape([1, 2, 3, 4], (2, -1)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """


@reshape.gradient
def _(op: Any, g: Any) -> Any:
    return reshape(g, shape_of(op.inputs[0]))


def shape_of(x: Any) -> Any:
    """The shape for use in other ops' shape arguments: a tuple if it is known, else the result of `shape`."""
    known = static_shape(x)
    return shape(x) if known is None or None in known else known


def _sum_like_spec(g: TensorSpec, like: TensorSpec) -> TensorSpec:
    return TensorSpec(like.shape, g.dtype)


@primitive(
    "SumLike",
    cost="move",
    infer=_sum_like_spec,
    samples=[sample(array(4, 2, 3), array(2, 1)), sample(array(2), array(2))],
)
def _sum_like(g: Anything, like: Each) -> Tensor:
    """Sum `g` over the axes along which a tensor of the shape of `like` was broadcast to it."""


@_sum_like.gradient
def _(op: Any, g: Any) -> Any:
    return broadcast_to(g, shape_of(op.inputs[0])), None


def sum_like(g: Any, like: Any) -> Any:
    """The gradient of broadcasting `like` to the shape of `g`; `g` itself if nothing was broadcast."""
    shape = like.shape
    if shape is not None and None not in shape and g.shape == shape:
        return g
    return _sum_like(g, like)


def _broadcast_to_spec(x: TensorSpec, shape: Any) -> TensorSpec:
    if any(dim is not None and dim < 0 for dim in shape):
        raise ValueError(f"the dimensions of a shape must be 0 or more, but it is {shape}.")
    result = infer.broadcast(x.shape, shape)
    if result is not None and not infer.fits(result, tuple(shape)):
        raise ValueError(f"the shape {x.shape} does not broadcast to {shape}.")
    return TensorSpec(tuple(shape), x.dtype)


@primitive("BroadcastTo", cost="move", infer=_broadcast_to_spec, samples=[sample(array(2, 1), (3, 2, 4))])
def broadcast_to(x: Anything, shape: Ints) -> Tensor:
    """The values repeated along new axes and axes of size 1, to fill a shape.

    Source: `numpy.broadcast_to`.

    Example:
        >>> broadcast_to([1, 2], (2, 2)).numpy()
        array([[1, 2],
               [1, 2]], dtype=int32)
    """


@broadcast_to.gradient
def _(op: Any, g: Any) -> Any:
    return sum_like(g, op.inputs[0])


def _transpose_spec(x: RankedSpec, axes: Any) -> TensorSpec:
    if axes is None:
        return TensorSpec(x.shape[::-1], x.dtype)
    if len(axes) != len(x.shape) or len(normalize_axes(axes, len(x.shape))) != len(axes):
        raise ValueError(f"the axes must name each of the {len(x.shape)} axes once, but they are {axes}.")
    return TensorSpec(tuple(x.shape[a] for a in axes), x.dtype)


@primitive(
    "Transpose", cost="move", infer=_transpose_spec, samples=[sample(array(2, 3, 4), (2, 0, 1)), sample(array(2, 3))]
)
def transpose(x: Anything, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order; reversed if none is given.

    Source: `numpy.transpose`.

    Example:
        >>> transpose([[1, 2, 3]]).shape
        (3, 1)
    """


@transpose.gradient
def _(op: Any, g: Any) -> Any:
    axes = op.attr("axes")
    if axes is None:
        return transpose(g)
    rank = len(axes)
    return transpose(g, [[a % rank for a in axes].index(i) for i in range(rank)])


def reorder(x: Any, axes: Any) -> Any:
    """`transpose`, or `x` itself if the order stays the same; axes are not negative."""
    return x if list(axes) == list(range(len(axes))) else transpose(x, axes)


def _expanded(shape: Any, axis: Any) -> tuple[int | None, ...]:
    axes = axis if isinstance(axis, tuple) else (axis,)
    new = {*normalize_axes(axes, len(shape) + len(axes))}
    dims = iter(shape)
    return tuple(1 if i in new else next(dims) for i in range(len(shape) + len(axes)))


def _expand_dims_spec(x: TensorSpec, axis: Any) -> TensorSpec:
    return TensorSpec(_expanded(x.shape, axis), x.dtype)


@composite(
    "ExpandDims",
    cost="move",
    infer=_expand_dims_spec,
    samples=[sample(array(2, 3), 1), sample(array(2), (0, -1)), sample(array(), -1)],
)
def expand_dims(x: Anything, axis: int | Sequence[int] = -1) -> Tensor:
    """New axes of size 1.

    Args:
        x: any tensor.
        axis: the position of the new axis in the result, or several.

    Source: `numpy.expand_dims`.

    Example:
        >>> expand_dims([1, 2], 0).shape
        (1, 2)
    """
    return reshape(x, _expanded(dims_of(x), axis))


@expand_dims.gradient
def _(op: Any, g: Any) -> Any:
    return squeeze(g, op.attr("axis"))


def _squeezed_axes(shape: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(i for i, dim in enumerate(shape) if dim == 1)
    axes = normalize_axes(axis, len(shape))
    wrong = [i for i in axes if shape[i] not in (1, None)]
    if wrong:
        raise ValueError(f"only axes of size 1 can be removed, but axis {wrong[0]} has the size {shape[wrong[0]]}.")
    return axes


def _squeeze_spec(x: RankedSpec, axis: Any) -> TensorSpec:
    if axis is None and None in x.shape:
        return TensorSpec(None, x.dtype)
    gone = {*_squeezed_axes(x.shape, axis)}
    return TensorSpec(tuple(dim for i, dim in enumerate(x.shape) if i not in gone), x.dtype)


@composite(
    "Squeeze",
    cost="move",
    infer=_squeeze_spec,
    samples=[sample(array(1, 3, 1), axis=0), sample(array(1, 3, 1), axis=(0, -1)), sample(array(3, 0, 1), axis=2)],
)
def squeeze(x: Anything, axis: Axes = None) -> Tensor:
    """Remove axes of size 1: the named ones, or all.

    Raises:
        ValueError: an axis has another size.

    Source: `numpy.squeeze`.

    Example:
        >>> squeeze([[1, 2]], 0).shape
        (2,)
    """
    if axis is None and None in x.shape:
        raise ValueError(f"which axes of {x.shape} have the size 1 is not known; name them with axis=.")
    axes = _squeezed_axes(x.shape, axis)
    return reshape(x, [dim for i, dim in enumerate(dims_of(x)) if i not in axes])


@squeeze.gradient
def _(op: Any, g: Any) -> Any:
    return reshape(g, shape_of(op.inputs[0]))


@checked
def ravel(x: Any) -> Any:
    """All elements along one axis, in row-major order.

    Source: `numpy.ravel`.

    Example:
        >>> ravel([[1, 2], [3, 4]]).numpy()
        array([1, 2, 3, 4], dtype=int32)
    """
    return reshape(x, (-1,))


@checked
def ndim(x: Any) -> int:
    """The number of axes.

    Source: `numpy.ndim`.

    Example:
        >>> ndim([[1, 2]])
        2
    """
    return len(static_shape(shaped(x)))


@checked
def size(x: Any) -> Any:
    """The number of elements: an int, or an int32 tensor where dimensions are unknown.

    Source: `numpy.size`.

    Example:
        >>> size([[1, 2]])
        2
    """
    count: Any = 1
    x = shaped(x)
    if static_shape(x) is None:
        return OPS["Prod"](shape(x))
    for dim in dims_of(x):
        count = dim * count
    return count


def known_dims(x: Any) -> tuple[Any, ...]:
    """The dimensions, with None for those that are not known.

    Raises:
        UnknownRank: their number is not known.
    """
    known: tuple[Any, ...] | None = static_shape(x)
    if known is None:
        raise UnknownRank(f"the rank of {x!r} is not known; give it with set_shape, or reshape the tensor.")
    return known


def rank_of(x: Any) -> int:
    """The number of axes.

    Raises:
        UnknownRank: it is not known.
    """
    return len(known_dims(x))


def dims_of(x: Any) -> list[Any]:
    """The dimensions: ints where known, scalar tensors where not.

    Raises:
        UnknownRank: their number is not known.
    """
    known = known_dims(x)
    if None not in known:
        return list(known)
    whole = shape(x)
    return [whole[i] if dim is None else dim for i, dim in enumerate(known)]


@checked
def convert(x: Any, dtype: Any = None, engine: str | None = None, device: str | None = None) -> Tensor:
    """Convert a value to a Tensor.

    Args:
        x: a Tensor, a Variable, an engine's own array, a NumPy array, a Python number or nested lists of them.
        dtype: the dtype to cast to; Python floats become `floatx`, ints int32, if it is not given.
        engine: the engine to move to, without a copy if DLPack allows it; the one named by its `eager` holds the values
            of an engine that only compiles.
        device: the device of the engine to move to; see `dovetail.device`.

    Returns:
        A Tensor; a graph Tensor for a graph Tensor.

    Raises:
        ValueError: the engine has no such device here.

    Source: `tf.convert_to_tensor`.

    Example:
        >>> convert([1, 2]).dtype
        'int32'
    """
    x = arguments.stacked(unwrapped(x))
    if is_recorded(x):
        return identity(x) if dtype is None else cast(x, dtype)
    if dtype is None:
        wanted = promote([dtype_of(x)])
    else:
        require_numbers(x)
        wanted = as_dtype(dtype)
    tensor = arguments.as_tensor(x, wanted, get_engine(engine).holder if engine else arguments.engine_for(x))
    return tensor if device is None else arguments.place(tensor, device)


def shaped(x: Any) -> Any:
    """The value itself, but numbers and arrays as a Tensor; unlike in `convert`, an engine's own value stays one."""
    x = arguments.stacked(unwrapped(x))
    return x if is_tensor(x) else convert(x)


@checked
def constant(value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """A Tensor of a value, repeated to fill a shape if one is given.

    Source: `tf.constant`.

    Example:
        >>> constant(7, shape=(2,)).numpy()
        array([7, 7], dtype=int32)
    """
    tensor = convert(value, dtype)
    return tensor if shape is None else broadcast_to(tensor, shape)
