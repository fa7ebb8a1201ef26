"""Rules of ops that move elements: shapes, joining, slices, positions, sorting."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.core.dtypes import DType, limits, native_to_dtype
from dovetail.core.rules import EAGER, NATIVE, PROGRAM, Rule
from dovetail.core.values.shapes import shape_of_nothing
from dovetail.engines import slices
from dovetail.engines.jax.devices import placed
from dovetail.engines.jax.dimensions import Dimensions
from dovetail.engines.jax.executable import with_64_bits
from dovetail.engines.jax.tables import rules

# -- shape ------------------------------------------------------------------------------------------------------------

rules("Shape", layers=(NATIVE,))(lambda x: Dimensions.of_shape(x.shape))
rules["Reshape"] = lambda x, shape: jnp.reshape(x, shape_of_nothing(x.shape, shape) if 0 in x.shape else shape)
rules["Identity"] = lambda x: x
rules["StopGradient"] = lax.stop_gradient
rules["BroadcastTo"] = jnp.broadcast_to
rules["Transpose"] = jnp.transpose


@rules("Shape", layers=(EAGER, PROGRAM))
def _(x: Any) -> Any:
    return jnp.array(x.shape, np.int32)


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    axes = (*range(extra), *(i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1))
    return jnp.sum(g, axis=axes, dtype=g.dtype).reshape(like.shape) if axes else g


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = jnp.concatenate
rules["Pack"] = jnp.stack
rules["ExpandDims"] = jnp.expand_dims
rules["Tile"] = jnp.tile
rules["Roll"] = jnp.roll
rules["Sort"] = jnp.sort
rules["Where"] = lambda x: jnp.argwhere(x).astype(np.int32)
rules["ArgSort"] = lambda x, axis: jnp.argsort(x, axis, stable=True).astype(np.int32)
rules["SearchSorted"] = lambda *args: jnp.searchsorted(*args).astype(np.int32)
rules["Bitcast"] = lambda x, dtype: lax.bitcast_convert_type(x, dtype.numpy)


@rules("TopKV2")
def _(x: Any, k: int) -> Any:
    order = x
    if jnp.issubdtype(x.dtype, jnp.floating):  # for XLA, bits decide: -0.0 is smaller than 0.0, and NaN may be
        bits = lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
        order = jnp.where(bits == jnp.iinfo(bits.dtype).min, jnp.zeros((), x.dtype), x)
        order = jnp.where(jnp.isnan(x), jnp.full((), jnp.nan, x.dtype), order)
    places = lax.top_k(order, k)[1]
    return jnp.take_along_axis(x, places, -1), places


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    return lax.pad(x, jnp.array(value, x.dtype), [(*pair, 0) for pair in zip(low, high, strict=True)])


rules["Squeeze"] = jnp.squeeze


@rules("SaturateCast", layers=(NATIVE,))
@with_64_bits
def _(x: Any, dtype: DType) -> Any:
    """Clip with 64-bit types enabled; without them, JAX drops the upper bits of its users' values."""
    return jnp.clip(x, *limits(native_to_dtype(x.dtype), dtype)).astype(dtype.numpy)


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return placed(lax.iota(dtype.numpy, size[0]))


@rules("Slice")
@functools.partial(jax.jit, static_argnums=2)
def _read_block(x: Any, start: Any, size: tuple[int, ...]) -> Any:
    return lax.dynamic_slice(x, start, size, allow_negative_indices=False)


@rules("XlaDynamicUpdateSlice")
@jax.jit
def _write_block(x: Any, start: Any, updates: Any) -> Any:
    return lax.dynamic_update_slice(x, updates, start, allow_negative_indices=False)


class _Window(NamedTuple):
    """A strided slice as XLA takes it: numbers for every axis, and axes to flip and to remove afterwards."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]
    flipped: tuple[int, ...]

    @classmethod
    def of(cls, shape: Any, where: Any) -> _Window:
        index, flipped = slices.forward(slices.entries(*where), shape)
        index = (*index, *(slice(0, dim, 1) for dim in shape[len(index) :]))
        ranges = [range(i, i + 1) if isinstance(i, int) else range(i.start, i.stop, i.step) for i in index]
        return cls(
            starts=tuple(r.start for r in ranges),
            sizes=tuple(map(len, ranges)),
            steps=tuple(r.step for r in ranges),
            shape=tuple(len(r) for r, i in zip(ranges, index, strict=True) if not isinstance(i, int)),
            flipped=flipped,
        )

    def is_block_of(self, x: Any) -> bool:
        """Whether to use a program that takes the starts as values, so that it fits all starts."""
        return not (self.flipped or any(s != 1 for s in self.steps) or isinstance(x, jax.core.Tracer))


@rules("StridedSlice", layers=(EAGER, PROGRAM))
def _strided_slice(x: Any, *where: Any) -> Any:
    window = starts, sizes, steps, shape, flipped = _Window.of(x.shape, where)
    if window.is_block_of(x):
        return _read_block(x, np.array(starts), sizes).reshape(shape)
    stops = [a + (n - 1) * step + 1 if n else a for a, n, step in zip(starts, sizes, steps, strict=True)]
    return lax.rev(lax.slice(x, starts, stops, steps).reshape(shape), flipped)


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    window = starts, sizes, steps, _, flipped = _Window.of(shape, where)
    if window.is_block_of(g):
        return _write_block(jnp.zeros(shape, g.dtype), np.array(starts), g.reshape(sizes))
    parts = zip(starts, sizes, steps, shape, strict=True)
    padding = [(a, dim - a - (n - 1) * s - 1, s - 1) if n else (0, dim, 0) for a, n, s, dim in parts]
    return lax.pad(lax.rev(g, flipped).reshape(sizes), jnp.zeros((), g.dtype), padding)


@with_64_bits
def _positions(indices: Any, *dims: int) -> Any:
    """Positions on axes of these sizes, in 32 bits if these hold every position in range.

    JAX would drop the upper bits of wider positions.  Here a position out of range stays out of range.

    Raises:
        IndexError: a position is out of range, and the values can be seen, as they cannot inside `jit`.
    """
    if not isinstance(indices, jax.core.Tracer):
        slices.rows(np.asarray(indices).astype(np.int64).reshape(-1, len(dims)), dims)
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    if np.iinfo(indices.dtype).max <= high or any(dim > high for dim in dims if isinstance(dim, int)):
        return indices
    return jnp.clip(indices, low, high).astype(np.int32)


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int) -> Any:
    return jnp.take(x, _positions(indices, x.shape[axis]), axis, mode="fill")


@rules("TakeAlongAxis")
def _(x: Any, indices: Any, axis: int) -> Any:
    return jnp.take_along_axis(x, _positions(indices, x.shape[axis]), axis, mode="fill")


def _at(method: str) -> Rule:
    @jax.jit
    def compiled(x: Any, indices: Any, *updates: Any) -> Any:
        positions = tuple(indices[..., i] for i in range(indices.shape[-1]))
        return getattr(x.at[positions], method)(*updates, mode="drop")  # out of range, reads NaN and writes nothing

    def rule(x: Any, indices: Any, *updates: Any) -> Any:
        return compiled(x, _positions(indices, *x.shape[: indices.shape[-1]]), *updates)

    return rule


rules |= {
    "GatherNd": _at("get"),
    "TensorScatterUpdate": _at("set"),
    "TensorScatterAdd": _at("add"),
    "TensorScatterMul": _at("multiply"),
    "TensorScatterMax": _at("max"),
    "TensorScatterMin": _at("min"),
}
rules.by_table.add("TensorScatterMul")


@rules("StridedSlice", layers=(NATIVE,))
def _(x: Any, *where: Any) -> Any:
    symbolic = any(isinstance(dim, Dimensions.symbolic) for dim in (*x.shape, *where[0], *where[1]))
    return x[slices.entries(*where)] if symbolic else _strided_slice(x, *where)
