"""Images: resized, sampled at points of a grid, put together from columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.constants import recorded
from dovetail.formats.onnx.bodies.windows import enlarged
from dovetail.formats.onnx.rows import row
from dovetail.formats.opaque import Unreadable
from dovetail.ops.shapes.shape import dims_of

# -- resizing ---------------------------------------------------------------------------------------------------------

Array = np.ndarray
Kernel = Callable[[Array], Array]
NEAREST: dict[str, Kernel] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _positions(mode: str, count: int, size: int, scale: float, roi: tuple[float, float]) -> Array:
    """The positions in the input of the elements of a result along an axis."""
    y = np.arange(count)
    length = scale * size
    if mode == "align_corners":
        return y * (size - 1) / (length - 1) if length != 1 else np.zeros(count)
    if mode == "asymmetric":
        return y / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        steps = y / (length - 1) if length != 1 else np.full(count, 0.5)
        return steps * (end - start) * (size - 1) + start * (size - 1) * (length != 1)
    if mode == "pytorch_half_pixel" and length == 1:
        return np.full(count, -0.5)
    if mode not in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise Unreadable(f"its coordinate_transformation_mode is {mode!r}")
    offset = size / 2 * (1 - count / length) if mode == "half_pixel_symmetric" else 0
    return offset + (y + 0.5) / scale - 0.5


def _weights(x: Array, size: int, kernel: Kernel, reach: int, scale: float, excludes: bool, smooths: bool) -> Array:
    """A matrix that gives the elements at some positions along an axis as sums of its elements."""
    scale = min(scale, 1) if smooths else 1
    far = math.ceil(reach / scale)
    first = np.floor(x).astype(int)
    at = first[:, None] + np.arange(1 - far, far + 1)
    shares = kernel(np.abs(at - x[:, None]) * scale)
    if smooths:
        shares = shares / shares.sum(1, keepdims=True)
    if excludes:
        shares = shares * ((at >= 0) & (at < size))
        shares = shares / shares.sum(1, keepdims=True)
    found = np.zeros((len(x), size))
    np.add.at(found, (np.arange(len(x))[:, None], at.clip(0, size - 1)), shares)
    return found


def _linear(t: Array) -> Array:
    return np.maximum(1 - t, 0)


def _cubic(a: float) -> Kernel:
    def kernel(t: Array) -> Array:
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((t - 5) * t + 8) * t * a - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0))

    return kernel


@row(
    "Resize 10-10: x scales!; mode",
    "Resize 11: x roi! scales! sizes!; antialias axes coordinate_transformation_mode:positions|half_pixel"
    " cubic_coeff_a:a exclude_outside:excludes extrapolation_value:outside keep_aspect_ratio_policy:policy mode"
    " nearest_mode:nearest|round_prefer_floor",
    "Upsample 7-8: x; scales mode",
    "Upsample 9-9: x scales!; mode",
)
def _(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    antialias: int = 0,
    axes: Any = None,
    positions: str = "",
    a: float = -0.75,
    excludes: int = 0,
    outside: float = 0.0,
    policy: str = "stretch",
    mode: str = "nearest",
    nearest: str = "",
) -> Any:
    """One axis after the other; versions before 11 say no positions, which then are asymmetric."""
    axes = [axis % len(x.shape) for axis in axes] if axes else [*range(len(x.shape))]
    known = [x.shape[axis] for axis in axes]
    if any(size is None and (not scales or scales[i] != 1) for i, size in enumerate(known)):
        raise Unreadable("the sizes of its input must be known")
    if sizes:
        scales = [size / one for size, one in zip(sizes, known, strict=True)]
        if policy != "stretch":
            scales = [(min if policy == "not_larger" else max)(scales)] * len(axes)
            sizes = [int(scales[0] * one + 0.5) for one in known]
    else:
        sizes = [one and int(scale * one) for scale, one in zip(scales, known, strict=True)]
    dtype = x.dtype
    kernel, reach = (_cubic(a), 2) if mode == "cubic" else (_linear, 1)
    for i, axis in enumerate(axes):
        size, count, scale = known[i], sizes[i], scales[i]
        part = (roi[i], roi[i + len(axes)]) if roi else (0.0, 1.0)
        if scale == 1 and size == count and part == (0.0, 1.0):
            continue
        at = _positions(positions or "asymmetric", count, size, scale, part)
        if mode == "nearest":
            found = NEAREST[nearest or "floor"](at).clip(0, size - 1)
            x = OPS["GatherV2"](x, recorded(found, "int32"), axis)
        else:
            matrix = _weights(at, size, kernel, reach, scale, bool(excludes), bool(antialias))
            wide = x if x.dtype.is_floating else ops.cast(x, "float32")
            x = ops.moveaxis(ops.matmul(ops.moveaxis(wide, axis, -1), recorded(matrix.T, wide.dtype)), -1, axis)
        if positions == "tf_crop_and_resize":
            is_outside = ((at < 0) | (at > size - 1)).reshape([-1, *[1] * (len(x.shape) - 1 - axis)])
            x = ops.where(recorded(is_outside, "bool"), ops.cast(outside, x.dtype), x)
    return x if x.dtype == dtype else ops.cast(ops.clip(ops.rint(x), dtype.min, dtype.max), dtype)


# -- grids ------------------------------------------------------------------------------------------------------------


def reflected(x: Any, low: float, high: float) -> Any:
    """Numbers that are mirrored at two borders until they are between them."""
    reach = high - low
    if reach <= 0:
        return ops.zeros_like(x)
    rest = OPS["FloorMod"](x - low, ops.cast(2 * reach, x.dtype))
    return low + ops.minimum(rest, 2 * reach - rest)


def elements_at(x: Any, places: Sequence[Any], padding: str, borders: Sequence[tuple[float, float]]) -> Any:
    """Elements (batch, channels, points) at positions, a tensor (batch, points) of whole numbers for each axis."""
    sizes = list(x.shape[2:])
    if None in sizes:
        raise Unreadable("the sizes of its input must be known")
    inside, flat = None, 0
    for at, size, border in zip(places, sizes, borders, strict=True):
        if padding == "reflection":
            at = reflected(at, *border)
        elif padding == "zeros":
            one = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, size))
            inside = one if inside is None else ops.logical_and(inside, one)
        flat = flat * size + ops.cast(ops.clip(at, 0, size - 1), "int32")
    batch, channels = dims_of(x)[:2]
    points = dims_of(flat)[1]
    index = ops.broadcast_to(ops.expand_dims(flat, 1), [batch, channels, points])
    found = OPS["TakeAlongAxis"](ops.reshape(x, [batch, channels, -1]), index, 2)
    return found if inside is None else found * ops.cast(ops.expand_dims(inside, 1), x.dtype)


def _shares(mode: str, part: Any) -> list[tuple[int, Any]]:
    """Neighbours of a position, by their distance from the one before it, with the share of each."""
    if mode == "linear":
        return [(0, 1 - part), (1, part)]
    a = -0.75

    def near(t: Any) -> Any:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Any) -> Any:
        return ((t - 5) * t + 8) * t * a - 4 * a

    return [(-1, far(part + 1)), (0, near(part)), (1, near(1 - part)), (2, far(2 - part))]


@row("GridSample: x grid; align_corners:aligned mode padding_mode:padding")
def _(x: Any, grid: Any, aligned: int = 0, mode: str = "linear", padding: str = "zeros") -> Any:
    """Elements between those of an image; the last axis of the grid has the positions of the axes backwards."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    sizes, rank = list(x.shape[2:]), len(x.shape) - 2
    if None in sizes:
        raise Unreadable("the sizes of its input must be known")
    dims = dims_of(grid)
    points = ops.reshape(grid, [dims[0], -1, rank])
    borders = [(0.0, size - 1.0) if aligned else (-0.5, size - 0.5) for size in sizes]
    places, parts = [], []
    for i, size in enumerate(sizes):
        at = points[..., rank - 1 - i]
        at = (at + 1) / 2 * (size - 1) if aligned else ((at + 1) * size - 1) / 2
        at = ops.rint(at) if mode == "nearest" else at
        if padding == "border":
            at = ops.clip(at, 0, size - 1)
        elif padding == "reflection":
            at = reflected(at, *borders[i])
        places.append(at if mode == "nearest" else ops.floor(at))
        parts.append(at)
    if mode == "nearest":
        found = elements_at(x, places, padding, borders)
    else:
        shares = [_shares(mode, at - place) for at, place in zip(parts, places, strict=True)]
        found = 0
        for corner in itertools.product(*shares):
            share: Any = 1
            for _, one in corner:
                share = share * one
            moved = [place + step for place, (step, _) in zip(places, corner, strict=True)]
            found = found + elements_at(x, moved, padding, borders) * ops.expand_dims(share, 1)
    return ops.cast(ops.reshape(found, [*dims_of(x)[:2], *dims[1:-1]]), x.dtype)


@row("AffineGrid: theta size!; align_corners:aligned")
def _(theta: Any, size: Sequence[int], aligned: int = 0) -> Any:
    """The positions of an image of a size, in the image that an affine map takes it from."""
    axes = []
    for count in size[2:]:
        axes.append(np.linspace(-1, 1, count) if aligned else (np.arange(count) * 2 + 1) / count - 1)
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*reversed(grid), np.ones(size[2:])], -1).reshape(-1, len(axes) + 1)
    found = ops.matmul(recorded(points, theta.dtype), ops.swapaxes(theta, 1, 2))
    return ops.reshape(found, [size[0], *size[2:], len(axes)])


# -- columns ----------------------------------------------------------------------------------------------------------


@row("Col2Im: x image! block!; dilations pads strides")
def _(
    x: Any, image: Sequence[int], block: Sequence[int], dilations: Any = None, pads: Any = None, strides: Any = None
) -> Any:
    """An image from its windows, which are added where they overlap."""
    rank, size = len(block), math.prod(block)
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    whole = [image[i] + pads[i] + pads[i + rank] for i in range(rank)]
    counts = [(whole[i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    batch, columns = dims_of(x)[:2]
    channels = columns // size
    windows = ops.reshape(x, [batch * channels, size, *counts])
    kernel = recorded(np.eye(size).reshape([size, 1, *block]), x.dtype)
    exact = [(counts[i] - 1) * strides[i] + (block[i] - 1) * dilations[i] + 1 for i in range(rank)]
    found = enlarged(windows, kernel, strides, dilations, exact)
    found = ops.pad(found, [(0, 0), (0, 0), *((0, w - e) for w, e in zip(whole, exact, strict=True))])
    item = (slice(None), slice(None), *(slice(pads[i], pads[i] + image[i]) for i in range(rank)))
    return ops.reshape(found[item], [batch, channels, *image])


@row("MaxUnpool: x at shape!; kernel_shape:size strides pads")
def _(x: Any, at: Any, shape: Any = None, size: Any = (), strides: Any = None, pads: Any = None) -> Any:
    """Elements at their places in the flat result, zeros elsewhere."""
    rank = len(size)
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    dims = dims_of(x)
    sizes = [(dims[2 + i] - 1) * strides[i] + size[i] - pads[i] - pads[i + rank] for i in range(rank)]
    count = math.prod([*dims[:2], *sizes])
    flat = ops.tensor_scatter_update(
        ops.zeros([count], x.dtype), ops.reshape(ops.cast(at, "int32"), [-1, 1]), ops.reshape(x, [-1])
    )
    found = ops.reshape(flat, [*dims[:2], *sizes])
    if shape is None:
        return found
    return ops.pad(found, [(0, 0), (0, 0), *((0, wanted - own) for wanted, own in zip(shape[2:], sizes, strict=True))])
