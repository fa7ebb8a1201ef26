"""Colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating, is_float
from keras_dovetail.src.ops.image.layout import channels_axis, checked_rank


def rgb_to_grayscale(images: Any, data_format: Any = None) -> Any:
    images, axis = checked_rank(images), channels_axis(data_format)
    if images.shape[axis] not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={tuple(images.shape)}"
        )
    if images.shape[axis] == 1:
        return images
    red, green, blue = ops.split(floating(images), 3, axis)
    return as_tensor(red * 0.2989 + green * 0.5870 + blue * 0.1140, images.dtype)


def _planes(images: Any, axis: int) -> Any:
    """The three planes of images of floats."""
    images = checked_rank(images)
    if not is_float(images):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={images.dtype}")
    return ops.unstack(images, 3, axis)


def rgb_to_hsv(images: Any, data_format: Any = None) -> Any:
    axis = channels_axis(data_format)
    planes = _planes(images, axis)
    zero = ops.zeros_like(planes[0])
    least = float(np.finfo("float32").eps)
    r, g, b = (ops.where(ops.absolute(plane) < least, zero, plane) for plane in planes)
    value = ops.maximum(ops.maximum(r, g), b)
    spread = value - ops.minimum(ops.minimum(r, g), b)
    one = ops.ones_like(value)
    saturation = ops.where(value > 0, spread / ops.where(value > 0, value, one), zero)
    part = 1 / (6 * ops.where(spread > 0, spread, one))
    hue = ops.where(value == g, part * (b - r) + 2 / 6, part * (r - g) + 4 / 6)
    hue = ops.where(value == r, part * (g - b), hue)
    hue = ops.where(spread > 0, hue, zero)
    return ops.stack([ops.where(hue < 0, hue + 1, hue), saturation, value], axis)


def hsv_to_rgb(images: Any, data_format: Any = None) -> Any:
    axis = channels_axis(data_format)
    hue, saturation, value = _planes(images, axis)
    turn = ops.mod(hue, 1.0) * 6
    parts = (ops.absolute(turn - 3) - 1, 2 - ops.absolute(turn - 2), 2 - ops.absolute(turn - 4))
    return ops.stack([value * (1 - saturation + saturation * ops.clip(part, 0, 1)) for part in parts], axis)
