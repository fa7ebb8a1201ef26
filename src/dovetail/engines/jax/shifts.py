"""Further rules of convolutions, pools and sums, which XLA computes by products of matrices and by elementwise ops.

XLA's own kernels for these are slow on CPUs.  A convolution takes twice the time of the product that it comes to.  The
gradient of a pool, which selects and scatters, takes fifteen times the time of comparisons.  The fastest rule depends
on the processor and on the shapes, so Dovetail measures the rules; see `choose/measurer.py`.

All rules see a window as its elements, each a shifted view of the input with strides: shift[i, j] is the element
(i, j) of every window.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows
from dovetail.engines.jax.tables import rules
from dovetail.engines.jax.windows import input_gradient, kernel_gradient

LARGEST = 64  # elements of a window: each of them is an operation of the program


def _is_known(tensor: Any) -> bool:
    """Whether the shape is known, and there are elements."""
    return tensor.shape is not None and None not in tensor.shape and 0 not in tensor.shape


def _is_small(sizes: Any) -> bool:
    return bool(np.prod(sizes) <= LARGEST)


def _shifts(x: Any, windows: Windows, fill: float = 0.0) -> Iterator[Any]:
    """Each element of a window, in order, for all windows: (batch, windows..., channels)."""
    sizes = x.shape[1:-1]
    counts = windows.count(sizes)
    x = jnp.pad(x, [(0, 0), *windows.pads(sizes), (0, 0)], constant_values=np.asarray(fill, x.dtype))
    for at in itertools.product(*map(range, windows.size)):
        starts = [i * d for i, d in zip(at, windows.dilations, strict=True)]
        limits = [s + (n - 1) * t + 1 for s, n, t in zip(starts, counts, windows.strides, strict=True)]
        begin, end = (0, *starts, 0), (x.shape[0], *limits, x.shape[-1])
        yield lax.slice(x, begin, end, (1, *windows.strides, 1))


# -- convolution as products ------------------------------------------------------------------------------------------


def _channels(operation: Any) -> tuple[int, int] | None:
    """The channels of a convolution's input and kernel; None if channels are not last, or windows are large."""
    first, last, (result,) = operation.inputs[0], operation.inputs[-1], operation.outputs
    part = operation.type.partition("D")[2]
    x, kernel = {"": (first, last), "BackpropInput": (result, operation.inputs[-2]), "BackpropFilter": (first, result)}[
        part
    ]
    if not (_is_known(x) and _is_known(kernel)) or operation.attrs["data_format"] != "channels_last":
        return None
    return (x.shape[-1], kernel.shape[-2]) if _is_small(kernel.shape[:-2]) else None


def _is_whole(operation: Any) -> bool:
    """Whether all channels are in one group."""
    channels = _channels(operation)
    return channels is not None and channels[0] == channels[1]


def _is_whole_or_depthwise(operation: Any) -> bool:
    """Whether all channels are in one group, or each channel is a group."""
    channels = _channels(operation)
    return channels is not None and channels[1] in (1, channels[0])


def _as_patches(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    """The convolution as one product, with all windows as rows."""
    *size, _, channels = kernel.shape
    patches = jnp.concatenate(list(_shifts(x, Windows(tuple(size), strides, dilations, padding))), -1)
    return _product(patches, kernel.reshape(-1, channels))


def _as_shifted(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    """The sum of a product for each element of the window: of matrices or, if each channel is a group, of numbers."""
    *size, inner, channels = kernel.shape
    shifts = _shifts(x, Windows(tuple(size), strides, dilations, padding))
    by = _product if inner == x.shape[-1] else _scaled
    return sum(map(by, shifts, kernel.reshape(-1, inner, channels)))


def _product(x: Any, matrix: Any) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ matrix).reshape(*x.shape[:-1], matrix.shape[-1])


def _scaled(x: Any, factors: Any) -> Any:
    return jnp.repeat(x, factors.shape[-1] // x.shape[-1], -1) * factors[0]


for _variant, _rule, _fits in (
    ("patches", _as_patches, _is_whole),
    ("shifted", _as_shifted, _is_whole_or_depthwise),
):
    rules.alternative(_variant, *CONVOLUTIONS[""], when=_fits)(_rule)
    rules.alternative(_variant, *CONVOLUTIONS["BackpropInput"], when=_fits)(input_gradient(_rule))
    rules.alternative(_variant, *CONVOLUTIONS["BackpropFilter"], when=_fits)(kernel_gradient(_rule))


# -- pools by comparison ----------------------------------------------------------------------------------------------


def _fits_comparison(operation: Any) -> bool:
    x, attrs = operation.inputs[0], operation.attrs
    return _is_known(x) and attrs["data_format"] == "channels_last" and _is_small(attrs["size"])


def _pool_windows(size: Any, strides: Any, padding: Any) -> Windows:
    return Windows(tuple(size), tuple(strides), (1,) * len(size), padding)


@rules.alternative("comparison", *POOLS["MaxPool"], when=_fits_comparison)
def _max_pool(x: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    largest, *others = _shifts(x, _pool_windows(size, strides, padding), -np.inf)
    for shift in others:
        largest = jnp.maximum(largest, shift)
    return largest


@rules.alternative("comparison", *(f"{name}Grad" for name in POOLS["MaxPool"]), when=_fits_comparison)
def _(x: Any, g: Any, size: Any, strides: Any, padding: str, data_format: str) -> Any:
    windows = _pool_windows(size, strides, padding)
    largest = _max_pool(x, size, strides, padding, data_format)
    is_found = jnp.zeros(largest.shape, bool)
    parts = []
    for shift in _shifts(x, windows, -np.inf):  # the gradient goes to the first of equals
        is_first = (shift == largest) & ~is_found
        is_found |= is_first
        parts.append(jnp.where(is_first, g, 0))
    back = jax.linear_transpose(lambda x: list(_shifts(x, windows)), jax.ShapeDtypeStruct(x.shape, x.dtype))
    return back(parts)[0]


# -- sums of columns as products --------------------------------------------------------------------------------------


def _sums_columns(operation: Any) -> bool:
    """Whether floats are summed over all axes but the last one."""
    x, axis = operation.inputs[0], operation.attrs["axis"]
    if not _is_known(x) or len(x.shape) < 2 or x.dtype not in ("float32", "float64"):
        return False
    axes = range(len(x.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    return sorted(a % len(x.shape) for a in axes) == list(range(len(x.shape) - 1))


def _column_sum(x: Any, axis: Any, keepdims: bool) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    total = jnp.ones(rows.shape[0], x.dtype) @ rows
    return total.reshape((1,) * (x.ndim - 1) + total.shape) if keepdims else total


@rules.alternative("columns", "Mean", when=_sums_columns)
def _(x: Any, axis: Any, keepdims: bool) -> Any:
    return _column_sum(x, axis, keepdims) / np.asarray(x.size // x.shape[-1], x.dtype)


rules.alternative("columns", "Sum", when=_sums_columns)(_column_sum)
