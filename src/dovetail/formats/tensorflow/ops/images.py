"""Images in other sizes."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.table import row
from dovetail.ops.image.kernels import cubic
from dovetail.ops.shapes.shape import dims_of

_CUBIC = cubic(0.75)
_RESIZE = "Resize{0}: x size?; align_corners:aligned half_pixel_centers:centered +kind={0}"


@row(*map(_RESIZE.format, ("Bilinear", "Bicubic", "NearestNeighbor")))
def resized(x: Any, size: Any, kind: str, aligned: bool = False, centered: bool = False) -> Any:
    """Images of another size, sampled at the centres of pixels or at their corners."""
    if kind != "NearestNeighbor":
        x = ops.cast(x, "float32")
    if centered:
        return OPS[f"Resize{kind}"](x, size, "channels_last")
    for axis, new in ((1, size[0]), (2, size[1])):
        x = _resampled(x, axis, new, aligned, kind)
    return x


def _resampled(x: Any, axis: int, new: Any, aligned: bool, kind: str) -> Any:
    """An axis of an image with another size, from pixels at their corners, as TensorFlow 1 resizes."""
    old = dims_of(x)[axis]
    before, after = (ops.cast(size, "float32") for size in (old, new))
    scale = before / after
    if aligned:
        scale = ops.where(after > 1, (before - 1) / ops.maximum(after - 1, 1), scale)
    places = ops.cast(ops.arange(0, new), "float32") * scale
    low = ops.floor(places + 0.5 if aligned and kind == "NearestNeighbor" else places)

    def pixels(step: int) -> Any:
        number = ops.cast(low, "int32") + step
        return OPS["GatherV2"](x, ops.minimum(ops.maximum(number, 0), old - 1), axis)

    part = ops.reshape(places - low, [-1] + [1] * (3 - axis))
    if kind == "NearestNeighbor":
        return pixels(0)
    if kind == "Bilinear":
        return pixels(0) + (pixels(1) - pixels(0)) * part
    part = ops.rint(part * 1024) / 1024  # TensorFlow's kernel has a table of so many parts
    return sum(pixels(step) * _CUBIC(ops, ops.absolute(part - step)) for step in (-1, 0, 1, 2))


@row("ResizeArea: x size?; align_corners=False")
def _(x: Any, size: Any) -> Any:
    return OPS["ResizeArea"](ops.cast(x, "float32"), size, "channels_last")


# -- colours ----------------------------------------------------------------------------------------------------------


@row("RGBToHSV: x")
def to_hsv(x: Any) -> Any:
    """Hue, saturation and value of red, green and blue."""
    red, green, blue = (x[..., i] for i in range(3))
    value = ops.max(x, -1)
    span = value - ops.min(x, -1)
    sixth = 1 / (6 * ops.where(span > 0, span, 1))
    of_green = ops.where(ops.equal(green, value), (blue - red) * sixth + 2 / 6, (red - green) * sixth + 4 / 6)
    hue = ops.where(ops.equal(red, value), (green - blue) * sixth, of_green)
    hue = ops.where(span > 0, ops.where(hue < 0, hue + 1, hue), 0)
    return ops.stack([hue, ops.where(value > 0, span / ops.where(value > 0, value, 1), 0), value], -1)


@row("HSVToRGB: x")
def to_rgb(x: Any) -> Any:
    """Red, green and blue of hue, saturation and value."""
    hue, saturation, value = (x[..., i : i + 1] for i in range(3))
    turn = hue * 6
    parts = ops.absolute(turn - 3) - 1, 2 - ops.absolute(turn - 2), 2 - ops.absolute(turn - 4)
    colours = ops.clip(ops.concatenate(parts, -1), 0, 1)
    return ((1 - saturation) + saturation * colours) * value


@row("AdjustContrastv2: x factor")
def _(x: Any, factor: Any) -> Any:
    mean = ops.mean(x, (-3, -2), keepdims=True)
    return (x - mean) * ops.cast(factor, x.dtype) + mean


@row("AdjustHue: x delta")
def _(x: Any, delta: Any) -> Any:
    hsv = to_hsv(x)
    hue = OPS["FloorMod"](hsv[..., :1] + ops.cast(delta, x.dtype), ops.ones_like(hsv[..., :1]))
    return to_rgb(ops.concatenate([hue, hsv[..., 1:]], -1))


@row("AdjustSaturation: x scale")
def _(x: Any, scale: Any) -> Any:
    hsv = to_hsv(x)
    saturation = ops.clip(hsv[..., 1:2] * ops.cast(scale, x.dtype), 0, 1)
    return to_rgb(ops.concatenate([hsv[..., :1], saturation, hsv[..., 2:]], -1))
