"""Rules of convolutions, sliding windows and pooling, and of their gradients.

A channels-last tensor with its axes permuted to torch's order has torch's channels_last memory format, so oneDNN and
cuDNN take and give it without copies.  The rules compute one spatial axis as two, for which the format exists.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from dovetail.core.base.optional_api import optional_api
from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows, over_two_axes, overlap_add
from dovetail.core.rules import EAGER, PROGRAM, Rule
from dovetail.engines.torch.tables import rules, with_kernel

rules.fresh |= {name for names in CONVOLUTIONS.values() for name in names}
rules.fresh |= {
    "FusedConv",
    "OverlapAdd",
    *(f"{name}{part}" for names in POOLS.values() for name in names for part in ("", "Grad")),
}


# -- convolution ------------------------------------------------------------------------------------------------------


def _by_autograd(g: Any, x: Any, kernel: Any, bias: Any, *settings: Any) -> Any:
    """The results of torch's kernel for gradients of convolutions, by public functions."""
    *options, _ = settings
    recorded = torch.is_grad_enabled()
    leaves = [t if recorded and t.requires_grad else t.detach().requires_grad_() for t in (x, kernel)]
    with torch.enable_grad():
        y = torch.convolution(*leaves, bias, *options)
    return torch.autograd.grad(y, leaves, g, create_graph=recorded)


_convolution_backward = optional_api(torch, "ops.aten.convolution_backward.default") or _by_autograd


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


def _padded(x: Any, pads: Any, fill: float = 0.0) -> tuple[Any, list[int]]:
    """The tensor with asymmetric padding, which torch does not have, and the padding that is left to torch."""
    if all(before == after for before, after in pads):
        return x, [before for before, _ in pads]
    return torch.nn.functional.pad(x, [n for pair in reversed(pads) for n in pair], value=fill), [0] * len(pads)


def _nothing(x: Any, channels: int, windows: Windows) -> Any:
    """The result of convolutions and pools without windows, which torch's kernels refuse."""
    return x.new_zeros((x.shape[0], channels, *windows.count(x.shape[2:])))


def _conv_gradients(x: Any, kernel: Any, g: Any, windows: Windows, pad: Any, mask: list[bool]) -> Any:
    none = [0] * len(pad)
    groups = x.shape[1] // kernel.shape[1]
    return _convolution_backward(
        g, x, kernel, None, windows.strides, pad, windows.dilations, False, none, groups, [*mask, False]
    )


def _convolved(x: Any, kernel: Any, bias: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(kernel.shape[:-2], strides, dilations, padding)
    x, kernel = _first(x, data_format), _kernel_first(kernel)
    if 0 in x.shape[2:]:
        nothing = _nothing(x, kernel.shape[0], windows)
        nothing = nothing if bias is None else nothing + bias.view(-1, *[1] * len(windows.size))
        return _restored(nothing, len(strides), data_format)
    x, pad = _padded(x, windows.pads(x.shape[2:]))
    groups = x.shape[1] // kernel.shape[1]
    y = torch.convolution(x, kernel, bias, windows.strides, pad, windows.dilations, False, [0] * len(pad), groups)
    return _restored(y, len(strides), data_format)


@rules(*CONVOLUTIONS[""])
def _(x: Any, kernel: Any, *window: Any) -> Any:
    return _convolved(x, kernel, None, *window)


_IN_PLACE: dict[str, Rule] = {
    "": lambda y: y,
    "Relu": torch.relu_,
    "Relu6": lambda y: y.clamp_(0, 6),
    "Sigmoid": torch.sigmoid_,
    "Silu": partial(torch.nn.functional.silu, inplace=True),
    "Tanh": torch.tanh_,
}


# The addend and the activation are written over the result.  oneDNN could compute them along with the convolution, but
# its relu makes 0 of NaN.  It takes longer if a tensor is added, and hardly less for other activations.
@rules("FusedConv", layers=(EAGER, PROGRAM))
def _(x: Any, kernel: Any, bias: Any, addend: Any, *options: Any) -> Any:
    *window, activation = options
    y = _convolved(x, kernel, bias, *window)
    if addend is not None:
        y = y.add_(addend) if addend.shape == y.shape else y + addend  # may broadcast, if shapes were not known
    return _IN_PLACE[activation](y)


@rules(*CONVOLUTIONS["BackpropInput"])
def _(input_sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(kernel.shape[:-2], strides, dilations, padding)
    x = _first(g.new_empty(input_sizes), data_format)  # only its shape and memory format are used
    sizes = x.shape[2:]
    if 0 in sizes:
        return g.new_zeros(input_sizes)
    x, pad = _padded(x, windows.pads(sizes))
    dx = _conv_gradients(x, _kernel_first(kernel), _first(g, data_format), windows, pad, [True, False])[0]
    if dx.shape[2:] != sizes:
        dx = dx[:, :, *windows.inside(sizes)]
    return _restored(dx, len(strides), data_format)


@rules(*CONVOLUTIONS["BackpropFilter"])
def _(x: Any, filter_sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    windows = over_two_axes(filter_sizes[:-2], strides, dilations, padding)
    x = _first(x, data_format)
    if 0 in x.shape[2:]:
        return g.new_zeros(filter_sizes)
    x, pad = _padded(x, windows.pads(x.shape[2:]))
    # Only its shape is used, but not every kernel of torch writes a gradient to strided memory.
    kernel = g.new_empty(_kernel_first(g.new_empty(filter_sizes)).shape)
    dk = _conv_gradients(x, kernel, _first(g, data_format), windows, pad, [False, True])[1]
    return dk.permute(*range(2, dk.ndim), 1, 0).reshape(filter_sizes)


def _benchmarked(rule: Rule) -> Rule:
    """The rule with a measurement of cuDNN's algorithms at its first call for some shapes."""

    def measured(*args: Any) -> Any:
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True
        try:
            return rule(*args)
        finally:
            torch.backends.cudnn.benchmark = before

    return measured


for _name in (*(name for names in CONVOLUTIONS.values() for name in names), "FusedConv"):
    rules.alternative("benchmark", _name)(_benchmarked(rules[_name]))


# -- windows and pooling ----------------------------------------------------------------------------------------------

_MAX_POOL = {rank: optional_api(torch, f"_C._nn.max_pool{rank}d_with_indices") for rank in (2, 3)}
_AVG_POOL = {2: optional_api(torch, "_C._nn.avg_pool2d")}
_MAX_POOL_BACKWARD = {
    rank: optional_api(torch, f"ops.aten.max_pool{rank}d_with_indices_backward.default") for rank in (2, 3)
}
_AVG_POOL_BACKWARD = optional_api(torch, "ops.aten.avg_pool2d_backward.default")
_AVG_POOL3D_BACKWARD = optional_api(torch, "ops.aten.avg_pool3d_backward.default")
_HAS_MAX_POOL = None not in (*_MAX_POOL.values(), *_MAX_POOL_BACKWARD.values())


@rules("SlidingWindows")
def _(x: Any, size: Any, strides: Any, dilations: Any, padding: Any, fill: float) -> Any:
    windows = Windows(size, strides, dilations, padding)
    counts = windows.count(x.shape[1:-1])
    if 0 in counts:
        return x.new_zeros((x.shape[0], *counts, *size, x.shape[-1]))
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
    """The size, strides and symmetric padding of a pool for torch, and the number of surplus windows in front.

    torch pads both sides alike, but in its ceil mode a window may reach over the end.  That covers one element more of
    padding behind, unless the stride is 1.  Then both sides get the larger padding, and the pool drops the first
    window.
    """
    windows = over_two_axes(size, strides, (1,) * len(size), padding)
    pads = windows.pads(x.shape[2:])
    pad = [after if stride == 1 else before for (before, after), stride in zip(pads, windows.strides, strict=True)]
    return [windows.size, windows.strides, pad], [p - before for p, (before, _) in zip(pad, pads, strict=True)]


def _pool(kernel: Any, x: Any, size: Any, strides: Any, padding: str, data_format: str, *options: Any) -> Any:
    x = _first(x, data_format)
    if 0 in x.shape[2:]:
        windows = over_two_axes(size, strides, (1,) * len(size), padding)
        return _restored(_nothing(x, x.shape[1], windows), len(size), data_format)
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


@with_kernel(_HAS_MAX_POOL, *POOLS["MaxPool"])
def _(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    return _pool(_MAX_POOL, x, size, strides, padding, data_format, 1, padding == "same")


@with_kernel(_HAS_MAX_POOL, *(f"{name}Grad" for name in POOLS["MaxPool"]))
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    if x.numel() == 0:
        return torch.zeros_like(x)
    x, g, window = _pool_gradient(x, g, size, strides, padding, data_format)
    window += [1, padding == "same"]
    _, indices = _MAX_POOL[x.ndim - 2](x, *window)
    return _restored(_MAX_POOL_BACKWARD[x.ndim - 2](g, x, *window, indices), len(size), data_format)


@with_kernel(_AVG_POOL[2], *POOLS["AvgPool"][:2])
def _(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    return _pool(_AVG_POOL, x, size, strides, padding, data_format, padding == "same", False)


@with_kernel(_AVG_POOL_BACKWARD, *(f"{name}Grad" for name in POOLS["AvgPool"][:2]))
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    if x.numel() == 0:
        return torch.zeros_like(x)
    x, g, window = _pool_gradient(x, g, size, strides, padding, data_format)
    return _restored(_AVG_POOL_BACKWARD(g, x, *window, padding == "same", False, None), len(size), data_format)


# torch's own means over volumes take no window larger than the volume, though padding makes room for it.
# So these rules sum over the volume with its padding.


def _volumes(x: Any, windows: Windows, data_format: str) -> Any:
    x = _first(x, data_format)
    return torch.nn.functional.pad(x, [n for pair in reversed(windows.pads(x.shape[2:])) for n in pair])


def _counts(x: Any, windows: Windows, data_format: str) -> Any:
    """The number of elements of each window that are not padding."""
    return _sums(_volumes(torch.ones_like(x[:1]), windows, data_format)[:, :1], windows)


def _sums(volumes: Any, windows: Windows) -> Any:
    return torch.nn.functional.avg_pool3d(volumes, windows.size, windows.strides, divisor_override=1)


@rules("AvgPool3D")
def _(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    windows = Windows(size, strides, (1, 1, 1), padding)
    if x.numel() == 0:
        first = _first(x, data_format)
        return _restored(_nothing(first, first.shape[1], windows), 3, data_format)
    means = _sums(_volumes(x, windows, data_format), windows) / _counts(x, windows, data_format)
    return _restored(means, 3, data_format)


@with_kernel(_AVG_POOL3D_BACKWARD, "AvgPool3DGrad")
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    if x.numel() == 0:
        return torch.zeros_like(x)
    windows = Windows(size, strides, (1, 1, 1), padding)
    shares = _first(g, data_format) / _counts(x, windows, data_format)
    volumes = _volumes(x, windows, data_format)
    spread = _AVG_POOL3D_BACKWARD(shares, volumes, size, strides, (0, 0, 0), False, True, 1)
    inside = windows.inside(_first(x, data_format).shape[2:])
    return _restored(spread[:, :, *inside], 3, data_format)
