"""Images sampled at computed places: crops of boxes, and projective transforms."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.ops.gradients import blank, through
from dovetail.formats.tensorflow.table import row
from dovetail.ops.shapes.shape import dims_of


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
