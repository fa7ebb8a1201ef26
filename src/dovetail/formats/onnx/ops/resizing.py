"""Images in other sizes, of whose elements each is one of the input, or a sum of some: Resize, Upsample."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import is_tensor, within
from dovetail.formats.nodes.opaque import Unreadable, Words
from dovetail.formats.nodes.waiting import wait_for
from dovetail.formats.onnx.sizes import computing, held, less, more, numbers
from dovetail.formats.onnx.table import row, writes
from dovetail.formats.onnx.windows import channels_first, given_back
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.ops.image.kernels import Kernel, cubic, triangle
from dovetail.ops.shapes.shape import dims_of, rank_of

# -- reading ----------------------------------------------------------------------------------------------------------

# Positions and weights are computed by NumPy, or by ops of the same names if they depend on values.
NEAREST: Mapping[str, Callable[[Any, Any], Any]] = Words(
    {  # (NumPy or ops, positions) → whole positions
        "round_prefer_floor": lambda xp, x: xp.ceil(x - 0.5),
        "round_prefer_ceil": lambda xp, x: xp.floor(x + 0.5),
        "floor": lambda xp, x: xp.floor(x),
        "ceil": lambda xp, x: xp.ceil(x),
    }
)


def _positions(xp: Any, mode: str, size: Any, length: Any, scale: Any, roi: Sequence[Any]) -> Any:
    """The positions along an axis of a size of the elements of a result, whose size is the length rounded down."""
    count = _whole(length)
    within(count)
    y = xp.arange(count, dtype="float32")
    if mode == "align_corners":
        return y * (size - 1) / xp.maximum(length - 1, 1)
    if mode == "asymmetric":
        return y / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        share = xp.where(xp.equal(length, 1), 0.5, y / xp.maximum(length - 1, 1))
        return (start + share * (end - start)) * (size - 1)
    offset = size / 2 * (1 - xp.floor(length) / length) if mode == "half_pixel_symmetric" else 0
    positions = offset + (y + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return xp.where(xp.equal(length, 1), 0.0, positions)
    if mode not in ("half_pixel", "half_pixel_symmetric"):
        raise Unreadable(f"its coordinate_transformation_mode is {mode!r}")
    return positions


def _weights(xp: Any, x: Any, size: Any, kernel: Kernel, reach: int, scale: Any, excludes: bool, smooths: bool) -> Any:
    """The elements at some positions along an axis as sums of its elements.

    Returns:
        A matrix if it smooths; else the places of the few elements of each sum, and their shares, so that others do
        not count, even if they are NaN.
    """
    scale = xp.minimum(scale, 1) if smooths else 1
    far = _whole(xp.ceil(reach / scale))
    if xp is np:
        within(len(x), max(size, 2 * far))
    first = xp.floor(x)
    at = first[:, None] + xp.arange(1 - far, far + 1, dtype="float32")
    shares = kernel(xp, abs(at - x[:, None]) * scale)
    if smooths:
        shares = shares / xp.sum(shares, 1, keepdims=True)
    if excludes:
        shares = xp.where(xp.logical_and(xp.greater_equal(at, 0), xp.less(at, size)), shares, 0)
        shares = shares / xp.sum(shares, 1, keepdims=True)
    at = xp.clip(at, 0, size - 1)
    if not smooths:
        return at, shares
    if xp is ops:
        is_there = ops.equal(at[..., None], ops.arange(_whole(size), dtype="float32"))
        return ops.sum(ops.where(is_there, shares[..., None], 0), 1)
    weights = np.zeros((len(x), size))
    np.add.at(weights, (np.arange(len(x))[:, None], at.astype(int)), shares)
    return weights


def _whole(value: Any) -> Any:
    return ops.cast(value, "int32") if is_tensor(value) else int(value)


def _each(values: Any) -> list[Any]:
    """The numbers of an input marked `?`, in float32 where they are not known."""
    return [] if values is None else numbers(values, "float32")


@row(
    "Resize 10-10: x scales?; mode",
    "Resize 11: x roi? scales? sizes?; antialias axes coordinate_transformation_mode:positions|half_pixel"
    " cubic_coeff_a:a exclude_outside:excludes extrapolation_value:outside keep_aspect_ratio_policy:policy mode"
    " nearest_mode:nearest|round_prefer_floor",
    "Upsample 7-8: x; scales mode",
    "Upsample 9-9: x scales?; mode",
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
    roi, scales, sizes = _each(roi), _each(scales), _each(sizes)
    axes = [axis % rank_of(x) for axis in axes] if axes else [*range(rank_of(x))]
    if len(sizes or scales) != len(axes) or (roi and len(roi) != 2 * len(axes)):
        raise Unreadable(f"it has {len(sizes or scales)} sizes or scales, and resizes {len(axes)} axes")
    known = [dims_of(x)[axis] for axis in axes]
    if any(is_tensor(n) and (not scales or is_tensor(scales[i]) or scales[i] != 1) for i, n in enumerate(known)):
        wait_for("the sizes of its input must be known")
    known = [ops.cast(size, "float32") if is_tensor(size) else size for size in known]
    if sizes:
        scales = [size / one if is_tensor(one) or one else 1.0 for size, one in zip(sizes, known, strict=True)]
        if policy != "stretch":
            scales = [functools.reduce(less if policy == "not_larger" else more, scales)] * len(axes)
            sizes = [computing(scales[0]).floor(scales[0] * one + 0.5) for one in known]
    lengths = sizes or [scale * one for scale, one in zip(scales, known, strict=True)]
    dtype = x.dtype
    kernel, reach = (cubic(-a), 2) if mode == "cubic" else (triangle, 1)
    for i, axis in enumerate(axes):
        size, length, scale = known[i], lengths[i], scales[i]
        part = [roi[i], roi[i + len(axes)]] if roi else [0.0, 1.0]
        xp = computing(length, scale, size, *part)
        if computing(scale, *part) is np and [scale, *part] == [1, 0.0, 1.0]:
            continue
        at = _positions(xp, positions or "asymmetric", size, length, scale, part)
        if mode == "nearest":
            nearest_places = xp.clip(NEAREST[nearest or "floor"](xp, at), 0, size - 1)
            x = OPS["GatherV2"](x, held(nearest_places, "int32"), axis)
        else:
            weights = _weights(xp, at, size, kernel, reach, scale, bool(excludes), bool(antialias))
            wide = x if x.dtype.is_floating else ops.cast(x, "float32")
            if antialias:
                turned = held(xp.transpose(weights), wide.dtype)
                x = ops.moveaxis(ops.matmul(ops.moveaxis(wide, axis, -1), turned), -1, axis)
            else:
                shape = [-1, *[1] * (rank_of(x) - 1 - axis)]
                x = sum(
                    OPS["GatherV2"](wide, held(weights[0][:, k], "int32"), axis)
                    * held(xp.reshape(weights[1][:, k], shape), wide.dtype)
                    for k in range(2 * reach)
                )
        if positions == "tf_crop_and_resize":
            is_outside = xp.logical_or(xp.less(at, 0), xp.greater(at, size - 1))
            is_outside = xp.reshape(is_outside, [-1, *[1] * (rank_of(x) - 1 - axis)])
            x = ops.where(held(is_outside, "bool"), ops.cast(outside, x.dtype), x)
    return x if x.dtype == dtype else ops.cast(ops.clip(ops.rint(x), dtype.min, dtype.max), dtype)


# -- writing ----------------------------------------------------------------------------------------------------------

RESIZED = {
    "ResizeNearestNeighbor": {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    "ResizeBilinear": {"mode": "linear"},
}


@writes(" ".join(RESIZED), lambda operation: operation.inputs[0].dtype.name == "float32")
def _resize(place: Place, x: Ref, size: Any, layout: str) -> list[Ref]:
    x = channels_first(place, x, 2, layout)
    kept = place.node("Slice", place.shape(x), place.constant([0]), place.constant([2]))
    sizes = place.node("Concat", [kept, place.ints(size)], axis=0)
    attrs = {**RESIZED[place.operation.type], "coordinate_transformation_mode": "half_pixel"}
    return given_back(place, place.node("Resize", x, None, None, sizes, **attrs), 2, layout)
