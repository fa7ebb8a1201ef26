"""The JAX engine: XLA, one jitted executable for a whole program.

Dovetail has 64-bit types, which JAX has only under `enable_x64`; so the rules run under that setting, and the setting
of the user's own JAX code stays as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.dtypes import DType
from dovetail.engines import slices
from dovetail.engines.base import Engine, Rule, Rules

# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules(
    {
        "AddV2": jnp.add,
        "Sub": jnp.subtract,
        "Mul": jnp.multiply,
        "RealDiv": jnp.divide,
        "Neg": jnp.negative,
        "Exp": jnp.exp,
        "Tanh": jnp.tanh,
        "Greater": jnp.greater,
        "SelectV2": jnp.where,
        "Square": jnp.square,
    }
)


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return lax.convert_element_type(x, dtype.numpy)


# -- shape ------------------------------------------------------------------------------------------------------------

rules["Reshape"] = jnp.reshape
rules["Identity"] = lambda x: x
rules["StopGradient"] = lax.stop_gradient
rules["BroadcastTo"] = jnp.broadcast_to
rules["Transpose"] = jnp.transpose


@rules("Shape")
def _(x: Any) -> Any:
    return jnp.array(x.shape, np.int32)


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    axes = (*range(extra), *(i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1))
    return jnp.sum(g, axis=axes).reshape(like.shape) if axes else g


# -- reductions -------------------------------------------------------------------------------------------------------


@rules("Sum")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return jnp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


# -- linear algebra ---------------------------------------------------------------------------------------------------


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return jnp.matmul(jnp.matrix_transpose(x) if transpose_a else x, jnp.matrix_transpose(y) if transpose_b else y)


# -- control flow -----------------------------------------------------------------------------------------------------


@rules("If")
def _(condition: Any, inputs: list[Any], then_branch: Rule, else_branch: Rule) -> Any:
    return lax.cond(condition, then_branch, else_branch, *inputs)


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = lax.concatenate
rules["Pack"] = jnp.stack
rules["ExpandDims"] = jnp.expand_dims
rules["Squeeze"] = jnp.squeeze


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return lax.iota(dtype.numpy, size[0])


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    index, flipped = slices.forward(slices.entries(*where), x.shape)
    starts, stops, steps, shape = _windows(index, x.shape)
    return lax.rev(lax.slice(x, starts, stops, steps).reshape(shape), flipped)


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    index, flipped = slices.forward(slices.entries(*where), shape)
    starts, stops, steps, _ = _windows(index, shape)
    kept = [len(range(*window)) for window in zip(starts, stops, steps, strict=True)]
    zero = jnp.zeros((), g.dtype)
    whole = [(a, dim - a - (n - 1) * s - 1, s - 1) if n else (0, dim, 0) for a, s, n, dim in zip(starts, steps, kept, shape)]
    return lax.pad(lax.rev(g, flipped).reshape(kept), zero, whole)


def _windows(index: Any, shape: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    """Starts, stops and steps for each axis, and the shape that is left when the axes indexed by ints are gone."""
    rest = [slice(0, dim, 1) for dim in shape[len(index) :]]
    windows = [slice(i, i + 1, 1) if isinstance(i, int) else i for i in (*index, *rest)]
    shape = [len(range(w.start, w.stop, w.step)) for i, w in zip((*index, *rest), windows) if not isinstance(i, int)]
    return [w.start for w in windows], [w.stop for w in windows], [w.step for w in windows], shape


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    return jnp.take(x, indices, axis)


class JaxEngine(Engine):
    """JAX on its default device."""

    name = "jax"
    static_shapes = True
    compiles_programs = True

    def version(self) -> str:
        return jax.__version__

    def devices(self) -> list[str]:
        return [f"{'gpu' if d.platform in ('gpu', 'cuda', 'rocm') else d.platform}:{d.id}" for d in jax.devices()]

    def device_of(self, value: Any) -> str:
        device = next(iter(value.devices()))
        return f"{'gpu' if device.platform in ('gpu', 'cuda', 'rocm') else device.platform}:{device.id}"

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, jax.Array | jax.core.Tracer)

    def asarray(self, value: Any, dtype: DType) -> Any:
        with jax.enable_x64(True):
            return jnp.array(np.asarray(value, dtype.numpy))

    def to_numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def copy(self, value: Any) -> Any:
        with jax.enable_x64(True):
            return jnp.array(value, copy=True)

    def from_dlpack(self, value: Any) -> Any:
        with jax.enable_x64(True):
            return jnp.from_dlpack(value)

    def eager_rule(self, rule: Rule) -> Rule:
        @functools.wraps(rule)
        def wide(*args: Any) -> Any:
            with jax.enable_x64(True):
                return rule(*args)

        return wide

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...] = ()) -> Callable[..., Any]:
        compiled = jax.jit(function, donate_argnums=donate)

        def program(*args: Any) -> Any:
            with jax.enable_x64(True):
                return compiled(*args)

        return program

    def synchronize(self, value: Any) -> None:
        jax.block_until_ready(value)


engine = JaxEngine(rules)
