"""The JAX engine: XLA, one jitted executable for a whole program.

Dovetail has 64-bit types, which JAX has only under `enable_x64`; so the rules run under that setting, and the setting
of the user's own JAX code stays as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import starmap
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32
from jax.scipy import linalg as jsp

from dovetail.core.accumulation import PRODUCTS, in_float32
from dovetail.core.control import Control, Values
from dovetail.core.dtypes import DType
from dovetail.core.engine import Engine, Rule, Rules, Segment, native_to_dtype, print_array
from dovetail.core.kinds import Kind
from dovetail.core.table import OPS
from dovetail.core.windows import CONVOLUTIONS, POOLS, Windows, join_shape, split_shape
from dovetail.engines import matrices, slices
from dovetail.engines.bodies import DECODERS, body_rule
from dovetail.engines.jax_dimensions import Dimension, Dimensions, as_dimensions, known, shape_of, with_dimensions
from dovetail.engines.numpy_like import by_name, drops_imaginary, infinite_bounds, integer_power, reduction, running


def _with_64_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: JAX has 64-bit types inside.

    `with jax.enable_x64(True)` leaves them on where a signal's handler raises as its `__exit__`, in Python, begins.
    The setting's own methods are C functions, and Python handles no signal between a result and the call after it.
    """

    @functools.wraps(function)
    def in_64_bits(*args: Any) -> Any:
        before = jax.enable_x64.get_local()
        try:
            jax.enable_x64.set_local(True)
            return function(*args)
        finally:
            jax.enable_x64.set_local(before)

    return in_64_bits


# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules(
    {
        **by_name(jnp),
        "Equal": jnp.equal,
        "Rint": jnp.rint,
        "Rsqrt": lax.rsqrt,
        "Real": jnp.real,
        "Imag": jnp.imag,
        "Exp2": in_float32(
            jnp.exp2, lax.convert_element_type, (jnp.float16, jnp.bfloat16), jnp.float32
        ),  # that of halves is wrong in the first digit of large results
        "Erf": lax.erf,
        "Erfc": lax.erfc,
        "Erfinv": lax.erf_inv,
        "Lgamma": lax.lgamma,
        "Digamma": lambda x: jnp.where(x == 0, -1 / x, lax.digamma(x)),  # which gives NaN at its pole
        "Polygamma": jax.scipy.special.polygamma,
    }
)


@rules("FloorDiv")
def _(x: Any, y: Any) -> Any:
    quotient = jnp.floor_divide(x, y)
    return jnp.where(y == 0, 0, quotient) if jnp.issubdtype(x.dtype, jnp.integer) else quotient


@rules("Pow")
def _(x: Any, y: Any) -> Any:
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.power(x, y)
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    return integer_power(jnp, _power_by_squaring, x, y) if signed else _power_by_squaring(x, y)


def _power_by_squaring(x: Any, y: Any) -> Any:
    """`x ** y` of integers with `y >= 0`; jnp.power reads no more than the six lowest bits of an exponent."""

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        result, x, y = state
        return jnp.where(y & 1 == 1, result * x, result), x * x, y >> 1

    x, y = jnp.broadcast_arrays(x, y)
    return lax.while_loop(lambda state: jnp.any(state[2] > 0), step, (jnp.ones_like(x), x, y))[0]


@rules("Complex")
def _(x: Any, y: Any) -> Any:
    return lax.complex(*jnp.broadcast_arrays(x, y))


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return lax.convert_element_type(x.real if drops_imaginary(x.dtype.kind == "c", dtype) else x, dtype.numpy)


rules["XlaOptimizationBarrier"] = lambda xs: tuple(lax.optimization_barrier(tuple(xs)))


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
    return jnp.sum(g, axis=axes, dtype=g.dtype).reshape(like.shape) if axes else g


# -- reductions -------------------------------------------------------------------------------------------------------


def _total(reduce: Rule) -> Rule:
    return lambda x, axis, keepdims: reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _extreme(reduce: Rule, bound: int) -> Rule:
    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        start = np.asarray(infinite_bounds(native_to_dtype(x.dtype))[bound], x.dtype)
        return reduce(x, axis=axis, keepdims=keepdims, initial=start)

    return rule


rules |= {
    "Sum": _total(jnp.sum),
    "Prod": _total(jnp.prod),
    "Max": _extreme(jnp.max, 0),
    "Min": _extreme(jnp.min, 1),
    "Mean": reduction(jnp.mean),
    "ArgMax": reduction(jnp.argmax),
    "ArgMin": reduction(jnp.argmin),
    "Any": reduction(jnp.any),
    "All": reduction(jnp.all),
    "Cumsum": running(jnp, lax.cumsum, 0),
    "Cumprod": running(jnp, lax.cumprod, 1),
    "CumulativeLogsumexp": running(jnp, lax.cumlogsumexp, -math.inf),
}


# -- linear algebra ---------------------------------------------------------------------------------------------------


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return jnp.matmul(jnp.matrix_transpose(x) if transpose_a else x, jnp.matrix_transpose(y) if transpose_b else y)


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    return jnp.einsum(equation, *inputs)


def _nan_where_zero(pivots: Any, result: Any) -> Any:
    """NaN for the matrices that have a zero among their pivots."""
    return jnp.where(jnp.any(pivots == 0, -1)[..., None, None], jnp.nan, result)


@rules("MatrixSolve")
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    lu, pivots = jsp.lu_factor(matrix)
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    rhs = jnp.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    lu, pivots = jnp.broadcast_to(lu, (*batch, *lu.shape[-2:])), jnp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return _nan_where_zero(jnp.diagonal(lu, axis1=-2, axis2=-1), jsp.lu_solve((lu, pivots), rhs, trans=2 * adjoint))


@rules("MatrixTriangularSolve")
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    matrix, rhs = (jnp.broadcast_to(t, (*batch, *t.shape[-2:])) for t in (matrix, rhs))
    options = {"left_side": True, "lower": lower, "transpose_a": adjoint, "conjugate_a": adjoint}
    return _nan_where_zero(
        jnp.diagonal(matrix, axis1=-2, axis2=-1), lax.linalg.triangular_solve(matrix, rhs, **options)
    )


@rules("Cholesky")
def _(x: Any) -> Any:
    result = lax.linalg.cholesky(x, symmetrize_input=False)
    return jnp.where(jnp.any(jnp.isnan(result), (-2, -1), keepdims=True), jnp.nan, result)


@rules("Lu")
def _(x: Any) -> Any:
    return lax.linalg.lu(x)[:2]


# jax differentiates no determinant of 0 by 0 matrices.
rules["MatrixDeterminant"] = lambda x: jnp.linalg.det(x) if x.shape[-1] else jnp.ones(x.shape[:-2], x.dtype)
rules["LogMatrixDeterminant"] = jnp.linalg.slogdet
rules["Qr"] = jnp.linalg.qr


@rules("SelfAdjointEigV2")
def _(x: Any, compute_v: bool) -> Any:
    if not compute_v:
        return [jnp.linalg.eigvalsh(x, symmetrize_input=False)]
    w, v = jnp.linalg.eigh(x, symmetrize_input=False)
    return w, v * matrices.phases(jnp, v)


@rules("Eig")
def _(x: Any) -> Any:
    w, v = jnp.linalg.eig(x)
    return w, v * matrices.phases(jnp, v)


@rules("Svd")
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return [jnp.linalg.svd(x, compute_uv=False)]
    return matrices.aligned(jnp, *jnp.linalg.svd(x, full_matrices))


# -- random numbers ---------------------------------------------------------------------------------------------------


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any) -> Any:
    size = math.prod(shape)
    x0 = lax.iota(np.uint32, (size + 1) // 2)
    x1 = jnp.zeros_like(x0)
    if counter is not None:
        first, second = lax.bitcast_convert_type(counter, np.uint32)
        x0, x1 = x0 + first, x1 + second
    pair = tuple(lax.bitcast_convert_type(key, np.uint32))
    words = threefry_2x32(pair, jnp.concatenate([x0, x1]))
    return lax.bitcast_convert_type(words[:size], np.int32).reshape(shape)


class LaxControl(Control):
    """XLA's control flow."""

    def cond(self, condition: Any, then_branch: Rule, else_branch: Rule) -> Values:
        return lax.cond(condition, lambda: tuple(then_branch()), lambda: tuple(else_branch()))

    def while_loop(self, condition: Rule, body: Rule, state: Values, limit: int | None) -> Values:
        def goes_on(counted: Any) -> Any:
            count, state = counted
            held = condition(*state)
            return held if limit is None else (count < limit) & held

        def step(counted: Any) -> Any:
            return counted[0] + 1, tuple(body(*counted[1]))

        return lax.while_loop(goes_on, step, (0, tuple(state)))[1]

    def scan(self, body: Rule, init: Values, xs: Values, length: int | None, reverse: bool) -> tuple[Values, Values]:
        def step(carry: Values, slices: Values) -> tuple[Values, Values]:
            carry, ys = body(carry, slices)
            return tuple(carry), tuple(ys)

        # The length of slices may be one that JAX does not know yet, but one that is given must be known.
        return lax.scan(step, tuple(init), tuple(xs), None if xs else length, reverse)


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
rules["TopKV2"] = lambda x, k: tuple(lax.top_k(x, k))
rules["Bitcast"] = lambda x, dtype: lax.bitcast_convert_type(x, dtype.numpy)


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    return lax.pad(x, jnp.array(value, x.dtype), [(*pair, 0) for pair in zip(low, high, strict=True)])


rules["Squeeze"] = jnp.squeeze


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return lax.iota(dtype.numpy, size[0])


@rules("Slice")
@functools.partial(jax.jit, static_argnums=2)
def _read_block(x: Any, start: Any, size: tuple[int, ...]) -> Any:
    return lax.dynamic_slice(x, start, size, allow_negative_indices=False)


@rules("XlaDynamicUpdateSlice")
@jax.jit
def _write_block(x: Any, start: Any, updates: Any) -> Any:
    return lax.dynamic_update_slice(x, updates, start, allow_negative_indices=False)


class _Window(NamedTuple):
    """A strided slice as XLA takes it: with a number for every axis, and with axes to flip and to remove afterwards."""

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
        """Whether it is better read by a program that takes the starts as values, so that it fits all starts."""
        return not (self.flipped or any(s != 1 for s in self.steps) or isinstance(x, jax.core.Tracer))


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
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


def _check_positions(indices: Any, *dims: int) -> None:
    """Raises IndexError where one is out of range and the values can be seen, which is not so inside `jit`."""
    if not isinstance(indices, jax.core.Tracer):
        slices.rows(np.asarray(indices).astype(np.int64).reshape(-1, len(dims)), dims)


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int) -> Any:
    _check_positions(indices, x.shape[axis])
    return jnp.take(x, indices, axis, mode="fill")


@rules("TakeAlongAxis")
def _(x: Any, indices: Any, axis: int) -> Any:
    _check_positions(indices, x.shape[axis])
    return jnp.take_along_axis(x, indices, axis, mode="fill")


def _at(method: str) -> Rule:
    @jax.jit
    def compiled(x: Any, indices: Any, *updates: Any) -> Any:
        positions = tuple(indices[..., i] for i in range(indices.shape[-1]))
        return getattr(x.at[positions], method)(*updates, mode="drop")  # reads NaN, writes nothing out of range

    def rule(x: Any, indices: Any, *updates: Any) -> Any:
        _check_positions(indices, *x.shape[: indices.shape[-1]])
        return compiled(x, indices, *updates)

    return rule


rules |= {
    "GatherNd": _at("get"),
    "TensorScatterUpdate": _at("set"),
    "TensorScatterAdd": _at("add"),
    "TensorScatterMax": _at("max"),
    "TensorScatterMin": _at("min"),
}


# -- convolution ------------------------------------------------------------------------------------------------------


def _conv(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    _, sizes, channels = split_shape(x.shape, data_format)
    *size, per_group, _ = kernel.shape
    spatial = "DHW"[-len(strides) :]
    layout = "".join(join_shape("N", spatial, "C", data_format))
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        Windows(tuple(size), strides, dilations, padding).pads(sizes),
        rhs_dilation=dilations,
        dimension_numbers=(layout, f"{spatial}IO", layout),
        feature_group_count=channels // per_group,
    )


rules.update(dict.fromkeys(CONVOLUTIONS[""], _conv))


@rules(*CONVOLUTIONS["BackpropInput"])
def _(input_sizes: Any, kernel: Any, g: Any, *window: Any) -> Any:
    x = jax.ShapeDtypeStruct(input_sizes, g.dtype)
    return jax.linear_transpose(lambda x: _conv(x, kernel, *window), x)(g)[0]


@rules(*CONVOLUTIONS["BackpropFilter"])
def _(x: Any, filter_sizes: Any, g: Any, *window: Any) -> Any:
    kernel = jax.ShapeDtypeStruct(filter_sizes, g.dtype)
    return jax.linear_transpose(lambda kernel: _conv(x, kernel, *window), kernel)(g)[0]


# -- activation -------------------------------------------------------------------------------------------------------

# The bodies would do for XLA; these have the right derivative at a body's kink too, when JAX is to differentiate.
rules["Relu"] = jax.jit(jax.nn.relu)  # which otherwise reads its own signature at each call
rules["Elu"] = jax.nn.elu
rules["Sigmoid"] = lax.logistic
rules["Softplus"] = jax.nn.softplus


# -- windows and pooling ----------------------------------------------------------------------------------------------


def _slide(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float = 0.0) -> Any:
    windows = Windows(size, strides, dilations, padding)
    sizes = x.shape[1:-1]
    if 0 in windows.count(sizes):
        return jnp.zeros((x.shape[0], *windows.count(sizes), *size, x.shape[-1]), x.dtype)
    x = jnp.pad(x, [(0, 0), *windows.pads(sizes), (0, 0)], constant_values=fill)
    for axis, count in reversed(list(enumerate(windows.count(sizes)))):
        starts, offsets = np.arange(count) * strides[axis], np.arange(size[axis]) * dilations[axis]
        x = jnp.moveaxis(jnp.take(x, starts[:, None] + offsets, axis + 1), axis + 2, len(size) + 1)
    return x


rules["SlidingWindows"] = _slide


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, *window: Any) -> Any:
    x = jax.ShapeDtypeStruct(input_sizes, patches.dtype)
    return jax.linear_transpose(lambda x: _slide(x, *window), x)(patches)[0]


def _reduce_windows(
    x: Any, initial: float, reduce: Any, size: Any, strides: Any, padding: str, data_format: str
) -> Any:
    pads = Windows(size, strides, (1,) * len(size), padding).pads(split_shape(x.shape, data_format)[1])
    window, steps = join_shape(1, size, 1, data_format), join_shape(1, strides, 1, data_format)
    return lax.reduce_window(
        x, np.asarray(initial, x.dtype), reduce, window, steps, join_shape((0, 0), pads, (0, 0), data_format)
    )


def _max_pool(x: Any, *pool: Any) -> Any:
    return _reduce_windows(x, -np.inf, lax.max, *pool)


def _average_pool(x: Any, *pool: Any) -> Any:
    _, sizes, _ = split_shape(x.shape, pool[-1])
    ones = jnp.ones(join_shape(1, sizes, 1, pool[-1]), x.dtype)
    return _reduce_windows(x, 0, lax.add, *pool) / _reduce_windows(ones, 0, lax.add, *pool)


rules.update(dict.fromkeys(POOLS["MaxPool"], _max_pool))
rules.update(dict.fromkeys(POOLS["AvgPool"], _average_pool))


@rules(*(f"{name}Grad" for name in POOLS["MaxPool"]))
def _(x: Any, g: Any, *pool: Any) -> Any:
    return jax.vjp(lambda x: _max_pool(x, *pool), x)[1](g)[0]


@rules(*(f"{name}Grad" for name in POOLS["AvgPool"]))
def _(x: Any, g: Any, *pool: Any) -> Any:
    return jax.linear_transpose(lambda x: _average_pool(x, *pool), jax.ShapeDtypeStruct(x.shape, x.dtype))(g)[0]


def _zero_tangent(x: Any) -> Any:
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, np.inexact) else np.zeros(x.shape, jax.dtypes.float0)


def _is_traced(values: Any) -> bool:
    if type(values) in (tuple, list):
        return any(map(_is_traced, values))
    return isinstance(values, jax.core.Tracer)


_GATHER_COST = 12  # of a resized image's pixels: XLA makes one loop of all that is gathered
_RESIZES = ("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ScaleAndTranslate")
_LOOPS = {"While": (2, 3, 4), "Scan": (3, 4, 5)}  # and which arguments of their rules are no arrays


class JaxEngine(Engine):
    """JAX on its default device."""

    name = "jax"
    specializes = True
    static_shapes = True
    compiles_programs = True
    consumes = True
    accumulates = PRODUCTS - {"Einsum"}
    forks = False

    def version(self) -> str:
        return jax.__version__

    def devices(self) -> list[str]:
        return [f"{'gpu' if d.platform in ('gpu', 'cuda', 'rocm') else d.platform}:{d.id}" for d in jax.devices()]

    def device_of(self, value: Any) -> str:
        device = next(iter(value.devices()))
        return f"{'gpu' if device.platform in ('gpu', 'cuda', 'rocm') else device.platform}:{device.id}"

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, jax.Array | jax.core.Tracer | Dimensions | Dimension)

    @_with_64_bits
    def asarray(self, value: Any, dtype: DType) -> Any:
        array = np.asarray(value, dtype.numpy)
        made = jnp.array(array)
        if isinstance(made, jax.core.Tracer):  # a value of its own, which does not end with what is being traced
            with jax.ensure_compile_time_eval():
                made = jnp.array(array)
        return made

    def to_numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def make_control(self) -> Control:
        return LaxControl()

    @_with_64_bits
    def copy(self, value: Any) -> Any:
        return jnp.array(value, copy=True)

    def is_deleted(self, value: Any) -> bool:
        return value.is_deleted()

    @_with_64_bits
    def from_dlpack(self, value: Any) -> Any:
        return jnp.from_dlpack(value)

    def eager_rule(self, rule: Rule) -> Rule:
        @_with_64_bits
        @functools.wraps(rule)
        def wide(*args: Any) -> Any:
            result = rule(*args)
            if not _is_traced(result) or _is_traced(args):
                return result
            with jax.ensure_compile_time_eval():  # what Dovetail computes now has a value, also inside `jit`
                return rule(*args)

        return wide

    def rule_for(self, operation: Any, out: bool) -> Rule | None:
        rule = super().rule_for(operation, out)
        static = _LOOPS.get(operation.type)
        if rule is None or static is None:
            return rule
        compiled = jax.jit(rule, static_argnums=static)  # once; JAX compiles a loop that it runs at once each time
        return lambda *args: (rule if _is_traced(args) else compiled)(*args)

    def compile(self, segment: Segment) -> Callable[..., Any]:
        return _Program(segment.function, segment.donated)

    def print_value(self, value: Any, message: str, summarize: int) -> Any:
        jax.debug.callback(lambda array: print_array(np.asarray(array), message, summarize), value)
        return value

    def is_traced(self, value: Any) -> bool:
        return isinstance(value, jax.core.Tracer)

    def is_tracing(self) -> bool:
        return isinstance(jnp.zeros((), bool), jax.core.Tracer)  # inside `jit` even a constant is one

    def gradients_of(self, function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
        return list(jax.grad(function, tuple(range(len(args))))(*args))

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        def with_rule(*args: Any) -> Any:
            results, gradient = function(*args)

            def rule(arriving: Any) -> Any:
                departing = gradient(*[None if g.dtype == jax.dtypes.float0 else g for g in arriving])
                return tuple(_zero_tangent(x) if g is None else g for x, g in zip(args, departing, strict=True))

            return tuple(results), rule

        return jax.custom_gradient(with_rule)(*args)

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return jax.checkpoint(function)(*args)


class _Program:
    """A program as one executable, compiled at the first call for its arguments' dtypes and shapes.

    It is compiled under `enable_x64` and runs without, so the calls that follow go to JAX's C++ code at once: an
    exception that a signal's handler raises comes before, when nothing is consumed, or after, when the results are in
    the list.  The first call runs code in Python around the execution, so it consumes copies.  It does so again where
    settings of JAX's own change between calls, such as its precision of products: an exception in this very moment
    loses what was consumed.
    """

    def __init__(self, function: Callable[..., Any], donate: tuple[int, ...]) -> None:
        self._function = function
        self._donate = donate
        self._run: Any = None

    def __call__(self, *args: Any, into: list[Any] | None = None) -> Any:
        found: list[Any] = [] if into is None else into
        if self._run is None:
            self._first(args, found)
        else:
            found.extend(starmap(self._run, (args,)))
        return found[-1]

    @_with_64_bits
    def _first(self, args: tuple[Any, ...], found: list[Any]) -> None:
        args = tuple(jnp.array(arg, copy=True) if i in self._donate else arg for i, arg in enumerate(args))
        compiled = jax.jit(self._function, donate_argnums=self._donate).lower(*args).compile()
        found.append(compiled(*args))
        run = getattr(compiled, "_call", None)  # what its `__call__` calls
        if run is None or isinstance(run, FunctionType):  # Python code, in programs that call back
            run = _with_64_bits(compiled)
        self._run = run


class NativeJaxEngine(JaxEngine):
    """JAX on its users' own values, of whose shapes it may not know all dimensions."""

    static_shapes = False

    def shape(self, value: Any) -> Any:
        if isinstance(value, Dimension):
            return ()
        shape = value.shape
        return shape if {*map(type, shape)} <= {int} else known(shape)

    def dtype(self, value: Any) -> DType:
        return native_to_dtype(as_dimensions(value).dtype)

    def to_ints(self, value: Any) -> Any:
        value = as_dimensions(value)
        if not isinstance(value, Dimensions):
            return super().to_ints(value)
        return tuple(dim if type(dim) is int else Dimensions(dim) for dim in value.array.reshape(-1).tolist())


def _slice_native(x: Any, *where: Any) -> Any:
    symbolic = any(isinstance(dim, Dimension) for dim in (*x.shape, *where[0], *where[1]))
    return x[slices.entries(*where)] if symbolic else rules["StridedSlice"](x, *where)


engine = JaxEngine(rules)
engine.native.__class__ = NativeJaxEngine
engine.native.rules = engine.native.eager_rules = Rules(
    {
        **{name: with_dimensions(name, rule) for name, rule in engine.rules.items()},
        "Shape": shape_of,
        "StridedSlice": with_dimensions("StridedSlice", _slice_native),
    }
)
_NEAREST = ("ResizeNearestNeighbor", "ResizeNearestNeighborGrad")
_bodies: dict[str, Any] = {name: body_rule(name, engine.native) for name in ("CTCLoss", *DECODERS, *_NEAREST)}
for _name in (name for resize in _RESIZES for name in (resize, f"{resize}Grad")):
    _bodies[_name] = functools.partial(OPS[_name].body, gather_cost=_GATHER_COST)  # type: ignore[arg-type,misc]  # composites have bodies
for _name, _body in _bodies.items():
    _static = [i for i, param in enumerate(OPS[_name].params) if not isinstance(param.kind, Kind)]
    _program = jax.jit(_body, static_argnums=_static)
    engine.eager_rules[_name] = engine.eager_rule(_program)
    if _name != "CTCLoss":  # in a graph, its gradient needs to see the body
        engine.rules[_name] = _program
