"""TensorFlow's names for images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.table import function, of_rank, row
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

_non_max = of_type("NonMaxSuppressionV3")


class ResizeMethod:
    """The methods of resizing images.

    Source: `tf.image.ResizeMethod`.
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


class ResizeMethodV1:
    """The methods of resizing images.

    Source: `tf.compat.v1.image.ResizeMethod`.
    """

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


value("image.ResizeMethod", ResizeMethod, "v2")
value("image.ResizeMethod", ResizeMethodV1, "v1")


@function("image.resize", "v2", scope=True)
def resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Images in another size, in float32 unless the method is `nearest`.

    Source: `tf.image.resize`.
    """
    images = ops.convert(images)
    if preserve_aspect_ratio:
        size = _within(images, size)
    resized = ops.resize(images, list(size), method, antialias, "channels_last")
    return resized if method == "nearest" else ops.cast(resized, "float32")


def _within(images: Any, size: Any) -> list[int]:
    """The largest size with the images' proportions that fits into a size."""
    rows, columns = images.shape[-3:-1]
    if rows is None or columns is None:
        raise op_error(ValueError, "tf.image.resize", "to keep proportions, the size of the images must be known.")
    scale = min(int(size[0]) / rows, int(size[1]) / columns)
    return [round(rows * scale), round(columns * scale)]


def _resizing(name: str, type: str) -> Callable[..., Any]:
    """Add a way of resizing from the corners of pixels."""
    compute = of_type(type)

    def resize(images: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Any:
        return compute(of_rank(images, 4), size, align_corners, half_pixel_centers)

    resize.__doc__ = f"""Images in another size, sampled at the corners of pixels, or at their centres.

    Source: `tf.compat.v1.image.resize_{name}`.
    """
    row(f"image.resize_{name}", resize, "images size align_corners", v1="+half_pixel_centers", defers=False)
    return resize


_RESIZING = {
    "bilinear": _resizing("bilinear", "ResizeBilinear"),
    "nearest": _resizing("nearest_neighbor", "ResizeNearestNeighbor"),
    "bicubic": _resizing("bicubic", "ResizeBicubic"),
}


@function("image.resize_images", scope=True)
def resize_images(
    images: Any,
    size: Any,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Images in another size, as TensorFlow 1 computed it.

    Source: `tf.compat.v1.image.resize_images`.
    """
    images = ops.convert(images)
    if len(static_shape(images)) == 3:
        return ops.squeeze(resize_images(ops.expand_dims(images, 0), size, method, align_corners), 0)
    if preserve_aspect_ratio:
        size = _within(images, size)
    method = dict(enumerate([*_RESIZING, "area"])).get(method, method)
    if method == "area" and not align_corners:
        return resize(images, size, "area")
    if method not in _RESIZING:
        raise op_error(NotImplementedError, "tf.image.resize_images", f"the method {method!r}; use tf.image.resize.")
    return _RESIZING[method](images, size, align_corners)


def resize_area(images: Any, size: Any, align_corners: bool = False) -> Any:
    """Images in another size, whose pixels are the means of areas.

    Source: `tf.compat.v1.image.resize_area`.
    """
    return resize_images(images, size, "area", align_corners)


row("image.resize_area", resize_area, "images size align_corners")
value("image.resize", resize_images, "v1")


@function("image.extract_patches", scope=True)
def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Any:
    """The windows of images, each in the channels of one pixel.

    Source: `tf.image.extract_patches`.
    """
    size, step, gap = (tuple(int(n) for n in v)[1:3] for v in (sizes, strides, rates))
    pads: Any = padding.lower()
    windows = ops.sliding_windows(images, size, step, gap, pads)
    batch, rows, columns, *inside = dims_of(windows)
    return ops.reshape(windows, [batch, rows, columns, size[0] * size[1] * inside[-1]])


function(
    "extract_image_patches image.extract_image_patches",
    "v1",
    v1="images ksizes:sizes strides rates padding name sizes",
    scope=True,
)(extract_patches)


@function("image.per_image_standardization", defers=True)
def per_image_standardization(image: Any) -> Any:
    """Images of mean 0 and variance 1; images of nearly one colour have a smaller variance.

    Source: `tf.image.per_image_standardization`.
    """
    image = ops.cast(image, "float32") if ops.convert(image).dtype != "float16" else ops.convert(image)
    axes = [-3, -2, -1]
    count = ops.cast(ops.prod(ops.stack(dims_of(image)[-3:])), image.dtype)
    spread = ops.maximum(ops.std(image, axes, True), ops.rsqrt(count))
    return ops.divide(ops.subtract(image, ops.mean(image, axes, True)), spread)


@function("image.total_variation", scope=True)
def total_variation(images: Any, name: str | None = None) -> Any:
    """The sum of the differences of neighbouring pixels.

    Source: `tf.image.total_variation`.
    """
    images = ops.convert(images)
    axes = [-3, -2, -1]
    down = ops.subtract(images[..., 1:, :, :], images[..., :-1, :, :])
    across = ops.subtract(images[..., :, 1:, :], images[..., :, :-1, :])
    return ops.add(ops.sum(ops.absolute(down), axes), ops.sum(ops.absolute(across), axes))


@function("image.flip_left_right")
def flip_left_right(image: Any) -> Any:
    """Images, mirrored.

    Source: `tf.image.flip_left_right`.
    """
    return ops.flip(image, -2)


@function("image.flip_up_down")
def flip_up_down(image: Any) -> Any:
    """Images, upside down.

    Source: `tf.image.flip_up_down`.
    """
    return ops.flip(image, -3)


@function("image.resize_with_crop_or_pad image.resize_image_with_crop_or_pad")
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Any:
    """The middle of images, or images with zeros around them.

    Source: `tf.image.resize_with_crop_or_pad`.
    """
    image = ops.convert(image)
    first = len(static_shape(image)) - 3
    for axis, wanted in ((first, target_height), (first + 1, target_width)):
        image = _cut_or_filled(image, axis, wanted if is_tensor(wanted) else int(wanted))
    return image


def _cut_or_filled(image: Any, axis: int, wanted: Any) -> Any:
    """The middle of an axis, or the axis between zeros."""
    count, dims = dims_of(image)[axis], list(static_shape(image))
    over, under = (ops.maximum(x, 0) for x in (count - wanted, wanted - count))
    places = ops.arange(wanted) - under // 2 + over // 2  # of the image
    is_inside = ops.logical_and(ops.greater_equal(places, 0), ops.less(places, count))
    taken = ops.take(image, ops.clip(places, 0, count - 1), axis=axis)
    sizes = [-1 if i == axis else 1 for i in range(len(dims))]
    return ops.where(ops.reshape(is_inside, sizes), taken, ops.zeros_like(taken))


def _crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    if method not in ("bilinear", "nearest"):
        raise op_error(ValueError, "tf.image.crop_and_resize", f"the method is bilinear or nearest, not {method!r}.")
    image, boxes = ops.cast(of_rank(image, 4), "float32"), of_rank(boxes, 2)
    box_indices = of_rank(box_indices, 1)
    rows, columns = (ops.cast(dim, "float32") for dim in dims_of(image)[1:3])
    height, width = (int(n) for n in crop_size)
    y, y_inside = _box_positions(boxes[:, 0], boxes[:, 2], rows, height)
    x, x_inside = _box_positions(boxes[:, 1], boxes[:, 3], columns, width)
    images = ops.gather(image, box_indices)
    rows_resized = _box_between(images, y, 1, method)
    resized = _box_between(rows_resized, x, 2, method)
    inside = ops.logical_and(ops.expand_dims(y_inside, 2), ops.expand_dims(x_inside, 1))
    return ops.where(ops.expand_dims(inside, -1), resized, extrapolation_value)


def _box_positions(low: Any, high: Any, count: Any, size: int) -> tuple[Any, Any]:
    """The positions of the pixels of each crop in its image, and whether they are inside, as (boxes, size)."""
    last = ops.subtract(count, 1.0)
    low, high = ops.expand_dims(low, 1), ops.expand_dims(high, 1)
    if size > 1:
        step = ops.divide(ops.multiply(ops.subtract(high, low), last), float(size - 1))
        place = ops.add(ops.multiply(low, last), ops.multiply(step, ops.cast(ops.arange(size), "float32")))
    else:
        place = ops.multiply(ops.multiply(0.5, ops.add(low, high)), last)
    return place, ops.logical_and(ops.greater_equal(place, 0.0), ops.less_equal(place, last))


def _box_between(images: Any, place: Any, axis: int, method: str) -> Any:
    last = ops.subtract(ops.cast(dims_of(images)[axis], "int32"), 1)

    def at(position: Any) -> Any:
        index = ops.clip(ops.cast(position, "int32"), 0, last)
        return (
            ops.gather(images, index, axis, 1)
            if axis == 1
            else ops.swapaxes(ops.gather(ops.swapaxes(images, 1, 2), index, 1, 1), 1, 2)
        )

    if method == "nearest":
        return at(ops.round(place))
    below = ops.floor(place)
    part = ops.reshape(
        ops.subtract(place, below), [-1 if i == 0 else place.shape[1] if i == axis else 1 for i in range(4)]
    )
    first, second = at(below), at(ops.ceil(place))
    return ops.add(first, ops.multiply(ops.subtract(second, first), part))


@function(
    "image.crop_and_resize",
    scope=True,
    v1="image boxes box_ind:box_indices crop_size method extrapolation_value name box_indices",
)
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Boxes of images, all in one size.

    Source: `tf.image.crop_and_resize`.
    """
    return _crop_and_resize(image, boxes, box_indices, crop_size, method, extrapolation_value)


@function("image.non_max_suppression", scope=True)
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The boxes with the best scores, except boxes that overlap with a better one.

    Source: `tf.image.non_max_suppression`.
    """
    boxes, scores = of_rank(boxes, 2), of_rank(scores, 1)
    return _non_max(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]
