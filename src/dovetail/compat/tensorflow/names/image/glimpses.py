"""TensorFlow's names for windows of images at given places, and images that are fitted between zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.image.basics import resize, resize_images
from dovetail.compat.tensorflow.names.image.crops import pad_to_bounding_box
from dovetail.compat.tensorflow.names.random.draws import normal, uniform
from dovetail.compat.tensorflow.table import function, of_rank
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_recorded, static_shape
from dovetail.ops.shapes.shape import dims_of, shaped

# -- images between zeros ---------------------------------------------------------------------------------------------


@function("image.resize_with_pad", "v2")
def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: str = "bilinear", antialias: bool = False
) -> Any:
    """Images in the largest size that fits and keeps their proportions, with zeros around them.

    Raises:
        ValueError: a size is not positive.

    Source: `tf.image.resize_with_pad`.
    """
    return _fitted(image, (target_height, target_width), lambda x, size: resize(x, size, method, antialias=antialias))


@function("image.resize_image_with_pad", "v1")
def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = 0, align_corners: bool = False
) -> Any:
    """Images in the largest size that fits and keeps their proportions, with zeros around them.

    Raises:
        ValueError: a size is not positive.

    Source: `tf.compat.v1.image.resize_image_with_pad`.
    """
    return _fitted(image, (target_height, target_width), lambda x, size: resize_images(x, size, method, align_corners))


def _fitted(image: Any, targets: Sequence[Any], resized: Callable[[Any, list[Any]], Any]) -> Any:
    image = shaped(image)
    if len(static_shape(image)) == 3:
        return ops.squeeze(_fitted(ops.expand_dims(image, 0), targets, resized), 0)
    image, targets = of_rank(image, 4), [x if is_recorded(x) else int(x) for x in targets]
    if any(isinstance(x, int) and x <= 0 for x in targets):
        problem = f"target_height and target_width must be more than 0, not {targets}."
        raise op_error(ValueError, "tf.image.resize_with_pad", problem)
    sizes = dims_of(image)[1:3]
    is_known = all(isinstance(x, int) for x in (*sizes, *targets))
    largest, floor = (max, lambda x: int(np.floor(x))) if is_known else (ops.maximum, _floor)
    before, after = ([np.float32(x) if is_known else ops.cast(x, "float32") for x in of] for of in (sizes, targets))
    ratio = largest(before[0] / after[0], before[1] / after[1])
    fitted = [size / ratio for size in before]
    margins = [largest(floor((whole - part) / 2), 0) for whole, part in zip(after, fitted, strict=True)]
    return pad_to_bounding_box(resized(image, [floor(size) for size in fitted]), *margins, *targets)


def _floor(x: Any) -> Any:
    return ops.cast(ops.floor(x), "int32")


# -- windows ----------------------------------------------------------------------------------------------------------


@function("image.extract_glimpse", "v2", scope=True)
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """A window of each image at its own place, with noise where it is outside of the image.

    Args:
        input: images, (batch, rows, columns, channels).
        size: the rows and the columns of a window.
        offsets: the place of each window, (batch, 2): the row and the column of its first pixel.  If they are
            normalized and centered, of its middle.
        centered: whether places count from the middle of the image.
        normalized: whether the image has the size 1; if centered, whether it reaches from -1 to 1.
        noise: "uniform" between the least and the largest number of an image, "gaussian" with the mean and the
            deviation of each of its channels, or "zero".

    Raises:
        ValueError: there is no such noise.

    Source: `tf.image.extract_glimpse`.
    """
    images = of_rank(ops.cast(input, "float32"), 4)
    rows, columns = (int(n) for n in size)

    def first(place: Any, count: Any, window: int) -> Any:
        if normalized:
            place = place * count
            return place / 2 + count / 2 - window / 2 if centered else place
        return place + count / 2 if centered else place

    return _windows(images, (rows, columns), offsets, first, noise)


@function("image.extract_glimpse", "v1", scope=True)
def extract_glimpse_v1(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """A window around a place of each image, with noise where it is outside of the image.

    Args:
        input, size, normalized: as in TensorFlow 2.
        offsets: the middle of each window, (batch, 2).
        centered: whether places count from the middle of the image, in halves of pixels.
        uniform_noise: the noise is uniform in either case, as in TensorFlow 2.21.

    Source: `tf.compat.v1.image.extract_glimpse`.
    """
    images = of_rank(ops.cast(input, "float32"), 4)
    rows, columns = (int(n) for n in size)

    def first(place: Any, count: Any, window: int) -> Any:
        place = place * count if normalized else place
        return (place / 2 + count / 2 if centered else place) - window / 2

    return _windows(images, (rows, columns), offsets, first, "uniform")


def _windows(images: Any, size: tuple[int, int], offsets: Any, first: Callable[..., Any], noise: str) -> Any:
    """Windows of images; `first` is (place, size of the image, size of the window) → the first pixel of an axis."""
    if noise not in NOISE:
        raise op_error(ValueError, "tf.image.extract_glimpse", f"noise is {', '.join(NOISE)}, not {noise!r}.")
    taken, masks = images, list[Any]()
    for axis, window in enumerate(size, 1):
        count = dims_of(images)[axis]
        start = first(ops.cast(offsets, "float32")[:, axis - 1], ops.cast(count, "float32"), window)
        places = ops.expand_dims(ops.cast(start, "int32"), 1) + ops.arange(window)
        masks.append(ops.logical_and(ops.greater_equal(places, 0), ops.less(places, count)))
        taken = ops.gather(taken, ops.clip(places, 0, count - 1), axis, 1)
    is_inside = ops.logical_and(masks[0][:, :, None, None], masks[1][:, None, :, None])
    return ops.stop_gradient(ops.where(is_inside, taken, NOISE[noise](images, dims_of(taken))))


def _uniform(images: Any, shape: list[Any]) -> Any:
    """Numbers between the least and the largest of an image."""
    least, most = ops.min(images, (1, 2, 3), True), ops.max(images, (1, 2, 3), True)
    return least + (most - least) * uniform(shape)


def _normal(images: Any, shape: list[Any]) -> Any:
    """Normal numbers with the mean and the deviation of each channel of an image, as far as it has such numbers."""
    least, most = ops.min(images, (1, 2), True), ops.max(images, (1, 2), True)
    drawn = ops.mean(images, (1, 2), True) + ops.std(images, (1, 2), True) * normal(shape)
    return ops.minimum(ops.maximum(drawn, least), most)


NOISE: dict[str, Callable[[Any, list[Any]], Any]] = {
    "uniform": _uniform,
    "gaussian": _normal,
    "zero": lambda images, shape: 0.0,
}
