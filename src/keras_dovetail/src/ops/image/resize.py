"""Images in other sizes: each new pixel is a mean of old ones, with the weights of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.ops.image.kernels import Kernel, cubic, lanczos, triangle
from keras_dovetail.src.dtypes import as_tensor, is_float, result_type
from keras_dovetail.src.ops.image.layout import channels_axis, checked_choice, checked_rank

_KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), cubic(0.5)),
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
}
_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")


def _weights(old: int, new: int, scale: Any, translation: Any, kernel: Kernel, antialias: bool) -> Any:
    """(old, new): the weights of the old pixels in each new one."""
    inverse = 1 / scale
    width = ops.maximum(inverse, 1) if antialias else 1
    centers = (ops.arange(new, dtype=scale.dtype) + 0.5) * inverse - translation * inverse - 0.5
    weights = kernel(ops, ops.absolute(centers - ops.arange(old, dtype=scale.dtype)[:, None]) / width)
    total = ops.sum(weights, 0, keepdims=True)
    zero = ops.zeros_like(weights)
    counts = ops.absolute(total) > 1000 * float(np.finfo("float32").eps)
    weights = ops.where(counts, weights / ops.where(counts, total, ops.ones_like(total)), zero)
    inside = ops.logical_and(centers >= -0.5, centers <= old - 0.5)
    return ops.where(inside, weights, zero)


def _scaled(images: Any, axes: Any, sizes: Any, scales: Any, translations: Any, kernel: Kernel, antialias: bool) -> Any:
    x = images if is_float(images) else ops.cast(images, "float32")
    for axis, size, scale, translation in zip(axes, sizes, scales, translations, strict=True):
        weights = _weights(images.shape[axis], size, scale, translation, kernel, antialias)
        x = ops.moveaxis(ops.matmul(ops.moveaxis(x, axis, -1), as_tensor(weights, x.dtype)), -1, axis)
    if is_float(images):
        return x
    low, high = (ops.cast(f(images), x.dtype) for f in (ops.min, ops.max))
    return as_tensor(ops.clip(ops.round(x), low, high), images.dtype)


def scale_and_translate(
    images: Any,
    output_shape: Any,
    scale: Any,
    translation: Any,
    spatial_dims: Any,
    method: str,
    antialias: bool = True,
) -> Any:
    checked_choice("method", method, _KERNELS)
    images, scale, translation = as_tensor(images), as_tensor(scale), as_tensor(translation)
    dtype = result_type(scale, translation, float)
    scales, translations = (ops.unstack(as_tensor(x, dtype)) for x in (scale, translation))
    axes = [axis % len(images.shape) for axis in spatial_dims]
    sizes = [output_shape[axis] for axis in axes]
    return _scaled(images, axes, sizes, scales, translations, _KERNELS[method], antialias)


def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: Any = None,
) -> Any:
    checked_choice("interpolation", interpolation, _INTERPOLATIONS)
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")
    images, size = checked_rank(images), tuple(size)
    rows = len(images.shape) - 3 if channels_axis(data_format) == -1 else len(images.shape) - 2
    axes = (rows, rows + 1)
    if crop_to_aspect_ratio:
        images = _cropped(images, axes, size)
    elif pad_to_aspect_ratio:
        images = _padded(images, axes, size, fill_value)
    changed = [(axis, new) for axis, new in zip(axes, size, strict=True) if images.shape[axis] != new]
    if interpolation == "nearest":
        for axis, new in changed:
            places = np.floor((np.arange(new, dtype="float32") + 0.5) * images.shape[axis] / new)
            images = ops.take(images, places.astype("int32"), axis)
        return images
    dtype = result_type(images, "float32")
    scales = [as_tensor(new / images.shape[axis], dtype) for axis, new in changed]
    kept, sizes = [axis for axis, _ in changed], [new for _, new in changed]
    return _scaled(images, kept, sizes, scales, [0.0] * len(kept), _KERNELS[interpolation], antialias)


def _fitting(images: Any, axes: tuple[int, int], size: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """The height and width of the images, and for each the value that would give the ratio of a size."""
    height, width = (images.shape[axis] for axis in axes)
    return (height, width), (int(width * size[0] / size[1]), int(height * size[1] / size[0]))


def _cropped(images: Any, axes: tuple[int, int], size: Any) -> Any:
    """The middle of the images, in the ratio of a size."""
    olds, fitting = _fitting(images, axes, size)
    index = [slice(None)] * len(images.shape)
    for axis, old, fit in zip(axes, olds, fitting, strict=True):
        kept = max(min(old, fit), 1)
        start = (old - kept) // 2
        index[axis] = slice(start, start + kept)
    return images[tuple(index)]


def _padded(images: Any, axes: tuple[int, int], size: Any, fill: float) -> Any:
    """The images with a border on two sides, in the ratio of a size."""
    olds, fitting = _fitting(images, axes, size)
    widths = [(0, 0)] * len(images.shape)
    for axis, old, fit in zip(axes, olds, fitting, strict=True):
        border = (max(old, fit) - old) // 2
        widths[axis] = (border, border)
    return ops.pad(images, widths, "constant", fill)
