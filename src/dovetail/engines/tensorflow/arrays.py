"""Rules of ops that move elements: shapes, joining, slices, positions, sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.rules import NATIVE, Rule
from dovetail.core.values.shapes import normalize_axes
from dovetail.engines import slices
from dovetail.engines.numpy_like import infinite_bounds
from dovetail.engines.tensorflow.sums import total
from dovetail.engines.tensorflow.tables import HALVES, cast, dims, ints, kernel, rules, widened

# -- shape ------------------------------------------------------------------------------------------------------------

rules["Identity"] = tf.convert_to_tensor
rules["StopGradient"] = tf.stop_gradient


@rules("EnsureShape", layers=(NATIVE,))
def _(x: Any, shape: Any) -> Any:
    return x if shape is None else tf.ensure_shape(x, shape)  # in a trace of TensorFlow it waits for the value


rules["XlaOptimizationBarrier"] = lambda xs: tuple(tf.raw_ops.IdentityN(input=list(xs)))
rules["Reshape"] = lambda x, shape: tf.raw_ops.Reshape(tensor=x, shape=ints(shape))
rules["BroadcastTo"] = lambda x, shape: tf.raw_ops.BroadcastTo(input=x, shape=ints(shape))


@rules("Shape")
def _(x: Any) -> Any:
    return tf.shape(x) if x.shape.rank is None else tf.convert_to_tensor(ints(dims(x)))


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    if g.shape.is_fully_defined() and g.shape == like.shape:
        return g
    shape, extra = ints(dims(like)), g.shape.rank - like.shape.rank
    reduced = [i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1]
    g = total(g, [*range(extra), *reduced], True)
    if None in like.shape.as_list():  # which may be 1
        axes = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=ints(dims(g))).r0
        g = tf.raw_ops.Sum(input=g, axis=axes)
    return tf.reshape(g, shape)


@rules("Transpose")
def _(x: Any, axes: Any) -> Any:
    return tf.raw_ops.Transpose(x=x, perm=ints(axes if axes is not None else range(x.shape.rank)[::-1]))


@rules("ExpandDims")
def _(x: Any, axis: Any) -> Any:
    axes = (axis,) if isinstance(axis, int) else axis
    rank = x.shape.rank + len(axes)
    for i in sorted(a % rank for a in axes):
        x = tf.raw_ops.ExpandDims(input=x, axis=i)
    return x


@rules("Squeeze")
def _(x: Any, axis: Any) -> Any:
    return tf.raw_ops.Squeeze(input=x, axis=[] if axis is None else [axis] if isinstance(axis, int) else list(axis))


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return cast(tf.range(size[0]), tf.as_dtype(dtype))


@rules("Bitcast")
def _(x: Any, dtype: DType) -> Any:
    return tf.raw_ops.Bitcast(input=x, type=tf.as_dtype(dtype))


# -- joining and moving -----------------------------------------------------------------------------------------------

rules["ConcatV2"] = lambda xs, axis: tf.raw_ops.ConcatV2(values=xs, axis=axis) if len(xs) > 1 else xs[0]


@rules("Roll")
def _(x: Any, shift: Any, axis: Any) -> Any:
    """Roll by less than the size of each axis, since TensorFlow drops the upper bits of a 64-bit shift."""
    flat = x if axis is not None else tf.reshape(x, (-1,))
    shifts, axes = (v if isinstance(v, tuple) else (v,) for v in (shift, axis or 0))
    count = max(len(shifts), len(axes))
    shifts, axes = shifts * (count // len(shifts)), axes * (count // len(axes))
    sizes = [tf.cast(tf.maximum(dims(flat)[i], 1), tf.int64) for i in axes]
    within = [tf.math.floormod(tf.constant(by, tf.int64), n) for by, n in zip(shifts, sizes, strict=True)]
    return tf.reshape(tf.roll(flat, within, axes), tf.shape(x))


rules["Pack"] = lambda xs, axis: tf.raw_ops.Pack(values=xs, axis=axis)
rules["SplitV"] = lambda x, sizes, axis: tf.split(x, sizes, axis)
rules["Unpack"] = kernel("Unpack", "value", "num", "axis")
rules["ReverseV2"] = lambda x, axis: tf.raw_ops.ReverseV2(tensor=x, axis=normalize_axes(axis, x.shape.rank))


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    paddings = tf.stack([ints(low), ints(high)], 1)
    return tf.raw_ops.PadV2(input=x, paddings=paddings, constant_values=np.asarray(value, x.dtype.as_numpy_dtype))


# -- slices -----------------------------------------------------------------------------------------------------------

_MASKS = ("begin_mask", "end_mask", "shrink_axis_mask")


def _window(begin: Any, end: Any, strides: Any, *masks: int) -> dict[str, Any]:
    ends = [ints(values, tf.int64) for values in (begin, end, strides)]
    return {**dict(zip(("begin", "end", "strides"), ends, strict=True)), **dict(zip(_MASKS, masks, strict=True))}


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    part = tf.raw_ops.StridedSlice(input=x, **_window(*where))
    if part.shape.rank is None:  # the bounds are not known yet
        part.set_shape([None] * (x.shape.rank - where[-1].bit_count()))
    return part


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    return tf.raw_ops.StridedSliceGrad(shape=ints(shape, tf.int64), dy=g, **_window(*where))


def _start(x: Any, start: Any, size: Any) -> Any:
    """The start of a block, moved so that the block lies inside."""
    last = tf.cast(ints(dims(x)) - ints(size), tf.int64)
    return tf.cast(tf.maximum(tf.minimum(tf.cast(start, tf.int64), last), tf.constant(0, tf.int64)), tf.int32)


@rules("Slice")
def _(x: Any, start: Any, size: Any) -> Any:
    return tf.raw_ops.Slice(input=x, begin=_start(x, start, size), size=ints(size))


@rules("XlaDynamicUpdateSlice")
def _(x: Any, start: Any, updates: Any) -> Any:
    if x.shape.rank == 0:
        return updates
    starts = tf.unstack(_start(x, start, dims(updates)), num=x.shape.rank)
    places = [first + tf.range(size) for first, size in zip(starts, dims(updates), strict=True)]
    return tf.tensor_scatter_nd_update(x, tf.stack(tf.meshgrid(*places, indexing="ij"), -1), updates)


# -- positions --------------------------------------------------------------------------------------------------------

# A trace cannot see values.  There a position out of range reads the lowest value of the dtype (NaN, True) and writes
# nothing, on every device, with XLA and without.


def _checked(indices: Any, *sizes: Any) -> tuple[Any, Any]:
    """Positions counted from the front, and whether each is in range, or None if all are for sure.

    Args:
        indices: integers of shape (..., number of axes).
        sizes: the sizes of the axes.

    Raises:
        IndexError: a position is out of range, and the values can be seen.
    """
    indices = cast(indices, tf.int64)
    if tf.executing_eagerly():
        host = indices.numpy()
        slices.rows(host, sizes)
        return (indices if host.min(initial=0) >= 0 else tf.constant(np.where(host < 0, host + sizes, host))), None
    ends = tf.cast(tf.stack(sizes), tf.int64)
    indices = tf.where(indices < 0, indices + ends, indices)
    return indices, tf.reduce_all((indices >= 0) & (indices < ends), -1)


def _masked(valid: Any, values: Any, otherwise: Any, axis: int = 0) -> Any:
    """The values at valid positions, and a default at the others; the positions' axes start at `axis`."""
    if valid is None:
        return values
    valid = tf.reshape(valid, (*dims(valid), *(1,) * (values.shape.rank - axis - valid.shape.rank)))
    return tf.where(valid, values, tf.constant(otherwise(native_to_dtype(values.dtype)), values.dtype))


def _lowest(dtype: DType) -> Any:
    return math.nan if dtype.is_differentiable else True if dtype.is_bool else infinite_bounds(dtype)[0]


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int) -> Any:
    axis %= x.shape.rank
    at, valid = _checked(tf.expand_dims(indices, -1), dims(x)[axis])
    at = tf.squeeze(at if valid is None else tf.where(valid[..., None], at, 0), -1)
    return _masked(valid, tf.raw_ops.GatherV2(params=x, indices=at, axis=axis), _lowest, axis)


@rules("TakeAlongAxis")
def _(x: Any, indices: Any, axis: int) -> Any:
    order = [*range(x.shape.rank)]
    order[axis], order[-1] = order[-1], order[axis]
    x, indices = (t if order[-1] == x.shape.rank - 1 else tf.transpose(t, order) for t in (x, indices))
    if x.shape[:-1] != indices.shape[:-1] or None in x.shape[:-1]:  # the other axes broadcast
        around = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
        x, indices = (tf.broadcast_to(t, tf.concat([around, tf.shape(t)[-1:]], 0)) for t in (x, indices))
    at, valid = _checked(tf.expand_dims(indices, -1), dims(x)[-1])
    at = tf.squeeze(at if valid is None else tf.where(valid[..., None], at, 0), -1)
    gathered = _masked(valid, tf.gather(x, at, axis=-1, batch_dims=x.shape.rank - 1), _lowest)
    return gathered if order[-1] == x.shape.rank - 1 else tf.transpose(gathered, order)


@rules("GatherNd")
def _(x: Any, indices: Any) -> Any:
    depth = indices.shape[-1]
    at, valid = _checked(indices, *dims(x)[:depth])
    if 0 in x.shape[depth:]:  # TensorFlow refuses to read nothing from nothing
        return tf.zeros((*dims(indices)[:-1], *dims(x)[depth:]), x.dtype)
    at = at if valid is None else tf.where(valid[..., None], at, 0)
    return _masked(valid, tf.raw_ops.GatherNd(params=x, indices=at), _lowest)


def _scattering(write: Rule) -> Rule:
    """The rule of a scatter, by a function of the tensor, the positions, which of them are valid, and the updates."""

    def rule(x: Any, indices: Any, updates: Any) -> Any:
        if indices.shape.rank == 1:  # the kernels need a common axis
            indices, updates = indices[None], updates[None]
        at, valid = _checked(indices, *dims(x)[: indices.shape[-1]])
        if x.shape.num_elements() == 0:
            return tf.identity(x)  # TensorFlow refuses to write nothing to nothing
        return write(x, at, valid, updates)

    return rule


@rules("TensorScatterUpdate")
@_scattering
def _(x: Any, at: Any, valid: Any, updates: Any) -> Any:
    return tf.raw_ops.TensorScatterUpdate(tensor=x, indices=at, updates=updates, bad_indices_policy="IGNORE")


def _scatter(name: str, nothing: Any) -> Rule:
    scatter = kernel(f"TensorScatter{name}", "tensor", "indices", "updates")

    def write(x: Any, at: Any, valid: Any, updates: Any) -> Any:
        at = at if valid is None else tf.where(valid[..., None], at, 0)
        return scatter(x, at, _masked(valid, updates, nothing))

    return _scattering(write)


@rules("TensorScatterMul")
@_scattering
def _(x: Any, at: Any, valid: Any, updates: Any) -> Any:
    sizes = tf.cast(tf.stack(dims(x)[: at.shape[-1]]), tf.int64)
    rows = tf.reduce_sum(at * tf.math.cumprod(sizes, exclusive=True, reverse=True), -1)
    rows = rows if valid is None else tf.where(valid, rows, -1)  # the kernel skips -1
    factors = tf.math.unsorted_segment_prod(updates, rows, tf.reduce_prod(sizes))
    return x * tf.reshape(factors, ints(dims(x)))


_BOOLS = {tf.bool: tf.uint8}
rules |= {
    "TensorScatterAdd": _scatter("Add", lambda dtype: 0),
    "TensorScatterMax": widened(_BOOLS)(_scatter("Max", lambda dtype: infinite_bounds(dtype)[0])),
    "TensorScatterMin": widened(_BOOLS)(_scatter("Min", lambda dtype: infinite_bounds(dtype)[1])),
}


# -- sorting and searching --------------------------------------------------------------------------------------------

rules["Where"] = lambda x: cast(tf.raw_ops.Where(condition=x), tf.int32)


def _order(x: Any) -> Any:
    """Integers in the order of the values: NaN after infinity, and both zeros alike."""
    if not x.dtype.is_floating:
        return tf.cast(x, tf.uint8) if x.dtype == tf.bool else x
    x = cast(x, HALVES.get(x.dtype, x.dtype))
    x = tf.where(tf.equal(x, 0), tf.zeros([], x.dtype), x)  # XLA takes x + 0 for x
    x = tf.where(tf.math.is_nan(x), tf.constant(math.nan, x.dtype), x)
    bits = tf.bitcast(x, tf.int64 if x.dtype == tf.float64 else tf.int32)
    return tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, bits.dtype.max), bits)


@rules("ArgSort")
def _(x: Any, axis: int) -> Any:
    return tf.argsort(_order(x), axis, stable=True)


@rules("SearchSorted")
def _(sequence: Any, values: Any, side: str) -> Any:
    find = tf.raw_ops.LowerBound if side == "left" else tf.raw_ops.UpperBound
    places = find(sorted_inputs=_order(sequence)[None], values=tf.reshape(_order(values), (1, -1)))
    return tf.reshape(places, ints(dims(values)))


@rules("TopKV2")
def _(x: Any, k: int) -> Any:
    indices = tf.raw_ops.TopKV2(input=_order(x), k=k).indices
    return tf.gather(x, indices, axis=-1, batch_dims=x.shape.rank - 1), indices
