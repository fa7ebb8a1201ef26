"""TensorFlow's names for parts of images, images turned or mirrored by chance, and what compares images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.debugging import require
from dovetail.compat.tensorflow.names.image.basics import flip_left_right, flip_up_down
from dovetail.compat.tensorflow.names.image.colours import convert_image_dtype
from dovetail.compat.tensorflow.names.random.draws import uniform
from dovetail.compat.tensorflow.table import constant_value, function, of_rank, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_recorded
from dovetail.ops.shapes.shape import dims_of, shaped


@function("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """A part of images.

    Raises:
        ValueError: the part is not in the images.

    Source: `tf.image.crop_to_bounding_box`.
    """
    image = shaped(image)
    *_, height, width, _ = dims_of(image)
    ends = offset_height + target_height, offset_width + target_width
    image = _checked("crop", image, (offset_height, offset_width, height - ends[0], width - ends[1]))
    cropped = image[..., slice(offset_height, ends[0]), slice(offset_width, ends[1]), :]
    return _of_size(cropped, target_height, target_width)


@function("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    """Images with zeros around them.

    Raises:
        ValueError: the images do not fit.

    Source: `tf.image.pad_to_bounding_box`.
    """
    image = shaped(image)
    *batch, height, width, _ = dims_of(image)
    after = target_height - offset_height - height, target_width - offset_width - width
    image = _checked("pad", image, (offset_height, offset_width, *after))
    pads = [*[(0, 0)] * len(batch), (offset_height, after[0]), (offset_width, after[1]), (0, 0)]
    return _of_size(ops.pad(image, pads), target_height, target_width)


def _checked(what: str, image: Any, margins: Sequence[Any]) -> Any:
    """Images, once none of these sizes above, left, below and right of a box is negative."""
    names = "offset_height", "offset_width", "the rest of the height", "the rest of the width"
    for name, margin in zip(names, margins, strict=True):
        problem = f"{name} must be 0 or more: the box must be inside"
        waits = require(f"image.{what}_to_bounding_box", ops.greater_equal(margin, 0), problem, [margin])
        if waits is not None:
            with graph_mode.inside(waits.graph), waits.graph.control_dependencies([waits]):
                image = ops.identity(image)
    return image


def _of_size(images: Any, height: Any, width: Any) -> Any:
    """Images, whose height and width are known as far as these are."""
    if is_recorded(images):
        sizes = [None if (size := constant_value(x)) is None else int(size) for x in (height, width)]
        images.set_shape([*[None] * (len(images.shape) - 3), *sizes, None])
    return images


@function("image.central_crop")
def central_crop(image: Any, central_fraction: float) -> Any:
    """The middle of images.

    Args:
        central_fraction: its share of the height and of the width, above 0 and at most 1.

    Source: `tf.image.central_crop`.
    """
    if not 0 < central_fraction <= 1:
        problem = f"central_fraction must be above 0 and at most 1, not {central_fraction}."
        raise op_error(ValueError, "tf.image.central_crop", problem)
    image = shaped(image)
    *_, height, width, _ = dims_of(image)
    starts = [_start(size, central_fraction) for size in (height, width)]
    (top, left), (bottom, right) = starts, [size - start for size, start in zip((height, width), starts, strict=True)]
    return image[..., top:bottom, left:right, :]


def _start(size: Any, fraction: float) -> Any:
    if isinstance(size, int):
        return int((size - size * fraction) / 2)
    wide = ops.cast(size, "float64")
    return ops.cast((wide - wide * fraction) / 2, "int32")


@function("image.rot90", scope=True)
def rot90(image: Any, k: int = 1, name: str | None = None) -> Any:
    """Images, turned by quarters against the clock.

    Source: `tf.image.rot90`.
    """
    image = shaped(image)
    rows = len(image.shape) - 3
    for axis in ((), (rows + 1,), (rows, rows + 1), (rows,))[k % 4]:
        image = ops.flip(image, axis)
    return _transposed(image) if k % 2 else image


def _transposed(image: Any) -> Any:
    image = shaped(image)
    return ops.swapaxes(image, len(image.shape) - 3, len(image.shape) - 2)


row("image.transpose image.transpose_image", _transposed, "image")


# -- by chance --------------------------------------------------------------------------------------------------------


def _flipped(title: str, flip: Callable[[Any], Any]) -> None:
    """Add a function that mirrors half of the images."""

    @function(f"image.random_{title}")
    def flipped(image: Any, seed: Any = None) -> Any:
        image = shaped(image)
        batch = dims_of(image)[:-3]
        drawn = ops.reshape(uniform(batch, seed=seed), [*batch, 1, 1, 1])
        return ops.where(ops.less(drawn, 0.5), flip(image), image)

    flipped.__doc__ = f"""Images, of which each is mirrored with the chance of one half.

    Source: `tf.image.random_{title}`.
    """


_flipped("flip_left_right", flip_left_right)
_flipped("flip_up_down", flip_up_down)


@function("random_crop image.random_crop", scope=True)
def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Any:
    """A part of a tensor, at a place that is drawn.

    Args:
        size: the size of the part along each axis.

    Source: `tf.compat.v1.random_crop`.
    """
    value = shaped(value)
    spare = ops.subtract(ops.shape(value), ops.cast(size, "int32")) + 1
    drawn = uniform([len(value.shape)], 0, 2**31 - 1, "int32", seed=seed)
    return ops.slice(value, ops.mod(drawn, spare), size)


# -- edges and likeness -----------------------------------------------------------------------------------------------


@function("image.image_gradients")
def image_gradients(image: Any) -> Any:
    """The differences of each pixel and the one below, and the one to the right; 0 at the ends.

    Source: `tf.image.image_gradients`.
    """
    image = of_rank(image, 4)
    down, right = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
    return ops.pad(down, [(0, 0), (0, 1), (0, 0), (0, 0)]), ops.pad(right, [(0, 0), (0, 0), (0, 1), (0, 0)])


SOBEL = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], "float32")


@function("image.sobel_edges")
def sobel_edges(image: Any) -> Any:
    """The slopes of images, (batch, height, width, channels, 2): downwards and to the right.

    Source: `tf.image.sobel_edges`.
    """
    image = of_rank(image, 4)
    channels = dims_of(image)[-1]
    kernel = np.tile(np.transpose(SOBEL, (1, 2, 0))[:, :, None], [1, 1, channels, 1])
    padded = ops.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    slopes = ops.depthwise_conv(padded, ops.cast(kernel, image.dtype), 1, "valid", "channels_last")
    return ops.reshape(slopes, [*dims_of(image), 2])


@function("image.psnr", scope=True)
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """The ratio of the largest number and the mean difference of images, in decibels.

    Source: `tf.image.psnr`.
    """
    a, b = (convert_image_dtype(x, "float32") for x in (a, b))
    top = convert_image_dtype(np.asarray(max_val), "float32")
    difference = ops.mean(ops.square(a - b), (-3, -2, -1))
    return 20 * ops.log(top) / np.float32(np.log(10)) - np.float32(10 / np.log(10)) * ops.log(difference)


def _compared(images: list[Any], top: float, size: int, sigma: float, k1: float, k2: float) -> tuple[Any, Any]:
    """The similarity of two stacks of images, and its part that is of structure: (images, channels)."""
    x, y = images
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-(places**2) / (2 * sigma**2))
    window = np.outer(weights, weights) / weights.sum() ** 2
    kernel = np.tile(window[:, :, None, None], [1, 1, dims_of(x)[-1], 1]).astype("float32")

    def mean(values: Any) -> Any:
        return ops.depthwise_conv(values, kernel, 1, "valid", "channels_last")

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    product, squares = mean(x) * mean(y) * 2, ops.square(mean(x)) + ops.square(mean(y))
    luminance = (product + c1) / (squares + c1)
    structure = (mean(x * y) * 2 - product + c2) / (mean(ops.square(x) + ops.square(y)) - squares + c2)
    return ops.mean(luminance * structure, (1, 2)), ops.mean(structure, (1, 2))


def _stacks(img1: Any, img2: Any, max_val: Any) -> tuple[list[Any], float, list[Any]]:
    """Two stacks of images as float32, the largest number, and the dimensions before the height."""
    dtype = as_dtype(shaped(img1).dtype)
    top = float(max_val) / (float(dtype.max) if dtype.is_integer else 1.0)
    images = [convert_image_dtype(image, "float32") for image in (img1, img2)]
    *batch, height, width, channels = dims_of(images[0])
    return [ops.reshape(image, [-1, height, width, channels]) for image in images], top, batch


@function("image.ssim")
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity of images, at most 1, for each pair.

    Source: `tf.image.ssim`; Wang et al., "Image quality assessment: from error visibility to structural similarity"
    (2004).
    """
    images, top, batch = _stacks(img1, img2, max_val)
    whole, _ = _compared(images, top, filter_size, filter_sigma, k1, k2)
    return ops.reshape(ops.mean(whole, 1), batch)


@function("image.ssim_multiscale")
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The structural similarity of images at several sizes, each half of the last one, for each pair.

    Args:
        power_factors: the power of the similarity at each size.

    Source: `tf.image.ssim_multiscale`; Wang et al., "Multiscale structural similarity for image quality assessment"
    (2003).
    """
    images, top, batch = _stacks(img1, img2, max_val)
    parts = []
    for number in range(len(power_factors)):
        whole, structure = _compared(images, top, filter_size, filter_sigma, k1, k2)
        parts.append(ops.relu(whole if number == len(power_factors) - 1 else structure))
        images = [_halved(image) for image in images]
    powers = np.asarray(power_factors, "float32")
    return ops.reshape(ops.mean(ops.prod(ops.power(ops.stack(parts, -1), powers), -1), 1), batch)


def _halved(image: Any) -> Any:
    """Images of half the size; a last line or column that is left counts twice."""
    _, height, width, _ = dims_of(image)
    even = ops.pad(image, [(0, 0), (0, height % 2), (0, width % 2), (0, 0)], "symmetric")
    return ops.average_pool(even, 2, 2, "valid", "channels_last")
