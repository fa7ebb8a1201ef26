"""The PyTorch engine: aten calls without autograd."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint

from dovetail.dtypes import DType
from dovetail.engines import matrices, slices, threefry
from dovetail.engines.base import Engine, Rule, Rules, native_to_dtype
from dovetail.engines.numpy import engine as numpy_engine
from dovetail.engines.numpy_like import FRESH, by_name, infinite_bounds, running
from dovetail.ops.infer import normalize_axes
from dovetail.ops.windows import CONVOLUTIONS, POOLS, Windows, overlap_add

# -- elementwise ------------------------------------------------------------------------------------------------------

rules = Rules(
    {
        **by_name(torch),
        "Equal": torch.eq,
        "Pow": torch.pow,
        "Rint": torch.round,
        "Rsqrt": torch.rsqrt,
        "Complex": torch.complex,
        "Erf": torch.erf,
        "Erfc": torch.erfc,
        "Erfinv": torch.erfinv,
        "Lgamma": torch.lgamma,
    }
)
del rules["Sign"]  # torch's gives 0 for NaN
_NO_OUT = ("IsNan", "IsInf", "IsFinite", "FloorDiv", "FloorMod", "Polygamma")
fresh: tuple[str, ...] = (*_NO_OUT, "LogSumExp", *FRESH)


@rules("FloorDiv")
def _(x: Any, y: Any) -> Any:
    return torch.floor_divide(x, y) if x.is_floating_point() else _unless_zero(torch.floor_divide, x, y)


@rules("FloorMod")
def _(x: Any, y: Any) -> Any:
    return torch.remainder(x, y) if x.is_floating_point() else _unless_zero(torch.remainder, x, y)


def _unless_zero(divide: Rule, x: Any, y: Any) -> Any:
    """Integer division, 0 where torch would raise an error: where `y` is 0."""
    zero = y == 0
    return divide(x, torch.where(zero, 1, y)).masked_fill(zero, 0)


@rules("Imag")
def _(x: Any) -> Any:
    return x.imag if x.is_complex() else torch.zeros_like(x)


rules["Real"] = torch.real
rules["Polygamma"] = torch.polygamma

_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_for_floats: dict[
    str, Rule
] = {}  # quicker rules, which take `out=` too, for programs in which all arguments are floats


def _or_numpy(*names: str) -> None:
    """Puts NumPy's rule in for the unsigned types that torch can hold but hardly compute with."""

    def covered(name: str, rule: Rule) -> Rule:
        def rule_for_all(x: Any, *args: Any, **out: Any) -> Any:
            try:
                return rule(x, *args, **out)
            except (NotImplementedError, RuntimeError):
                if x.dtype not in _UNSIGNED:
                    raise
                arrays = [a.numpy(force=True) if isinstance(a, torch.Tensor) else a for a in (x, *args)]
                result = torch.from_numpy(np.array(numpy_engine.eager_rules[name](*arrays))).to(x.device)
                return out["out"].copy_(result) if out else result

        return rule_for_all

    _for_floats.update({name: rules[name] for name in names})
    rules.update({name: covered(name, rules[name]) for name in names})


_or_numpy(
    *("AddV2", "Sub", "FloorDiv", "FloorMod", "Pow", "Neg", "Abs", "Square", "Maximum", "Minimum"),
    *("Less", "LessEqual", "Greater", "GreaterEqual", "Invert", "LeftShift", "RightShift"),
)
out_rules: dict[str, Rule] = {name: rule for name, rule in rules.items() if name not in (*_NO_OUT, "Real", "Imag")}


@rules("Cast")
def _(x: Any, dtype: DType) -> Any:
    return x.to(getattr(torch, dtype))


# -- shape ------------------------------------------------------------------------------------------------------------

rules["Reshape"] = torch.reshape
rules["Identity"] = lambda x: x
rules["StopGradient"] = torch.detach
rules["BroadcastTo"] = torch.broadcast_to


@rules("Shape")
def _(x: Any) -> Any:
    return torch.tensor(x.shape, dtype=torch.int32)


@rules("Transpose")
def _(x: Any, axes: Any) -> Any:
    return x.permute(axes if axes is not None else tuple(range(x.ndim))[::-1])


@rules("SumLike")
def _(g: Any, like: Any) -> Any:
    return g.sum_to_size(like.shape)


# -- reductions -------------------------------------------------------------------------------------------------------


def _reduce(reduce: Rule, start: Callable[[DType], Any] | None = None) -> Rule:
    """A reduction that in torch takes no empty list of axes and, if `start` is given, no axis of length 0."""

    def rule(x: Any, axis: Any, keepdims: bool) -> Any:
        axes = normalize_axes(axis, x.ndim)
        if not axes:
            return x.clone()
        if start is not None and not x.numel() and 0 in [x.shape[i] for i in axes]:
            shape = [1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdims or i not in axes]
            return torch.full(shape, start(native_to_dtype(x.dtype)), dtype=x.dtype, device=x.device)
        return reduce(x, axes, keepdims)

    return rule


def _prod(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    for i in reversed(axes):
        x = torch.prod(x, i, keepdims, dtype=x.dtype)
    return x


rules |= {
    "Sum": _reduce(lambda x, axes, keepdims: torch.sum(x, axes, keepdims, dtype=x.dtype)),
    "Prod": _reduce(_prod),
    "Mean": _reduce(torch.mean),
    "LogSumExp": _reduce(torch.logsumexp, lambda dtype: -math.inf),
    "Any": _reduce(torch.any),
    "All": _reduce(torch.all),
    "Max": _reduce(torch.amax, lambda dtype: infinite_bounds(dtype)[0]),
    "Min": _reduce(torch.amin, lambda dtype: infinite_bounds(dtype)[1]),
    "Cumsum": running(torch, lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype), 0),
    "Cumprod": running(torch, lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype), 1),
    "CumulativeLogsumexp": running(torch, torch.logcumsumexp, -math.inf),
}


def _position(find: Rule) -> Rule:
    def rule(x: Any, axis: int | None, keepdims: bool) -> Any:
        x = x.to(torch.uint8) if x.dtype is torch.bool else x
        found = find(x.reshape(-1), 0) if axis is None else find(x, axis, keepdims)
        return found.reshape((1,) * x.ndim) if axis is None and keepdims else found

    return rule


rules["ArgMax"] = _position(torch.argmax)
rules["ArgMin"] = _position(torch.argmin)

_or_numpy("Sum", "Prod", "Max", "Min", "ArgMax", "ArgMin", "Cumsum", "Cumprod")


# -- joining, slicing, indexing ---------------------------------------------------------------------------------------

rules["ConcatV2"] = out_rules["ConcatV2"] = torch.cat
rules["Pack"] = out_rules["Pack"] = torch.stack
rules["Tile"] = torch.tile
rules["Where"] = lambda x: torch.argwhere(x).int()
rules["Sort"] = lambda x, axis: torch.sort(x, axis).values
rules["ArgSort"] = lambda x, axis: torch.argsort(x, dim=axis, stable=True).int()
rules["Bitcast"] = lambda x, dtype: x.view(getattr(torch, dtype))
rules["Roll"] = lambda x, shift, axis: x.roll(shift, () if axis is None else axis)


@rules("SearchSorted")
def _(sequence: Any, values: Any, side: str) -> Any:
    if sequence.dtype == torch.bool:
        sequence, values = sequence.byte(), values.byte()
    return torch.searchsorted(sequence.contiguous(), values.contiguous(), out_int32=True, side=side)


@rules("TopKV2")
def _(x: Any, k: int) -> Any:
    if x.is_floating_point() and k:
        values, indices = torch.topk(x, k)
        if not _has_ties(x, values):  # of which torch.topk takes any
            return values, indices.int()
    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[..., :k], indices[..., :k].int()


def _has_ties(x: Any, largest: Any) -> bool:
    """Whether the order of the largest elements is not settled by their values alone."""
    repeated = (x == largest[..., -1:]).sum(-1) != 1  # none is equal to NaN
    return bool(repeated.any() or (largest[..., 1:] == largest[..., :-1]).any() or largest.isnan().any())


@rules("PadV2")
def _(x: Any, low: Any, high: Any, value: Any) -> Any:
    pairs = [width for pair in zip(reversed(low), reversed(high), strict=True) for width in pair]
    return torch.nn.functional.pad(x, pairs, value=value)


@rules("Slice")
def _(x: Any, start: Any, size: Any) -> Any:
    return x[slices.block(start, size, x.shape)]


@rules("XlaDynamicUpdateSlice")
def _(x: Any, start: Any, updates: Any) -> Any:
    written = x.clone()
    written[slices.block(start, updates.shape, x.shape)] = updates
    return written


@rules("ExpandDims")
def _(x: Any, axis: Any) -> Any:
    axes = (axis,) if isinstance(axis, int) else axis
    rank = x.ndim + len(axes)
    for i in sorted(a % rank for a in axes):
        x = x.unsqueeze(i)
    return x


@rules("Squeeze")
def _(x: Any, axis: Any) -> Any:
    return x.squeeze() if axis is None else x.squeeze(axis)


@rules("Iota")
def _(size: tuple[int], dtype: DType) -> Any:
    return torch.arange(size[0]).to(getattr(torch, dtype))


@rules("StridedSlice")
def _(x: Any, *where: Any) -> Any:
    index, flipped = slices.located(x.shape, *where)
    part = x[index]
    return part.flip(flipped) if flipped else part


@rules("SplitV")
def _(x: Any, sizes: Any, axis: int) -> Any:
    return x.split(sizes, axis)


@rules("StridedSliceGrad")
def _(g: Any, shape: Any, *where: Any) -> Any:
    index, flipped = slices.located(shape, *where)
    whole = g.new_zeros(shape)
    whole[index] = g.flip(flipped) if flipped else g
    return whole


@rules("GatherV2")
def _(x: Any, indices: Any, axis: int) -> Any:
    axis = axis % x.ndim
    positions = _wrapped(indices, x.shape[axis]).reshape(-1)
    try:
        found = x.index_select(axis, positions)
    except RuntimeError:
        slices.check_range(positions, x.shape[axis], axis)
        raise
    return found.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@rules("TakeAlongAxis")
def _(x: Any, indices: Any, axis: int) -> Any:
    positions = _wrapped(indices, x.shape[axis])
    if not positions.is_cuda:  # where it would mean to wait; and CUDA checks by itself
        slices.check_range(positions, x.shape[axis], axis)
    return torch.take_along_dim(x, positions, axis)


def _wrapped(indices: Any, dim: int) -> Any:
    indices = indices.long()
    return torch.where(indices < 0, indices + dim, indices)


@rules("GatherNd")
def _(x: Any, indices: Any) -> Any:
    return x[indices.long().unbind(-1)]


@rules("TensorScatterUpdate")
def _(x: Any, indices: Any, updates: Any) -> Any:
    return x.index_put(indices.long().unbind(-1), updates)


def _scatter(write: Rule) -> Rule:
    def rule(x: Any, indices: Any, updates: Any) -> Any:
        depth = indices.shape[-1]
        rows = slices.rows(indices.long(), x.shape[:depth]).reshape(-1)
        flat = x.reshape(math.prod(x.shape[:depth]), -1) if x.numel() else x.flatten(0, depth - 1)
        return write(flat, rows, updates.reshape(len(rows), *flat.shape[1:])).reshape(x.shape)

    return rule


def _scatter_extreme(reduce: str) -> Rule:
    return _scatter(lambda x, rows, updates: x.scatter_reduce(0, rows[:, None].expand_as(updates), updates, reduce))


rules |= {
    "TensorScatterAdd": _scatter(lambda x, rows, updates: x.index_add(0, rows, updates)),
    "TensorScatterMax": _scatter_extreme("amax"),
    "TensorScatterMin": _scatter_extreme("amin"),
}
_or_numpy(
    *("StridedSlice", "GatherV2", "GatherNd", "TakeAlongAxis", "Where", "SearchSorted"),
    *("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin"),
)


# -- convolution ------------------------------------------------------------------------------------------------------
# A channels-last tensor with its axes permuted to torch's order is what torch calls the channels_last memory format, so
# oneDNN and cuDNN take and give it without copies.  One spatial axis is computed as two, for which that format exists.

_convolution_backward = torch.ops.aten.convolution_backward.default


def _first(x: Any, data_format: str) -> Any:
    """A view as (batch, channels, spatial...), with at least two spatial axes."""
    x = x.movedim(-1, 1) if data_format == "channels_last" else x
    return x.unsqueeze(2) if x.ndim == 3 else x


def _restored(x: Any, rank: int, data_format: str) -> Any:
    """The reverse of `_first`."""
    x = x.squeeze(2) if rank == 1 else x
    return (x.movedim(1, -1) if data_format == "channels_last" else x).contiguous()


def _kernel_first(kernel: Any) -> Any:
    """(spatial..., in, out) → (out, in, spatial...), a view with at least two spatial axes."""
    kernel = kernel.permute(-1, -2, *range(kernel.ndim - 2))
    return kernel.unsqueeze(2) if kernel.ndim == 3 else kernel


def _windows(size: Any, strides: Any, dilations: Any, padding: Any) -> Windows:
    """Windows over at least two axes."""
    if len(size) > 1:
        return Windows(tuple(size), strides, dilations, padding)
    padding = padding if isinstance(padding, str) else ((0, 0), *padding)
    return Windows((1, *size), (1, *strides), (1, *dilations), padding)


def _padded(x: Any, pads: Any, fill: float = 0.0) -> tuple[Any, list[int]]:
    """torch pads both sides alike; other padding is put on first.  The tensor, and what is left for torch to pad."""
    if all(before == after for before, after in pads):
        return x, [before for before, _ in pads]
    return torch.nn.functional.pad(x, [n for pair in reversed(pads) for n in pair], value=fill), [0] * len(pads)


def _conv_gradients(x: Any, kernel: Any, g: Any, windows: Windows, pad: Any, mask: list[bool]) -> Any:
    none = [0] * len(pad)
    groups = x.shape[1] // kernel.shape[1]
    return _convolution_backward(
        g, x, kernel, None, windows.strides, pad, windows.dilations, False, none, groups, [*mask, False]
    )


@rules(*CONVOLUTIONS[""])
def _(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = _windows(kernel.shape[:-2], strides, dilations, padding)
    x, kernel = _first(x, data_format), _kernel_first(kernel)
    x, pad = _padded(x, windows.pads(x.shape[2:]))
    groups = x.shape[1] // kernel.shape[1]
    y = torch.convolution(x, kernel, None, windows.strides, pad, windows.dilations, False, [0] * len(pad), groups)
    return _restored(y, len(strides), data_format)


@rules(*CONVOLUTIONS["BackpropInput"])
def _(input_sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = _windows(kernel.shape[:-2], strides, dilations, padding)
    x = _first(g.new_empty(input_sizes), data_format)  # only its shape and memory format are used
    sizes = x.shape[2:]
    x, pad = _padded(x, windows.pads(sizes))
    dx = _conv_gradients(x, _kernel_first(kernel), _first(g, data_format), windows, pad, [True, False])[0]
    if dx.shape[2:] != sizes:
        dx = dx[:, :, *windows.inside(sizes)]
    return _restored(dx, len(strides), data_format)


@rules(*CONVOLUTIONS["BackpropFilter"])
def _(x: Any, filter_sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = _windows(filter_sizes[:-2], strides, dilations, padding)
    x = _first(x, data_format)
    x, pad = _padded(x, windows.pads(x.shape[2:]))
    kernel = _kernel_first(g.new_empty(filter_sizes))
    dk = _conv_gradients(x, kernel, _first(g, data_format), windows, pad, [False, True])[1]
    return dk.permute(*range(2, dk.ndim), 1, 0).reshape(filter_sizes)


# -- windows and pooling ----------------------------------------------------------------------------------------------

_MAX_POOL = {2: torch._C._nn.max_pool2d_with_indices, 3: torch._C._nn.max_pool3d_with_indices}
_AVG_POOL = {2: torch._C._nn.avg_pool2d, 3: torch._C._nn.avg_pool3d}
_MAX_POOL_BACKWARD = {
    2: torch.ops.aten.max_pool2d_with_indices_backward.default,
    3: torch.ops.aten.max_pool3d_with_indices_backward.default,
}
_AVG_POOL_BACKWARD = {2: torch.ops.aten.avg_pool2d_backward.default, 3: torch.ops.aten.avg_pool3d_backward.default}


@rules("SlidingWindows")
def _(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    windows = Windows(size, strides, dilations, padding)
    pads = windows.pads(x.shape[1:-1])
    x = torch.nn.functional.pad(x, [0, 0, *(n for pair in reversed(pads) for n in pair)], value=fill)
    for axis, (span, stride) in enumerate(zip(windows.spans, strides, strict=True)):
        x = x.unfold(axis + 1, span, stride)
    x = x.movedim(len(size) + 1, -1)
    return x[..., *(slice(None, None, d) for d in dilations), :]


@rules("OverlapAdd")
def _(patches: Any, input_sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    windows = Windows(size, strides, dilations, padding)
    sizes = input_sizes[1:-1]
    total = patches.new_zeros((patches.shape[0], *windows.padded(sizes), patches.shape[-1]))
    overlap_add(total, patches, windows)
    return total[:, *windows.inside(sizes)]


def _pool_window(x: Any, size: Any, strides: Any, padding: str) -> tuple[list[Any], list[int]]:
    """The size, strides and symmetric padding of a pool for torch, and how many windows too many that gives in front.

    torch pads both sides alike, but in its ceil mode a window may reach over the end.  That covers one element more of
    padding behind, unless the stride is 1; then both sides get the larger padding, and the first window is dropped.
    """
    windows = _windows(size, strides, (1,) * len(size), padding)
    pads = windows.pads(x.shape[2:])
    pad = [after if stride == 1 else before for (before, after), stride in zip(pads, windows.strides, strict=True)]
    return [windows.size, windows.strides, pad], [p - before for p, (before, _) in zip(pad, pads, strict=True)]


def _pool(kernel: Any, x: Any, size: Any, strides: Any, padding: str, data_format: str, *options: Any) -> Any:
    x = _first(x, data_format)
    window, extra = _pool_window(x, size, strides, padding)
    y = kernel[x.ndim - 2](x, *window, *options)
    y = y[0] if isinstance(y, tuple) else y
    return _restored(y[:, :, *(slice(n, None) for n in extra)], len(size), data_format)


def _pool_gradient(
    x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str
) -> tuple[Any, Any, list[Any]]:
    """`x` and `g` as torch's backward kernels take them, and the window."""
    x, g = _first(x, data_format), _first(g, data_format)
    window, extra = _pool_window(x, size, strides, padding)
    if any(extra):
        g = torch.nn.functional.pad(g, [n for count in reversed(extra) for n in (count, 0)])
    return x, g, window


@rules(*POOLS["MaxPool"])
def _(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    return _pool(_MAX_POOL, x, size, strides, padding, data_format, 1, padding == "same")


@rules(*(f"{name}Grad" for name in POOLS["MaxPool"]))
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    x, g, window = _pool_gradient(x, g, size, strides, padding, data_format)
    window += [1, padding == "same"]
    _, indices = _MAX_POOL[x.ndim - 2](x, *window)
    return _restored(_MAX_POOL_BACKWARD[x.ndim - 2](g, x, *window, indices), len(size), data_format)


@rules(*POOLS["AvgPool"])
def _(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    return _pool(_AVG_POOL, x, size, strides, padding, data_format, padding == "same", False)


@rules(*(f"{name}Grad" for name in POOLS["AvgPool"]))
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    x, g, window = _pool_gradient(x, g, size, strides, padding, data_format)
    gradient = _AVG_POOL_BACKWARD[x.ndim - 2](g, x, *window, padding == "same", False, None)
    return _restored(gradient, len(size), data_format)


# -- activation and normalization -------------------------------------------------------------------------------------


def _gradient_kernel(name: str, *last: Any) -> Rule:
    """An elementwise backward kernel of aten, whose output is called grad_input; `last` are its last arguments."""
    kernel = getattr(torch.ops.aten, name)

    def rule(*args: Any, out: Any = None) -> Any:
        return kernel.default(*args, *last) if out is None else kernel.grad_input(*args, *last, grad_input=out)

    return rule


_nn = torch._C._nn
_ACTIVATIONS: dict[str, Rule] = {
    "Relu": lambda x, **out: torch.clamp_min(x, 0, **out),
    "Relu6": lambda x, **out: torch.clamp(x, 0, 6, **out),
    "LeakyRelu": _nn.leaky_relu,
    "Elu": _nn.elu,
    "Softplus": lambda x, **out: _nn.softplus(x, 1, 40, **out),
    "Sigmoid": torch.sigmoid,
    "Silu": _nn.silu,
    "Gelu": _nn.gelu,
    "Softmax": torch.softmax,
    "LogSoftmax": torch.log_softmax,
    "ReluGrad": _gradient_kernel("threshold_backward", 0),
    "Relu6Grad": _gradient_kernel("hardtanh_backward", 0, 6),
    "LeakyReluGrad": lambda g, x, slope, **out: _leaky_relu_grad(g, x, slope, False, **out),
    "EluGrad": lambda g, x, alpha, **out: _elu_grad(g, alpha, 1, 1, False, x, **out),
    "SigmoidGrad": _gradient_kernel("sigmoid_backward"),
    "SiluGrad": _gradient_kernel("silu_backward"),
    "GeluGrad": _gradient_kernel("gelu_backward"),
}
_leaky_relu_grad = _gradient_kernel("leaky_relu_backward")
_elu_grad = _gradient_kernel("elu_backward")
rules.update(_ACTIVATIONS)
out_rules.update(_ACTIVATIONS)


@rules("SoftmaxGrad")
def _(g: Any, y: Any, axis: int) -> Any:
    return torch.ops.aten._softmax_backward_data.default(g, y, axis, y.dtype)


@rules("LogSoftmaxGrad")
def _(g: Any, y: Any, axis: int) -> Any:
    return torch.ops.aten._log_softmax_backward_data.default(g, y, axis, y.dtype)


@rules("BatchNormalization")
def _(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, axis: int, epsilon: float) -> Any:
    wide = torch.promote_types(x.dtype, torch.float32)
    factor = torch.rsqrt(variance.to(wide) + epsilon)
    factor = factor if scale is None else factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    return torch.addcmul(shift.view(shape), x.to(wide), factor.view(shape)).to(x.dtype)


def _layers(x: Any, axis: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """A view with the axes at the end, these axes, and their sizes: torch normalizes over the last axes only."""
    axes = normalize_axes(axis, x.ndim)
    return x.movedim(axes, tuple(range(-len(axes), 0))), axes, tuple(x.shape[a] for a in axes)


@rules("LayerNormalization")
def _(x: Any, gamma: Any, beta: Any, axis: Any, epsilon: float) -> Any:
    x, axes, sizes = _layers(x, axis)
    return torch.layer_norm(x, sizes, gamma, beta, epsilon).movedim(tuple(range(-len(axes), 0)), axes)


@rules("LayerNormalizationGrad")
def _(g: Any, x: Any, gamma: Any, axis: Any, epsilon: float) -> tuple[Any, Any]:
    x, axes, sizes = _layers(x, axis)
    g, _, _ = _layers(g, axis)
    weight = x.new_ones(sizes) if gamma is None else gamma
    _, center, factor = torch.native_layer_norm(x, sizes, weight, None, epsilon)
    backward = torch.ops.aten.native_layer_norm_backward.default
    dx, dgamma, _ = backward(g, x, sizes, center, factor, weight, None, [True, True, False])
    return dx.movedim(tuple(range(-len(axes), 0)), axes), dgamma


fresh += ("SoftmaxGrad", "LogSoftmaxGrad", "BatchNormalization", "LayerNormalization", "LayerNormalizationGrad")
fresh += ("OverlapAdd", *(name for names in CONVOLUTIONS.values() for name in names))
fresh += tuple(f"{name}{part}" for names in POOLS.values() for name in names for part in ("", "Grad"))


# -- linear algebra ---------------------------------------------------------------------------------------------------

HALVES = (torch.float16, torch.bfloat16)
_in_float32 = matrices.in_float32(torch.Tensor.to, HALVES, torch.float32)


WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
_for_floats: dict[
    str, Rule
] = {}  # quicker rules, which take `out=` too, for programs in which all arguments are floats


def _has_products(x: Any) -> bool:
    """Whether torch multiplies such matrices: not those of integers on CUDA, nor of the wider unsigned ones."""
    return x.is_floating_point() or x.is_complex() or not (x.is_cuda or x.dtype in WIDE_UNSIGNED)


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    x, y = x.mT if transpose_a else x, y.mT if transpose_b else y
    if _has_products(x):
        return torch.matmul(x, y, out=out)
    whole = torch.matmul(x.to("cpu", torch.int64), y.to("cpu", torch.int64)).to(x.device, x.dtype)
    return whole if out is None else out.copy_(whole)


out_rules["MatMul"] = rules["MatMul"]


def _float_matmul(x: Any, y: Any, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return torch.matmul(x.mT if transpose_a else x, y.mT if transpose_b else y, out=out)


_for_floats["MatMul"] = _float_matmul


@rules("FusedMatMul")
def _(bias: Any, x: Any, y: Any, transpose_a: bool, transpose_b: bool, **out: Any) -> Any:
    return torch.addmm(bias, x.mT if transpose_a else x, y.mT if transpose_b else y, **out)


@rules("AddScaled")
def _(x: Any, y: Any, scale: float, **out: Any) -> Any:
    return torch.add(x, y, alpha=scale, **out)


out_rules |= {name: rules[name] for name in ("FusedMatMul", "AddScaled")}


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    x = inputs[0]
    if _has_products(x):
        return torch.einsum(equation, *inputs)
    return torch.einsum(equation, *(t.to("cpu", torch.int64) for t in inputs)).to(x.device, x.dtype)


def _nan_where(failed: Any, result: Any) -> Any:
    return torch.where(failed[..., None, None], torch.nan, result)


@rules("MatrixSolve")
@_in_float32
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    rank = max(matrix.ndim, rhs.ndim)  # torch takes right-hand sides of lower rank for vectors
    matrix, rhs = (t.reshape((1,) * (rank - t.ndim) + t.shape) for t in (matrix.mH if adjoint else matrix, rhs))
    result, info = torch.linalg.solve_ex(matrix, rhs)
    return _nan_where(info != 0, result)


@rules("MatrixTriangularSolve")
@_in_float32
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    left = matrix.mH if adjoint else matrix
    result = torch.linalg.solve_triangular(left, rhs, upper=lower == adjoint)
    return _nan_where((matrix.diagonal(dim1=-2, dim2=-1) == 0).any(-1), result)


@rules("MatrixInverse")
@_in_float32
def _(x: Any) -> Any:
    result, info = torch.linalg.inv_ex(x)
    return _nan_where(info != 0, result)


@rules("Cholesky")
@_in_float32
def _(x: Any) -> Any:
    result, info = torch.linalg.cholesky_ex(x)
    return _nan_where(info != 0, result)


@rules("Lu")
@_in_float32
def _(x: Any) -> Any:
    lu, pivots, _ = torch.linalg.lu_factor_ex(x)
    return lu, pivots - 1  # LAPACK counts from 1


rules["MatrixDeterminant"] = _in_float32(torch.linalg.det)
rules["LogMatrixDeterminant"] = _in_float32(torch.linalg.slogdet)
rules["Qr"] = _in_float32(torch.linalg.qr)


def _finite(rule: Rule) -> Rule:
    """A rule for decompositions that torch refuses for matrices with NaN or infinity; theirs is all NaN."""

    @functools.wraps(rule)
    def compute(x: Any, *static: Any) -> Any:
        bad = ~torch.isfinite(x).all(-1).all(-1)
        results = rule(torch.where(bad[..., None, None], torch.zeros_like(x), x), *static)
        return [torch.where(bad.reshape(bad.shape + (1,) * (y.ndim - bad.ndim)), torch.nan, y) for y in results]

    return compute


@rules("SelfAdjointEigV2")
@_in_float32
@_finite
def _(x: Any, compute_v: bool) -> Any:
    if not compute_v:
        return [torch.linalg.eigvalsh(x)]
    w, v = torch.linalg.eigh(x)
    return w, v * matrices.phases(torch, v)


@rules("Eig")
@_in_float32
@_finite
def _(x: Any) -> Any:
    w, v = torch.linalg.eig(x)
    return w, v * matrices.phases(torch, v)


@rules("Svd")
@_in_float32
@_finite
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return [torch.linalg.svdvals(x)]
    return matrices.aligned(torch, *torch.linalg.svd(x, full_matrices))


# -- random numbers ---------------------------------------------------------------------------------------------------


@rules("StatelessRandomUniformFullInt")
def _(key: Any, shape: Any, counter: Any) -> Any:
    if not key.is_cuda:  # the processor is faster with blocks that stay in its cache
        return torch.from_numpy(threefry.on_host(key.numpy(), shape, None if counter is None else counter.numpy()))
    size = math.prod(shape)
    x0 = torch.arange((size + 1) // 2, dtype=torch.int32, device=key.device)
    x1 = torch.zeros_like(x0)
    if counter is not None:
        x0, x1 = x0 + counter[0], x1 + counter[1]
    return torch.cat(threefry.encrypt(key, x0, x1, signed=True))[:size].reshape(shape)


def _runs_backwards(value: Any) -> bool:
    try:
        return any(stride < 0 for stride in np.from_dlpack(value).strides)
    except (BufferError, RuntimeError):  # not NumPy's: another dtype or device
        return isinstance(value, np.ndarray) and any(stride < 0 for stride in value.strides)


class TorchEngine(Engine):
    """PyTorch, on the CPU or on the first CUDA device."""

    name = "torch"

    def version(self) -> str:
        return torch.__version__

    def devices(self) -> list[str]:
        gpus = [f"gpu:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
        return [*gpus, "cpu:0"]

    def device_of(self, value: Any) -> str:
        return f"gpu:{value.device.index or 0}" if value.is_cuda else "cpu:0"

    def owns_type(self, kind: type) -> bool:
        return issubclass(kind, torch.Tensor)

    def native_dtype(self, dtype: DType) -> Any:
        return getattr(torch, dtype)

    def asarray(self, value: Any, dtype: DType) -> Any:
        array = np.asarray(value, dtype.numpy)
        if array.dtype.kind == "V" or dtype == "bfloat16" or "float8" in dtype:  # torch does not read ml_dtypes' types
            bits = torch.from_numpy(np.array(array).reshape(-1).view(f"u{dtype.itemsize}"))
            return bits.view(getattr(torch, dtype)).reshape(array.shape)
        # A copy: torch would share the array's memory, and the array is its owner's to change.
        return torch.tensor(np.ascontiguousarray(array), dtype=getattr(torch, dtype)).reshape(array.shape)

    def to_numpy(self, value: Any) -> np.ndarray:
        value = value.detach().cpu()
        dtype = self.dtype(value)
        if dtype == "bfloat16" or "float8" in dtype:
            bits = value.contiguous().reshape(-1).view(torch.uint8).numpy()
            return bits.view(dtype.numpy).reshape(tuple(value.shape))
        return value.numpy()

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return torch.empty(shape, dtype=getattr(torch, dtype))

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def unstack(self, value: Any) -> Any:
        return value.unbind()

    def copy(self, value: Any) -> Any:
        return value.detach().clone()

    def from_dlpack(self, value: Any) -> Any:
        if _runs_backwards(value):  # torch would not raise an exception but end the process
            raise BufferError("torch has no negative strides.")
        return torch.from_dlpack(value)

    def rule_for(self, operation: Any, out: bool) -> Rule | None:
        quick = _for_floats.get(operation.type)
        if quick is not None and all(t.dtype.is_floating for t in operation.inputs):
            return quick
        return super().rule_for(operation, out)

    def compile(self, function: Callable[..., Any], donate: tuple[int, ...] = ()) -> Callable[..., Any]:
        return torch.no_grad()(function)

    def custom_gradient(self, function: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
        results, gradient = function(*args)
        return _WithGradient.apply(gradient, len(results), *results, *args)

    def recompute(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False)


class _WithGradient(torch.autograd.Function):
    """Gives results through, and sends the gradients that arrive at them to the arguments, by a function."""

    @staticmethod
    def forward(gradient: Callable[..., Any], count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        ctx.gradient, ctx.count = inputs[:2]
        ctx.mark_non_differentiable(*[t for t in output if not (t.is_floating_point() or t.is_complex())])

    @staticmethod
    def backward(ctx: Any, *arriving: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (None, None, *[None] * ctx.count, *ctx.gradient(*arriving))


engine = TorchEngine(rules, out_rules, (*fresh, *slices.COPIES))
# Torch cannot differentiate this kernel, but can what the op's body consists of.
engine.native.eager_rules = {name: rule for name, rule in engine.rules.items() if name != "SiluGrad"}
