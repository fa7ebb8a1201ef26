"""Images: ResizeBilinear, ResizeArea, RGBToHSV, AdjustHue, CropAndResize, ImageProjectiveTransformV2, and gradients."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.gradients import blank, through
from dovetail.formats.tensorflow.table import row, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
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


@row(
    *(
        f"Resize{kind}Grad: g x; align_corners:aligned half_pixel_centers:centered +kind={kind}"
        for kind in ("Bilinear", "Bicubic")
    )
)
def _(g: Any, x: Any, **how: Any) -> Any:
    return through(lambda x: resized(x, dims_of(g)[1:3], **how), g, x)


@row("ResizeNearestNeighborGrad: g size?; align_corners:aligned half_pixel_centers:centered")
def _(g: Any, size: Any, **how: Any) -> Any:
    batch, height, width, channels = dims_of(g)
    x = blank(g, [batch, size[0], size[1], channels])
    return through(lambda x: resized(x, [height, width], "NearestNeighbor", **how), g, x)


# -- images sampled at computed places --------------------------------------------------------------------------------


def _pixels(x: Any, image: Any, y: Any, column: Any, fill: Any) -> Any:
    """The pixels at whole places, (..., channels); a value for places outside."""
    height, width = dims_of(x)[1:3]
    is_inside = ops.logical_and(
        ops.logical_and(y >= 0, y <= height - 1), ops.logical_and(column >= 0, column <= width - 1)
    )
    places = [ops.where(is_inside, ops.cast(one, "int32"), 0) for one in (y, column)]
    image = ops.broadcast_to(image, dims_of(places[0]))
    pixels = OPS["GatherNd"](x, ops.stack([image, *places], -1))
    return ops.where(ops.expand_dims(is_inside, -1), pixels, fill)


def sampled(x: Any, image: Any, y: Any, column: Any, fill: Any, bilinear: bool) -> Any:
    """Images at places between pixels, (..., channels).

    Args:
        x: (batch, height, width, channels).
        image: the number of the image for each place, int32.
        y, column: the places.
        fill: the value of pixels outside.
        bilinear: whether the four pixels around a place are mixed, or the nearest one is taken.
    """
    if not bilinear:
        y, column = (ops.sign(one) * ops.floor(ops.absolute(one) + 0.5) for one in (y, column))
        return _pixels(x, image, y, column, fill)
    top, left = ops.floor(y), ops.floor(column)
    down, right = (ops.expand_dims(one, -1) for one in (y - top, column - left))
    rows = []
    for row_ in (top, ops.ceil(y)):
        first, second = (_pixels(x, image, row_, place, fill) for place in (left, ops.ceil(column)))
        rows.append(first * (1 - right) + second * right)
    return rows[0] * (1 - down) + rows[1] * down


@row("CropAndResize: x boxes numbers size!; method extrapolation_value:fill")
def crop(x: Any, boxes: Any, numbers: Any, size: Any, method: str = "bilinear", fill: float = 0.0) -> Any:
    """The boxes of images, each in one size; places outside of an image have a value of their own."""
    x = ops.cast(x, "float32")
    image = ops.reshape(numbers, [-1, 1, 1])
    places = []
    for axis in (0, 1):
        last = ops.cast(dims_of(x)[1 + axis] - 1, "float32")
        low, high = boxes[:, axis : axis + 1], boxes[:, axis + 2 : axis + 3]
        steps = ops.expand_dims(ops.arange(size[axis], dtype="float32"), 0)
        along = (
            low * last + steps * (high - low) * last / (size[axis] - 1) if size[axis] > 1 else (low + high) / 2 * last
        )
        places.append((along, ops.logical_and(along >= 0, along <= last), last))
    (y, y_inside, bottom), (column, column_inside, end) = places
    shape = [*dims_of(y)[:1], *size]
    is_inside = ops.logical_and(ops.expand_dims(y_inside, 2), ops.expand_dims(column_inside, 1))
    y = ops.broadcast_to(ops.expand_dims(ops.clip(y, 0, bottom), 2), shape)
    column = ops.broadcast_to(ops.expand_dims(ops.clip(column, 0, end), 1), shape)
    crops = sampled(x, image, y, column, 0.0, method == "bilinear")
    return ops.where(ops.expand_dims(is_inside, -1), crops, fill)


@row("CropAndResizeGradImage: g boxes numbers shape?; method T>0")
def _(g: Any, boxes: Any, numbers: Any, shape: Any, method: str = "bilinear") -> Any:
    return through(lambda x: crop(x, boxes, numbers, dims_of(g)[1:3], method), g, blank(g, shape))


@row("CropAndResizeGradBoxes: g x boxes numbers; method=bilinear")
def _(g: Any, x: Any, boxes: Any, numbers: Any) -> Any:
    return through(lambda boxes: crop(x, boxes, numbers, dims_of(g)[1:3]), g, boxes)


@row(
    "ImageProjectiveTransformV2: x transforms size?; interpolation fill_mode:mode",
    "ImageProjectiveTransformV3: x transforms size? fill; interpolation fill_mode:mode",
)
def _(x: Any, transforms: Any, size: Any, interpolation: str, fill: Any = 0.0, mode: str = "CONSTANT") -> Any:
    batch, height, width, _ = dims_of(x)
    a0, a1, a2, b0, b1, b2, c0, c1 = (ops.reshape(transforms[:, i], [-1, 1, 1]) for i in range(8))
    y = ops.reshape(ops.arange(size[0], dtype="float32"), [1, -1, 1])
    column = ops.reshape(ops.arange(size[1], dtype="float32"), [1, 1, -1])
    scale = c0 * column + c1 * y + 1
    outside = ops.equal(scale, 0)
    scale = ops.where(outside, 1, scale)
    places = (b0 * column + b1 * y + b2) / scale, (a0 * column + a1 * y + a2) / scale
    mapped = [
        ops.broadcast_to(ops.where(outside, -2, _mapped(place, length, mode)), [batch, size[0], size[1]])
        for place, length in zip(places, (height, width), strict=True)
    ]
    image = ops.reshape(ops.arange(batch, dtype="int32"), [-1, 1, 1])
    pixels = sampled(ops.cast(x, "float32"), image, mapped[0], mapped[1], fill, interpolation == "BILINEAR")
    return ops.cast(pixels, x.dtype)


def _mapped(place: Any, length: Any, mode: str) -> Any:
    """Places outside of an axis, brought inside."""
    if mode == "CONSTANT":
        return place
    size = ops.cast(length, "float32")
    if mode == "REFLECT":
        place = OPS["FloorMod"](place, 2 * size)
        place = ops.where(place >= size, 2 * size - place - 1, place)
    if mode == "WRAP":
        before, after = (OPS["Trunc"](one / (size - 1)) for one in (-place, place))
        place = ops.where(
            place < 0, place + size * (before + 1), ops.where(place > size - 1, place - size * after, place)
        )
    return ops.clip(place, 0, size - 1)


# -- writing ----------------------------------------------------------------------------------------------------------


def _has_kernel(operation: Operation) -> bool:
    return operation.attrs["data_format"] == "channels_last" and operation.inputs[0].dtype.name == "float32"


@writes("ResizeBilinear ResizeNearestNeighbor ResizeBicubic", _has_kernel)
def _resize(place: Place, x: Ref, size: Any, data_format: str) -> list[Ref]:
    return place.result(
        place.operation.type, x, place.taken(size, "size"), align_corners=False, half_pixel_centers=True
    )
