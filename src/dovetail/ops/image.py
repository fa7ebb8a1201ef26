"""Images: making them larger or smaller.

A resized image is a product with two matrices of weights, one for its rows and one for its columns; where few of the
weights are not 0, the pixels are gathered instead.  The weights come from one formula; where the sizes are known, it is
computed with NumPy, so programs hold them as constants.  A pixel is a square with its centre at a half: pixel `i` of
the result has its centre at `(i + 0.5) * scale` in the image given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.errors import op_error
from dovetail.ops.extend import repeat
from dovetail.ops.index import gather
from dovetail.ops.kinds import Anything, Float, Ints
from dovetail.ops.op import composite
from dovetail.ops.products import matmul
from dovetail.ops.rearrange import swapaxes
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shape import cast, dims_of, expand_dims, reshape, shaped, squeeze, transpose
from dovetail.ops.spec import TensorSpec
from dovetail.ops.windows import data_format_of, join_shape, split_shape
from dovetail.tensor import Tensor

# -- weights ----------------------------------------------------------------------------------------------------------

Kernel = Callable[[Any, Any], Any]  # (NumPy or ops, how far away) → weight


def _lanczos(radius: int) -> Kernel:
    def kernel(xp: Any, x: Any) -> Any:
        angle = math.pi * xp.maximum(x, 1e-3)  # nearer than that, the weight is 1 in float32
        weight = radius * xp.sin(angle) * xp.sin(angle / radius) / angle**2
        return xp.where(x < 1e-3, 1, xp.where(x < radius, weight, 0))

    return kernel


def _triangle(xp: Any, x: Any) -> Any:
    return xp.maximum(1 - x, 0)


def _gaussian(xp: Any, x: Any) -> Any:
    return xp.where(x < 1.5, xp.exp(-2 * x**2), 0)


def _keys_cubic(xp: Any, x: Any) -> Any:
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


def _mitchell_cubic(xp: Any, x: Any) -> Any:
    near, far = (7 / 6 * x - 2) * x * x + 8 / 9, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


_KERNELS: dict[str, Kernel] = {  # by the names of TensorFlow's ScaleAndTranslate
    "triangle": _triangle,
    "keyscubic": _keys_cubic,
    "mitchellcubic": _mitchell_cubic,
    "gaussian": _gaussian,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}


class _Axis:
    """One axis of an image: its old size and its new one, ints or tensors."""

    def __init__(self, old: Any, new: Any) -> None:
        self.old, self.new = old, new
        self.is_known = isinstance(old, int) and isinstance(new, int)
        self.xp: Any = np if self.is_known else ops
        before, after = (np.float32(n) if isinstance(n, int) else cast(n, "float32") for n in (old, new))
        self.scale = before / after

    def pixels(self, count: Any) -> Any:
        return self.xp.arange(count, dtype="float32")

    def nearest(self) -> Any:
        """For each new pixel the old one in which its centre lies."""
        found = self.xp.floor((self.pixels(self.new) + 0.5) * self.scale)
        return self._as(self.xp.minimum(found, self.old - 1), "int32")

    def weights(self, kernel: Kernel, antialias: bool, rounded: bool, dtype: Any) -> Any:
        """(new, old): a kernel around the centre of each new pixel, with `antialias` as wide as that is."""
        width = self.xp.maximum(self.scale, 1) if antialias else 1
        centers = (self.pixels(self.new) + 0.5) * self.scale - 0.5
        if rounded:
            centers = self.xp.rint(centers * 1024) / 1024
        away = self.xp.absolute(self.pixels(self.old) - centers[:, None]) / width
        weights = kernel(self.xp, away)
        return self._as(weights / self.xp.sum(weights, axis=1, keepdims=True), dtype)

    def overlaps(self, dtype: Any) -> Any:
        """(new, old): how much of the area of each new pixel lies in each old one."""
        left, start = self.pixels(self.old), (self.pixels(self.new) * self.scale)[:, None]
        shared = self.xp.minimum(left + 1, start + self.scale) - self.xp.maximum(left, start)
        return self._as(self.xp.maximum(shared, 0) / self.scale, dtype)

    def _as(self, value: Any, dtype: Any) -> Any:
        return value.astype(dtype) if self.is_known else cast(value, dtype)


def _axes(x: Any, size: Any, data_format: str) -> list[_Axis]:
    _, sizes, _ = split_shape(dims_of(x), data_format)
    return [_Axis(old, new) for old, new in zip(sizes, size, strict=True)]


# -- sums with weights ------------------------------------------------------------------------------------------------

GATHER = 24  # gathering pixels costs about so many multiplications in a product of matrices (measured with NumPy)


def _combined(x: Any, weights: Any, axis: int, data_format: str) -> Any:
    """Sums, with weights (new, old), of the pixels along one axis."""
    if isinstance(weights, np.ndarray):
        taps = int(np.count_nonzero(weights, 1).max())
        if GATHER * taps <= weights.shape[1]:
            return _gathered(x, weights, axis, taps)
    if axis == 3:
        return matmul(x, weights, transpose_b=True)
    if data_format == "channels_first":
        return matmul(weights, x)
    if axis == 2:
        return swapaxes(matmul(swapaxes(x, 2, 3), weights, transpose_b=True), 2, 3)
    batch, rows, columns, channels = dims_of(x)
    y = matmul(weights, reshape(x, (batch, rows, columns * channels)))
    return reshape(y, (batch, dims_of(weights)[0], columns, channels))


def _gathered(x: Any, weights: np.ndarray, axis: int, taps: int) -> Any:
    """The same, where so few pixels side by side have a weight that it is quicker to gather them."""
    first = np.minimum((weights != 0).argmax(1), weights.shape[1] - taps)
    total = None
    for position in (first + i for i in range(taps)):
        weight = np.take_along_axis(weights, position[:, None], 1).reshape(-1, *(1,) * (3 - axis))
        part = gather(x, position.astype("int32"), axis) * weight
        total = part if total is None else total + part
    return total


def _weighted(x: Any, weights: Sequence[Any], data_format: str) -> Any:
    first = 1 if data_format == "channels_last" else 2
    for axis, weight in enumerate(weights, first):
        x = _combined(x, weight, axis, data_format)
    return x


def _spread(g: Any, weights: Sequence[Any], data_format: str) -> Any:
    """The gradient of `_weighted` by the images."""
    turned = [w.T if isinstance(w, np.ndarray) else transpose(w) for w in weights]
    return _weighted(g, turned, data_format)


# -- ops --------------------------------------------------------------------------------------------------------------


def _resized_spec(x: TensorSpec, size: Any, *options: Any) -> TensorSpec:
    if x.shape is not None and len(x.shape) != 4:
        raise ValueError(f"images must have rank 4, but the shape is {x.shape}.")
    batch, sizes, channels = split_shape(x.shape or (None,) * 4, options[-1])
    if 0 in sizes:
        raise ValueError(f"images of no pixels cannot be resized, but the shape is {x.shape}.")
    if len(size) != 2 or any(n is not None and n < 1 for n in size):
        raise ValueError(f"the new size must be two positive integers, rows and columns, but it is {tuple(size)}.")
    return TensorSpec(join_shape(batch, size, channels, options[-1]), x.dtype)


def _samples(*options: Any) -> list[Any]:
    return [
        sample(array(2, 3, 4, 2), (6, 7), *options, "channels_last"),
        sample(array(1, 2, 5, 4), (3, 8), *options, "channels_first"),
        sample(array(0, 2, 3, 1), (4, 3), *options, "channels_last"),
        sample(array(1, 1, 150, 1), (1, 160), *options, "channels_last"),
    ]


@composite(
    "ResizeNearestNeighbor",
    infer=_resized_spec,
    samples=[*_samples(), sample(ints(1, 2, 3, 1), (4, 6), "channels_last")],
)
def _resize_nearest(x: Anything, size: Ints, data_format: str) -> Tensor:
    """Each new pixel is the old one in which its centre lies."""
    first = 1 if data_format == "channels_last" else 2
    for number, axis in enumerate(_axes(x, size, data_format), first):
        if axis.is_known and axis.new % axis.old == 0:
            x = repeat(x, axis.new // axis.old, number)
        else:
            x = gather(x, axis.nearest(), number)
    return x


@composite("ResizeBilinear", infer=_resized_spec, samples=_samples())
def _resize_bilinear(x: Float, size: Ints, data_format: str) -> Tensor:
    """Each new pixel is between the four old ones around its centre."""
    return _weighted(x, _bilinear(x, size, data_format), data_format)


@composite("ResizeBicubic", infer=_resized_spec, samples=_samples())
def _resize_bicubic(x: Float, size: Ints, data_format: str) -> Tensor:
    """Cubic interpolation between sixteen pixels; their distances are rounded to 1/1024, as they are in TensorFlow."""
    return _weighted(x, _bicubic(x, size, data_format), data_format)


@composite("ResizeArea", infer=_resized_spec, samples=_samples())
def _resize_area(x: Float, size: Ints, data_format: str) -> Tensor:
    """Each new pixel is the mean of the area that it covers."""
    return _weighted(x, _area(x, size, data_format), data_format)


@composite(
    "ScaleAndTranslate",
    infer=_resized_spec,
    samples=[s for options in (("lanczos3", False), ("gaussian", True)) for s in _samples(*options)],
)
def _resize_by_kernel(x: Float, size: Ints, kernel_type: str, antialias: bool, data_format: str) -> Tensor:
    """Each new pixel is a mean with the weights of a kernel around its centre."""
    return _weighted(x, _by_kernel(x, size, kernel_type, antialias, data_format), data_format)


def _bilinear(x: Any, size: Any, data_format: str) -> list[Any]:
    return _by_kernel(x, size, "triangle", False, data_format)


def _bicubic(x: Any, size: Any, data_format: str) -> list[Any]:
    return _by_kernel(x, size, "keyscubic", False, data_format, rounded=True)


def _area(x: Any, size: Any, data_format: str) -> list[Any]:
    return [axis.overlaps(x.dtype) for axis in _axes(x, size, data_format)]


def _by_kernel(x: Any, size: Any, kernel: str, antialias: bool, data_format: str, rounded: bool = False) -> list[Any]:
    return [axis.weights(_KERNELS[kernel], antialias, rounded, x.dtype) for axis in _axes(x, size, data_format)]


def _gradient(weights: Callable[..., list[Any]]) -> Callable[..., Any]:
    return lambda op, g: _spread(g, weights(*op.args), op.attr("data_format"))


_resize_bilinear.gradient(_gradient(_bilinear))
_resize_bicubic.gradient(_gradient(_bicubic))
_resize_area.gradient(_gradient(_area))
_resize_by_kernel.gradient(_gradient(_by_kernel))

_PLAIN = {
    "nearest": _resize_nearest,
    "bilinear": _resize_bilinear,
    "bicubic": _resize_bicubic,
    "area": _resize_area,
}
_SMOOTH = {"bilinear": "triangle", "bicubic": "keyscubic"}  # with antialias
INTERPOLATIONS = sorted({*_PLAIN, *_KERNELS} - {*_SMOOTH.values()})


def resize(
    x: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Images in another size.

    Args:
        x: images, (batch, rows, columns, channels) or, if channels come first, (batch, channels, rows, columns); or one
            image, without the batch.
        size: the new numbers of rows and columns; they may be tensors.
        interpolation: "nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
        antialias: whether each new pixel of a smaller image takes in all the old ones that it covers, as those of
            "area" always do and those of "nearest" never.
        data_format: "channels_last" or "channels_first"; `config.image_data_format()` if not given.
        name: the name of the node in a graph.

    Returns:
        The images.  Their dtype stays with "nearest"; otherwise integers become floats.

    Raises:
        ValueError: a size is not positive, the images have no pixels, or there is no such interpolation.

    Source: `tf.image.resize`, `keras.ops.image.resize`.

    Example:
        >>> resize([[[1.], [2.]]], (1, 4)).numpy().reshape(-1)
        array([1.  , 1.25, 1.75, 2.  ], dtype=float32)
    """
    if interpolation not in INTERPOLATIONS:
        problem = f"interpolation must be one of {', '.join(INTERPOLATIONS)}; got {interpolation!r}."
        raise op_error(ValueError, "resize", problem)
    x, data_format = shaped(x), data_format_of(data_format)
    if len(x.shape) == 3:
        return squeeze(resize(expand_dims(x, 0), size, interpolation, antialias, data_format, name), 0)
    if interpolation in _PLAIN and not (antialias and interpolation in _SMOOTH):
        return _PLAIN[interpolation](x, size, data_format, name=name)
    return _resize_by_kernel(x, size, _SMOOTH.get(interpolation, interpolation), antialias, data_format, name=name)
