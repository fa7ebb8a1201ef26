"""The NumPy engine: the living definition of every primitive, plain and correct."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from dovetail.dtypes import DType
from dovetail.engines import slices
from dovetail.engines.base import Engine, Rule, Rules, native_to_dtype
from dovetail.engines.numpy_like import by_name, infinite_bounds, integer_power, reduction, running
from dovetail.ops.windows import CONVOLUTIONS, Windows, overlap_add, split_shape

# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules({**by_name(np), "Equal": np.equal, "Rint": np.rint})
out_rules: dict[str, Rule] = {name: rule for name, rule in rules.items() if isinstance(rule, np.ufunc)}
rules["Real"] = np.real


@rules("Pow")
def _(x: Any, y: Any) -> Any:
    return integer_power(np, x, y) if x.dtype.kind == "i" else np.power(x, y)


@rules("Imag")
def _(x: Any) -> Any:
    return x.imag if x.dtype.kind == "c" else np.zeros_like(x)


@rules("Complex")
def _(x: Any, y: Any) -> Any:
    z = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, np.complex64))
    z.real, z.imag = x, y
    return z


def _scipy(name: str) -> Rule:
    def rule(*args: Any) -> Any:
        from scipy import special  # here, because importing it takes long

        *orders, x = args
        return getattr(special, name)(*orders, x.astype(_wide(x.dtype), copy=False)).astype(x.dtype, copy=False)

    return rule


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype in which halves are summed, and given to libraries that do not know them: float32."""
    return _WIDE.get(dtype, dtype)


_WIDE = {np.dtype(half): np.dtype(np.float32) for half in (np.float16, ml_dtypes.bfloat16)}


rules |= {
    "Erf": _scipy("erf"),
    "Erfc": _scipy("erfc"),
    "Erfinv": _scipy("erfinv"),
    "Lgamma": _scipy("gammaln"),
    "Polygamma": _scipy("polygamma"),
}


# -- shape ------------------------------------------------------------------------------------------------------------

rules |= {
    "Reshape": np.reshape,
    "Identity": lambda x: x,
    "StopGradient": lambda x: x,
    "BroadcastTo": np.broadcast_to,
    "Transpose": np.transpose,
}


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return np.asarray(x).astype(dtype.numpy)


@rules("Shape")
def _(x: Any) -> Any:
    return np.array(x.shape, np.int32)


# -- reductions -------------------------------------------------------------------------------------------------------

rules |= {
    "ArgMax": reduction(np.argmax),
    "ArgMin": reduction(np.argmin),
    "Any": reduction(np.any),
    "All": reduction(np.all),
}


@rules("Sum")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.add.reduce(x, axis, _wide(x.dtype), None, keepdims).astype(x.dtype, copy=False)


@rules("Prod")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.multiply.reduce(x, axis, _wide(x.dtype), None, keepdims).astype(x.dtype, copy=False)


@rules("Mean")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    total = np.add.reduce(x, axis, _wide(x.dtype), None, keepdims)
    return (total / (x.size // total.size if total.size else 1)).astype(x.dtype, copy=False)


@rules("Max")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.maximum.reduce(x, axis, None, None, keepdims, infinite_bounds(native_to_dtype(x.dtype))[0])


@rules("Min")
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.minimum.reduce(x, axis, None, None, keepdims, infinite_bounds(native_to_dtype(x.dtype))[1])


def _accumulate(ufunc: np.ufunc) -> Rule:
    return lambda x, axis: ufunc.accumulate(x, axis, _wide(x.dtype)).astype(x.dtype, copy=False)


rules |= {
    "Cumsum": running(np, _accumulate(np.add), 0),
    "Cumprod": running(np, _accumulate(np.multiply), 1),
    "CumulativeLogsumexp": running(np, _accumulate(np.logaddexp), -np.inf),
}


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    extra = g.ndim - like.ndim
    axes = (*range(extra), *(i + extra for i, dim in enumerate(like.shape) if dim == 1 and g.shape[i + extra] != 1))
    return np.add.reduce(g, axes, _wide(g.dtype)).astype(g.dtype, copy=False).reshape(like.shape) if axes else g


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return np.matmul(x.swapaxes(-1, -2) if transpose_a else x, y.swapaxes(-1, -2) if transpose_b else y)


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = np.concatenate
rules["Pack"] = np.stack
rules["ExpandDims"] = np.expand_dims
rules["Squeeze"] = np.squeeze


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return np.arange(size[0]).astype(dtype.numpy)


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    ends = [before + dim for before, dim in zip(low, x.shape, strict=True)]
    padded = np.full([end + after for end, after in zip(ends, high, strict=True)], value, x.dtype)
    padded[(*map(slice, low, ends), ...)] = x
    return padded


@rules("Bitcast")
def _(x: Any, dtype: DType) -> Any:
    return np.asarray(x).view(dtype.numpy)


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
    whole = np.zeros(shape, g.dtype)
    whole[(*slices.entries(*where), ...)] = g
    return whole


rules["GatherV2"] = np.take
rules["TakeAlongAxis"] = np.take_along_axis
rules["Tile"] = np.tile
rules["Roll"] = np.roll
rules["Sort"] = np.sort
rules["Where"] = lambda x: np.argwhere(x).astype(np.int32)
rules["ArgSort"] = lambda x, axis: np.argsort(x, axis, kind="stable").astype(np.int32)
rules["SearchSorted"] = lambda *args: np.asarray(np.searchsorted(*args)).astype(np.int32)


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
    "TensorScatterMax": _scatter(np.maximum),
    "TensorScatterMin": _scatter(np.minimum),
}


# -- windows: convolution and pooling; channels come last here --------------------------------------------------------


def _last(x: Any, data_format: str) -> Any:
    """A view with the channels last."""
    return x if data_format == "channels_last" else np.moveaxis(x, 1, -1)


def _restored(x: Any, data_format: str) -> Any:
    """The reverse of `_last`."""
    return x if data_format == "channels_last" else np.moveaxis(x, -1, 1)


def _slide(x: Any, windows: Windows, fill: float = 0) -> Any:
    """(batch, spatial..., channels) → (batch, windows..., window..., channels), a view if nothing is padded."""
    rank = len(windows.size)
    pads = windows.pads(x.shape[1:-1])
    if any(map(any, pads)):
        x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, windows.spans, axis=tuple(range(1, rank + 1)))
    steps = [slice(None, None, step) for step in (*windows.strides, 1, *windows.dilations)]
    return np.moveaxis(view[:, *steps], rank + 1, -1)


def _unslide(patches: Any, sizes: Sequence[int], windows: Windows) -> Any:
    """The transpose of `_slide`, cut to the sizes without padding."""
    total = np.zeros((patches.shape[0], *windows.padded(sizes), patches.shape[-1]), patches.dtype)
    overlap_add(total, patches, windows)
    return total[:, *windows.inside(sizes)]


@rules("SlidingWindows")
def _(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    return _slide(x, Windows(size, strides, dilations, padding), fill)


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    return _unslide(patches, input_sizes[1:-1], Windows(size, strides, dilations, padding))


def _grouped(x: Any, groups: int, rows: int) -> Any:
    """(..., groups * n) → (groups, rows, all that is left): what `np.matmul` takes, without a copy for one group."""
    return np.moveaxis(x.reshape(rows, -1, groups, x.shape[-1] // groups), 2, 0).reshape(groups, rows, -1)


def _columns(x: Any, windows: Windows, groups: int) -> Any:
    """The windows as the rows of a matrix for each group, so that a convolution is a product of matrices."""
    patches = _slide(x, windows)
    return _grouped(patches, groups, math.prod(patches.shape[: len(windows.size) + 1]))


def _kernel_matrix(kernel: Any, groups: int) -> Any:
    """(spatial..., in, out) → (groups, spatial * in, out / groups)."""
    return np.moveaxis(kernel.reshape(-1, groups, kernel.shape[-1] // groups), 1, 0)


@rules(*CONVOLUTIONS[""])
def _(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    x = _last(x, data_format)
    windows = Windows(kernel.shape[:-2], strides, dilations, padding)
    groups = x.shape[-1] // kernel.shape[-2]
    y = _columns(x, windows, groups) @ _kernel_matrix(kernel, groups)
    shape = (x.shape[0], *windows.count(x.shape[1:-1]), kernel.shape[-1])
    return _restored(np.moveaxis(y, 0, 1).reshape(shape), data_format)


@rules(*CONVOLUTIONS["BackpropInput"])
def _(input_sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    g = _last(g, data_format)
    _, sizes, channels = split_shape(input_sizes, data_format)
    windows = Windows(kernel.shape[:-2], strides, dilations, padding)
    groups, per_group = channels // kernel.shape[-2], kernel.shape[-2]
    rows = math.prod(g.shape[:-1])
    columns = _grouped(g, groups, rows) @ np.swapaxes(_kernel_matrix(kernel, groups), 1, 2)
    columns = np.moveaxis(columns.reshape(groups, rows, windows.volume, per_group), 0, 2)
    return _restored(_unslide(columns.reshape(*g.shape[:-1], *windows.size, channels), sizes, windows), data_format)


@rules(*CONVOLUTIONS["BackpropFilter"])
def _(x: Any, filter_sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    x, g = _last(x, data_format), _last(g, data_format)
    windows = Windows(filter_sizes[:-2], strides, dilations, padding)
    groups = x.shape[-1] // filter_sizes[-2]
    gradient = np.swapaxes(_columns(x, windows, groups), 1, 2) @ _grouped(g, groups, math.prod(g.shape[:-1]))
    return np.moveaxis(gradient, 0, 1).reshape(filter_sizes)


class NumPyEngine(Engine):
    """NumPy on the CPU."""

    name = "numpy"

    def version(self) -> str:
        return np.__version__

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, np.ndarray)

    def asarray(self, value: Any, dtype: DType) -> Any:
        return np.asarray(value, dtype.numpy)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.numpy)

    def copy(self, value: Any) -> Any:
        return np.array(value)

    def from_dlpack(self, value: Any) -> Any:
        return np.from_dlpack(value)

    def eager_rule(self, rule: Rule) -> Rule:
        quiet = np.errstate(all="ignore")  # infinities and NaN are values, as on the other engines
        return quiet(rule)

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...] = ()) -> Callable[..., Any]:
        return np.errstate(all="ignore")(function)


engine = NumPyEngine(rules, out_rules)
