"""The NumPy engine: the living definition of every primitive, plain and correct."""

from __future__ import annotations

import contextvars
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.base import threefry
from dovetail.core.base.optional_api import optional_api
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, Windows, overlap_add
from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.engine import Engine, Segment
from dovetail.core.engines.allocation import HUGE, SMALLEST, aligned, aligned_empty, lent_bytes
from dovetail.core.engines.control_flow import Values
from dovetail.core.op import BinaryOp, UnaryOp
from dovetail.core.rules import CALLS, EAGER, OUT, PROGRAM, WITH_OUT, Rule, Rules
from dovetail.core.values.shapes import shape_of_nothing
from dovetail.core.values.spec import TensorSpec
from dovetail.engines import matrices, numpy_sums, rows, slices
from dovetail.engines.numpy_like import (
    FRESH,
    by_name,
    drops_imaginary,
    einsum_of_one,
    infinite_bounds,
    integer_power,
    reduction,
    running,
    transforms,
    wide,
)

# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules()
rules.fresh |= {
    *FRESH,
    *slices.COPIES,
    "OverlapAdd",
    "SelectV2",
    *(name for names in CONVOLUTIONS.values() for name in names),
}
_FUNCTIONS: dict[str, Rule] = {**by_name(np), "Equal": np.equal, "Rint": np.rint}
for _name, _function in _FUNCTIONS.items():
    rules(_name, layers=WITH_OUT if isinstance(_function, np.ufunc) else CALLS)(_function)
rules("Relu", layers=WITH_OUT)(lambda x, **out: np.maximum(x, 0, **out))
rules["Real"] = np.real


@rules("Pow")
def _(x: Any, y: Any) -> Any:
    if y.ndim == 0 and y == 3:  # NumPy's power takes hundreds of times as long
        return x * x * x
    return integer_power(np, np.power, x, y) if x.dtype.kind == "i" else np.power(x, y)


@rules("Imag")
def _(x: Any) -> Any:
    return x.imag if x.dtype.kind == "c" else np.full_like(x, 0)


@rules("Complex")
def _(x: Any, y: Any) -> Any:
    z = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, np.complex64))
    z.real, z.imag = x, y
    return z


def _scipy(name: str) -> Rule:
    def rule(*args: Any) -> Any:
        from scipy import special  # here, because importing it takes long

        *orders, x = args
        return getattr(special, name)(*orders, x.astype(wide(x.dtype), copy=False)).astype(x.dtype, copy=False)

    return rule


rules |= {
    "Erf": _scipy("erf"),
    "Erfc": _scipy("erfc"),
    "Erfinv": _scipy("erfinv"),
    "Lgamma": lambda x: _scipy("gammaln")(np.where(x == -np.inf, -x, x)),  # SciPy gives -inf there, C's lgamma inf
    "Polygamma": _scipy("polygamma"),
    "Igamma": lambda a, x: _scipy("gammainc")(a.astype(wide(a.dtype), copy=False), x),
    "BesselI0": _scipy("i0"),
    "BesselI1": _scipy("i1"),
    "Sigmoid": _scipy("expit"),
    **transforms(np),
}


# -- shape ------------------------------------------------------------------------------------------------------------

rules |= {
    "Reshape": lambda x, shape: np.reshape(x, shape if x.size else shape_of_nothing(x.shape, shape)),
    "Identity": lambda x: x,
    "StopGradient": lambda x: x,
    "BroadcastTo": np.broadcast_to,
    "Transpose": np.transpose,
}


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    x = np.asarray(x)
    return (x.real if drops_imaginary(x.dtype.kind == "c", dtype) else x).astype(dtype.numpy)


@rules("Fill", layers=(EAGER,))  # the first value of most variables; programs fold the body
def _(shape: tuple[int, ...], fill_value: Any, dtype: DType | None) -> Any:
    return np.broadcast_to(fill_value if dtype is None else rules["Cast"](fill_value, dtype), shape)


@rules("Shape")
def _(x: Any) -> Any:
    return np.array(x.shape, np.int32)


@rules("ReluGrad")
def _(g: Any, y: Any) -> Any:
    # Keep the bits of g where y is positive: `np.where` branches, so it takes ten times as long.
    kept = (y <= 0).view(np.int8) - np.int8(1)
    return np.bitwise_and(g.view(f"i{g.itemsize}"), kept).view(g.dtype)


# -- reductions -------------------------------------------------------------------------------------------------------


def _total(ufunc: Any) -> Rule:
    return lambda x, axis, keepdims, out=None: ufunc.reduce(x, axis, x.dtype, out, keepdims)


def _extreme(ufunc: Any, bound: int) -> Rule:
    def rule(x: Any, axis: Any, keepdims: bool, out: Any = None) -> Any:
        if x.size:
            return ufunc.reduce(x, axis, None, out, keepdims)
        return ufunc.reduce(x, axis, None, out, keepdims, infinite_bounds(native_to_dtype(x.dtype))[bound])

    return rule


for _name, _function in {
    "Sum": numpy_sums.total,
    "Prod": _total(np.multiply),
    "Max": _extreme(np.maximum, 0),
    "Min": _extreme(np.minimum, 1),
}.items():
    rules(_name, layers=WITH_OUT)(_function)


@rules("Mean", layers=WITH_OUT)
def _(x: Any, axis: Any, keepdims: bool, out: Any = None) -> Any:
    total = numpy_sums.total(x, axis, keepdims, out)
    return np.divide(total, x.size // total.size if total.size else 1, out).astype(x.dtype, copy=False)


def _accumulate(ufunc: np.ufunc) -> Rule:
    return lambda x, axis: ufunc.accumulate(x, axis, x.dtype)


rules |= {
    "ArgMax": reduction(np.argmax),
    "ArgMin": reduction(np.argmin),
    "Any": reduction(np.any),
    "All": reduction(np.all),
    "Cumsum": running(np, numpy_sums.running_total, 0),
    "Cumprod": running(np, _accumulate(np.multiply), 1),
    "CumulativeLogsumexp": running(np, _accumulate(np.logaddexp), -np.inf),
}


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    axes = (*range(extra), *(i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1))
    return numpy_sums.total(g, axes, False).reshape(like.shape) if axes else g


# -- steps of optimizers ----------------------------------------------------------------------------------------------

# Programs use these rules only if they are faster than the bodies.
for _name, _rule in (("AdamStep", rows.adam), ("SgdStep", rows.sgd)):
    rules(_name, layers=(EAGER, OUT))(_rule)
    rules(_name, layers=(PROGRAM,), when=rows.is_worth_it)(_rule)


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules("ConcatV2", layers=WITH_OUT)(np.concatenate)
rules("Pack", layers=WITH_OUT)(np.stack)
# Indexing is faster than NumPy's `expand_dims`.
rules["ExpandDims"] = lambda x, axis: x[..., None] if axis == -1 else np.expand_dims(x, axis)
rules["Squeeze"] = np.squeeze


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return np.arange(size[0]).astype(dtype.numpy)


@rules("OneHot")
def _(x: Any, num_classes: tuple[int], axis: int, dtype: DType) -> Any:
    x = np.expand_dims(x, axis)
    axis %= x.ndim
    classes = np.arange(num_classes[0]).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return (x == classes).astype(dtype.numpy)


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    ends = [before + dim for before, dim in zip(low, x.shape, strict=True)]
    padded = np.full([end + after for end, after in zip(ends, high, strict=True)], value, x.dtype)
    padded[tuple(map(slice, low, ends))] = x
    return padded


@rules("Bitcast")
def _(x: Any, dtype: DType) -> Any:
    if dtype.itemsize < x.itemsize:
        return np.ascontiguousarray(x[..., None]).view(dtype.numpy)
    return np.ascontiguousarray(x).view(dtype.numpy)[..., 0] if dtype.itemsize > x.itemsize else x.view(dtype.numpy)


@rules("Slice")
def _(x: Any, start: Any, size: Any) -> Any:
    return x[slices.block(start, size, x.shape)]


@rules("XlaDynamicUpdateSlice")
def _(x: Any, start: Any, updates: Any) -> Any:
    written = np.array(x)
    written[slices.block(start, updates.shape, x.shape)] = updates
    return written


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    return x[(*slices.entries(*where), ...)]


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    whole = np.full(shape, 0, g.dtype)  # `np.zeros` takes memory that `aligned` cannot choose
    whole[(*slices.entries(*where), ...)] = g
    return whole


rules["GatherV2"] = np.take
rules["TakeAlongAxis"] = np.take_along_axis
rules["Tile"] = np.tile
rules["Roll"] = np.roll
rules["Where"] = lambda x: np.argwhere(x).astype(np.int32)


def _ordered(x: Any) -> Any:
    """The array in a dtype whose NaN NumPy sorts to the end; it leaves NaN of bfloat16 anywhere."""
    return x.astype(wide(x.dtype), copy=False)


rules["Sort"] = lambda x, axis: np.sort(_ordered(x), axis).astype(x.dtype, copy=False)
rules["ArgSort"] = lambda x, axis: np.argsort(_ordered(x), axis, kind="stable").astype(np.int32)


@rules("SearchSorted")
def _(x: Any, v: Any, side: Any) -> Any:
    return np.asarray(np.searchsorted(_ordered(x), _ordered(v), side)).astype(np.int32)


@rules("GatherNd")
def _(x: Any, indices: Any) -> Any:
    return x[tuple(np.moveaxis(indices, -1, 0))]


@rules("TensorScatterUpdate")
def _(x: Any, indices: Any, updates: Any) -> Any:
    written = np.array(x)
    written[tuple(np.moveaxis(indices, -1, 0))] = updates
    return written


def _scatter(ufunc: np.ufunc) -> Rule:
    def rule(x: Any, indices: Any, updates: Any) -> Any:
        depth = indices.shape[-1]
        rows = slices.rows(indices.astype(np.int64), x.shape[:depth]).reshape(-1, 1)
        width = math.prod(x.shape[depth:])
        written = np.array(x).reshape(-1)
        ufunc.at(written, (rows * width + np.arange(width)).reshape(-1), updates.reshape(-1))  # 1-D: the fast way
        return written.reshape(x.shape)

    return rule


rules |= {
    "TensorScatterAdd": _scatter(np.add),
    "TensorScatterMul": _scatter(np.multiply),
    "TensorScatterMax": _scatter(np.maximum),
    "TensorScatterMin": _scatter(np.minimum),
}


# -- windows: convolution and pooling; channels come last here --------------------------------------------------------


def _slide(x: Any, windows: Windows, fill: float = 0) -> Any:
    """(batch, spatial..., channels) → (batch, windows..., window..., channels), a view if nothing is padded."""
    counts = windows.count(x.shape[1:-1])
    shape = (x.shape[0], *counts, *windows.size, x.shape[-1])
    if 0 in counts:
        return np.zeros(shape, x.dtype)
    pads = windows.pads(x.shape[1:-1])
    if any(map(any, pads)):
        x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    x = np.ascontiguousarray(x)
    sample, *spatial, channel = x.strides
    steps = [
        step * stride
        for strides in (windows.strides, windows.dilations)
        for step, stride in zip(strides, spatial, strict=True)
    ]
    view = np.ndarray(shape, x.dtype, x, 0, (sample, *steps, channel))
    view.flags.writeable = False  # elements share memory
    return view


def _unslide(patches: Any, sizes: Sequence[int], windows: Windows) -> Any:
    """The transpose of `_slide`, cut to the sizes without padding."""
    total = np.full((patches.shape[0], *windows.padded(sizes), patches.shape[-1]), 0, patches.dtype)
    overlap_add(total, patches, windows)
    return total[:, *windows.inside(sizes)]


@rules("SlidingWindows")
def _(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    return _slide(x, Windows(size, strides, dilations, padding), fill)


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    return _unslide(patches, input_sizes[1:-1], Windows(size, strides, dilations, padding))


def _convolution(name: str) -> Rule:
    def rule(*args: Any) -> Any:
        from dovetail.engines import numpy_convolution  # here, because most programs have no convolution

        return getattr(numpy_convolution, name)(*args)

    return rule


rules(*CONVOLUTIONS[""])(_convolution("convolve"))
rules(*CONVOLUTIONS["BackpropInput"])(_convolution("input_gradient"))
rules(*CONVOLUTIONS["BackpropFilter"])(_convolution("kernel_gradient"))


# -- linear algebra ---------------------------------------------------------------------------------------------------


@rules("MatMul", layers=WITH_OUT)
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    x, y = x.swapaxes(-1, -2) if transpose_a else x, y.swapaxes(-1, -2) if transpose_b else y
    return np.matmul(x, y, out)


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    x = inputs[0]
    if len(inputs) > 1 or x.size <= numpy_sums.FEW:
        return np.asarray(np.einsum(equation, *inputs, optimize=len(inputs) > 1))
    diagonals, axes, order = einsum_of_one(equation, x.ndim)
    x = np.einsum(diagonals, x) if diagonals else x
    return np.transpose(numpy_sums.total(x, axes, False) if axes else x, order)


def _or_nan(function: Callable[..., Sequence[Any]], *stacks: Any) -> Sequence[Any]:
    """The results of a function of stacks of matrices, with NaN for the matrices on which LAPACK fails."""
    try:
        return function(*stacks)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(*(s.shape[:-2] for s in stacks))
        if not batch:
            regular = np.eye(*stacks[0].shape, dtype=stacks[0].dtype)
            return [y * np.nan for y in function(regular, *stacks[1:])]
        return _each(lambda *one: _or_nan(function, *one), *stacks)


def _each(function: Callable[..., Sequence[Any]], *stacks: Any) -> Sequence[Any]:
    """The results of a function of matrices, for each of a stack of them."""
    batch = np.broadcast_shapes(*(s.shape[:-2] for s in stacks))
    if not math.prod(batch):
        empty = [np.ones((*s.shape[-2:],), s.dtype) for s in stacks]
        return [np.empty((*batch, *y.shape), y.dtype) for y in function(*empty)]
    whole = [np.broadcast_to(s, (*batch, *s.shape[-2:])) for s in stacks]
    results = [function(*(s[i] for s in whole)) for i in np.ndindex(batch)]
    return [np.reshape(ys, (*batch, *ys[0].shape)) for ys in zip(*results, strict=True)]


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


@rules("MatrixSolve")
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    return _or_nan(lambda a, b: [np.linalg.solve(a, b)], _adjoint(matrix) if adjoint else matrix, rhs)[0]


@rules("MatrixTriangularSolve")
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    from scipy.linalg import solve_triangular

    options = {"lower": lower, "trans": 2 * adjoint, "check_finite": False}
    one = lambda a, b: [solve_triangular(a, b, **options)]  # noqa: E731
    return _each(lambda *pair: _or_nan(one, *pair), matrix, rhs)[0]


@rules("Lu")
def _(x: Any) -> Any:
    from scipy.linalg import get_lapack_funcs

    (getrf,) = get_lapack_funcs(("getrf",), (x,))
    return _each(lambda one: getrf(one)[:2], x)


rules["MatrixInverse"] = lambda x: _or_nan(lambda a: [np.linalg.inv(a)], x)[0]
rules["MatrixDeterminant"] = np.linalg.det
rules["LogMatrixDeterminant"] = np.linalg.slogdet
rules["Cholesky"] = lambda x: _or_nan(lambda a: [np.linalg.cholesky(a)], x)[0]
rules["Qr"] = np.linalg.qr


@rules("SelfAdjointEigV2")
def _(x: Any, compute_v: bool) -> Any:
    if not compute_v:
        return _or_nan(lambda a: [np.linalg.eigvalsh(a)], x)
    return matrices.turned(np, *_or_nan(np.linalg.eigh, x))


@rules("Eig")
def _(x: Any) -> Any:
    return matrices.turned(np, *(y.astype(np.result_type(y, np.complex64)) for y in _or_nan(np.linalg.eig, x)))


@rules("Svd")
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return _or_nan(lambda a: [np.linalg.svd(a, compute_uv=False)], x)
    u, s, vh = _or_nan(lambda a: np.linalg.svd(a, full_matrices), x)
    return matrices.aligned(np, u, s, vh)


# -- random numbers ---------------------------------------------------------------------------------------------------

rules["StatelessRandomUniformFullInt"] = threefry.on_host


# Infinities and NaN are values, as on the other engines, so NumPy must not warn of them.  Setting its context variable
# takes less time than `np.errstate`.
_warnings = optional_api(np, "_core.umath._extobj_contextvar")


def _no_warnings() -> Any:
    """The value of NumPy's context variable that turns its warnings off."""
    np.seterr(all="ignore")
    return _warnings.get()


_NO_WARNINGS = _warnings and contextvars.copy_context().run(_no_warnings)


def _enter(_: Any) -> Any:
    context = np.errstate(all="ignore")
    context.__enter__()
    return context


# Turn warnings off; take what the first function returned, and turn them on again.
_switch: tuple[Callable[[Any], Any], Callable[[Any], Any]] = (
    (_enter, lambda context: context.__exit__()) if _warnings is None else (_warnings.set, _warnings.reset)
)


def _blas() -> Any:
    """The libraries of BLAS in this process; NumPy has no setting for their threads."""
    from threadpoolctl import ThreadpoolController  # ctypes takes 10 ms, which most programs need not spend

    return ThreadpoolController().select(user_api="blas")


class NumPyEngine(Engine):
    """NumPy on the CPU."""

    name = "numpy"
    _reports = "dovetail.engines.numpy_routines"
    array_key = staticmethod(operator.attrgetter("shape", "dtype"))
    allocates_results = True  # so that other libraries can read them in place

    def version(self) -> str:
        return np.__version__

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, np.ndarray)

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        if type(value) is np.ndarray and value.size * dtype.itemsize >= SMALLEST:
            return self._copied(value, dtype)
        return np.array(value, dtype.numpy)  # a copy, since the owner of the array may change it

    def _received(self, array: Any, like: Any) -> Any:
        return array

    def allocate(self, shape: tuple[int, ...], dtype: DType, device: str | None = None) -> Any:
        return aligned_empty(shape, dtype.numpy)

    def allocating(self, name: str, rule: Rule) -> Rule:
        if name in self._own_rules or self.books.allocator is not None:
            return rule
        return functools.wraps(rule)(lambda *args: aligned(rule, *args))

    def stack(self, values: Values) -> Any:
        return aligned(super().stack, values)

    def lend(self, array: Any, released: Callable[[], None]) -> Any:
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError("an allocator of numpy's memory gives contiguous arrays that can be written to.")
        memory = lent_bytes(array, array.ctypes.data, array.nbytes, released)
        return memory.view(array.dtype).reshape(array.shape)

    def memory_of(self, value: Any) -> tuple[Any, Any, int]:
        while isinstance(value.base, np.ndarray):
            value = value.base
        return id(value), value, value.nbytes

    def _copied(self, value: np.ndarray, dtype: DType) -> np.ndarray:
        copy = self.allocate(value.shape, dtype)
        np.copyto(copy, value, casting="unsafe")
        return copy

    def set_threads(self, count: int) -> bool:
        _blas().limit(limits=count)  # which stays, as its result is no context here
        return True

    _blas = functools.cached_property(lambda self: _blas())  # for calls: finding the libraries takes 3 ms

    @property
    def thread_count(self) -> int:
        return max((library["num_threads"] for library in self._blas.info()), default=1)

    def with_threads(self, count: int, run: Callable[[Any], Any], given: Any) -> Any:
        with self._blas.limit(limits=count):
            return run(given)

    _truth = bool  # type: ignore[assignment]  # saves a Python frame in each turn of a loop

    def unstack(self, value: Any) -> Any:
        return [value[i, ...] for i in range(len(value))]

    def copy(self, value: Any) -> Any:
        return np.array(value) if value.nbytes < SMALLEST else self._copied(value, self.dtype(value))

    def from_dlpack(self, value: Any) -> Any:
        return np.from_dlpack(value)

    def _finished(self, layer: str, name: str, rule: Rule) -> Rule:
        is_quick = layer == EAGER and isinstance(OPS.get(name), UnaryOp | BinaryOp)
        return self._quick_rule(name, rule) if is_quick else super()._finished(layer, name, rule)

    def _quick_rule(self, name: str, rule: Rule) -> Rule:
        """The form of the rule of an elementwise op for single calls, whose results nobody knows before.

        It is one function, since it runs in every call.
        """
        op = OPS[name]

        def huge(*arrays: Any) -> Any:
            out = self.rules.layer(OUT)[name]
            if out is None or op.infer is None:
                return aligned(rule, *arrays)
            result = op.infer(*[TensorSpec(x.shape, native_to_dtype(x.dtype)) for x in arrays])
            return out(*arrays, out=self.allocate(result.shape, result.dtype))

        def unary(x: Any) -> Any:
            token = set_to(_NO_WARNINGS)
            try:
                size = x.nbytes
                return rule(x) if size < SMALLEST else aligned(rule, x) if size < HUGE else huge(x)
            finally:
                reset(token)

        def binary(x: Any, y: Any) -> Any:
            token = set_to(_NO_WARNINGS)
            try:
                m, n = x.nbytes, y.nbytes
                if m * n < SMALLEST:  # as no result has more bytes than that
                    return rule(x, y)
                if m + n < SMALLEST:
                    z = rule(x, y)
                    return z if z.nbytes < SMALLEST else aligned(np.array, z)  # each argument is repeated
                return aligned(rule, x, y) if m + n < HUGE else huge(x, y)
            finally:
                reset(token)

        set_to, reset = _switch
        return unary if len(op.params) == 1 else binary

    def eager_rule(self, rule: Rule) -> Rule:
        set_to, reset = _switch

        def quiet(*arrays: Any) -> Any:
            token = set_to(_NO_WARNINGS)
            try:
                return rule(*arrays)
            finally:
                reset(token)

        return quiet

    def compile(self, segment: Segment) -> Callable[..., Any]:
        return np.errstate(all="ignore")(segment.function)


engine = NumPyEngine(rules)
