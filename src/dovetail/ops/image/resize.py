"""Images: making them larger or smaller.

A resized image is a product with two matrices of weights, one for its rows and one for its columns.  If few of the
weights are not 0, the ops gather the pixels instead.  The weights come from one formula.  NumPy computes it if the
sizes are known, so programs hold the weights as constants.  A pixel is a square with its centre at a half: pixel `i` of
the result has its centre at `(i + 0.5) * scale` in the given image.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.base.windows import DataFormat, data_format_of, join_shape, split_shape
from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Anything, Float, Inexact, Ints
from dovetail.core.op import Op, composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.image.kernels import Kernel, cubic, gaussian, lanczos, triangle
from dovetail.ops.linalg.products import matmul
from dovetail.ops.math.arithmetic import absolute
from dovetail.ops.math.compare import maximum, minimum, where
from dovetail.ops.math.exponential import exp
from dovetail.ops.math.reduce import sum
from dovetail.ops.math.rounding import floor, rint
from dovetail.ops.math.trigonometry import sin
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.create import arange
from dovetail.ops.shapes.extend import repeat
from dovetail.ops.shapes.index import gather
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims, reshape, shaped, squeeze, transpose

# -- weights ----------------------------------------------------------------------------------------------------------

_OPS = SimpleNamespace(  # ops by NumPy's names, which compute weights if a size is not known
    absolute=absolute, arange=arange, exp=exp, floor=floor, maximum=maximum, minimum=minimum, rint=rint, sin=sin,
    sum=sum, where=where,
)  # fmt: skip
_KERNELS: dict[str, Kernel] = {  # by the names of TensorFlow's ScaleAndTranslate
    "triangle": triangle,
    "keyscubic": cubic(0.5),
    "mitchellcubic": cubic(1 / 3, 1 / 3),
    "gaussian": gaussian,
    "lanczos3": lanczos(3),
    "lanczos5": lanczos(5),
}


@dataclass(frozen=True)
class _Axis:
    """One axis of an image: its old size and its new one, ints or tensors."""

    old: Any
    new: Any

    @property
    def is_known(self) -> bool:
        return isinstance(self.old, int) and isinstance(self.new, int)

    @property
    def xp(self) -> Any:
        return np if self.is_known else _OPS

    def scale(self, dtype: Any) -> Any:
        before, after = (
            np.dtype(dtype).type(n) if isinstance(n, int) else cast(n, dtype) for n in (self.old, self.new)
        )
        return before / after

    def nearest(self) -> Any:
        """The old pixel in which the centre of each new one lies."""
        pixels = self.xp.floor((self.xp.arange(self.new, dtype="float32") + 0.5) * self.scale("float32"))
        return self.as_dtype(self.xp.minimum(pixels, self.old - 1), "int32")

    def matrix(self, weights: Weights, dtype: Any) -> Any:
        """(new, old): the weights of the old pixels in each new one."""
        return _constant(weights, self, dtype) if self.is_known else weights(self, dtype)

    def as_dtype(self, value: Any, dtype: Any) -> Any:
        return value.astype(dtype) if self.is_known else cast(value, dtype)


Weights = Callable[[_Axis, Any], Any]  # (axis, dtype) → (new, old)


@functools.lru_cache(maxsize=64)
def _constant(weights: Weights, axis: _Axis, dtype: Any) -> Any:
    return weights(axis, dtype)


@dataclass(frozen=True)
class _Around:
    """A kernel around the centre of each new pixel, with `antialias` as wide as the pixel."""

    kernel: str
    antialias: bool = False
    rounded: bool = False

    def __call__(self, axis: _Axis, dtype: Any) -> Any:
        xp, wide = axis.xp, "float64" if dtype == "float64" and not self.rounded else "float32"
        scale = axis.scale(wide)
        centers = (xp.arange(axis.new, dtype=wide) + 0.5) * scale - 0.5
        if self.rounded:
            centers = xp.rint(centers * 1024) / 1024
        width = xp.maximum(scale, 1) if self.antialias else 1
        weights = _KERNELS[self.kernel](xp, xp.absolute(xp.arange(axis.old, dtype=wide) - centers[:, None]) / width)
        return axis.as_dtype(weights / xp.sum(weights, axis=1, keepdims=True), dtype)


def _overlap(axis: _Axis, dtype: Any) -> Any:
    """The share of the area of each new pixel that lies in each old one."""
    xp, scale = axis.xp, axis.scale("float32")
    left, start = xp.arange(axis.old, dtype="float32"), (xp.arange(axis.new, dtype="float32") * scale)[:, None]
    shared = xp.minimum(left + 1, start + scale) - xp.maximum(left, start)
    return axis.as_dtype(xp.maximum(shared, 0) / scale, dtype)


def _membership(axis: _Axis, dtype: Any) -> Any:
    """Ones where the centre of a new pixel lies in an old one, else zeros."""
    return axis.as_dtype(axis.nearest()[:, None] == axis.xp.arange(axis.old, dtype="int32"), dtype)


def _axes(x: Any, size: Any, data_format: str) -> list[_Axis]:
    return [_Axis(old, new) for old, new in zip(_sizes(x, data_format), size, strict=True)]


def _sizes(x: Any, data_format: str) -> Sequence[Any]:
    return split_shape(dims_of(x), data_format)[1]


# -- sums with weights ------------------------------------------------------------------------------------------------

GATHER = 40  # `gather_cost`: the cost of a gathered pixel, in multiplications of a matrix product, with NumPy


def _resized(x: Any, size: Any, data_format: str, weights: Weights, cost: int = GATHER) -> Any:
    """Each new pixel as a sum of old ones."""
    return _product(x, [axis.matrix(weights, x.dtype) for axis in _axes(x, size, data_format)], data_format, cost)


def _spread(g: Any, size: Any, data_format: str, weights: Weights, cost: int = GATHER) -> Any:
    """The gradient of `_resized` by images of a size: each old pixel sums the new ones with its weights."""
    matrices = [_Axis(axis.new, axis.old).matrix(weights, g.dtype) for axis in _axes(g, size, data_format)]
    return _product(g, [m.T if isinstance(m, np.ndarray) else transpose(m) for m in matrices], data_format, cost)


def _product(x: Any, matrices: Sequence[Any], data_format: str, cost: int) -> Any:
    rows = 1 if data_format == "channels_last" else 2
    steps = list(enumerate(matrices, rows))
    if isinstance(matrices[0], np.ndarray) and matrices[0].shape[0] > matrices[0].shape[1]:
        steps.reverse()  # columns first, while there are few rows
    for axis, matrix in steps:
        x = _combined(x, matrix, axis, cost)
    return x


def _combined(x: Any, weights: Any, axis: int, cost: int) -> Any:
    """Sums, with weights (new, old), of the pixels along one axis."""
    if isinstance(weights, np.ndarray):
        taps = int(np.count_nonzero(weights, 1).max())
        if cost * taps <= weights.shape[1]:
            return _gathered(x, weights, axis, taps)
    if axis == 3:
        return matmul(x, weights, transpose_b=True)
    if axis == 2:
        return matmul(weights, x)
    batch, rows, columns, channels = dims_of(x)
    y = matmul(weights, reshape(x, (batch, rows, columns * channels)))
    return reshape(y, (batch, dims_of(weights)[0], columns, channels))


def _gathered(x: Any, weights: np.ndarray, axis: int, taps: int) -> Any:
    """The sums of `_combined` by gathering, which is quicker if few pixels side by side have a weight."""
    first = np.minimum((weights != 0).argmax(1), weights.shape[1] - taps)
    total = None
    for position in (first + i for i in range(taps)):
        weight = np.take_along_axis(weights, position[:, None], 1).reshape(-1, *(1,) * (3 - axis))
        part = gather(x, position.astype("int32"), axis) * weight
        total = part if total is None else total + part
    return total


# -- ops --------------------------------------------------------------------------------------------------------------


def _resized_spec(x: RankedSpec, size: Any, *options: Any) -> TensorSpec:
    if len(x.shape) != 4:
        raise ValueError(f"images must have rank 4, but the shape is {x.shape}.")
    batch, sizes, channels = split_shape(x.shape, options[-1])
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


_PLAIN_SAMPLES = _samples()
_KERNEL_SAMPLES = [s for options in (("lanczos3", False), ("gaussian", True)) for s in _samples(*options)]


@composite(
    "ResizeNearestNeighbor",
    infer=_resized_spec,
    samples=[*_PLAIN_SAMPLES, sample(ints(1, 2, 3, 1), (4, 6), "channels_last")],
)
def _resize_nearest(x: Anything, size: Ints, data_format: DataFormat) -> Tensor:
    """Give each new pixel the old one in which its centre lies."""
    first = 1 if data_format == "channels_last" else 2
    for number, axis in enumerate(_axes(x, size, data_format), first):
        if axis.is_known and axis.new % axis.old == 0:
            x = repeat(x, axis.new // axis.old, number)
        else:
            x = gather(x, axis.nearest(), number)
    return x


@composite("ResizeNearestNeighborGrad", infer=_resized_spec, samples=_PLAIN_SAMPLES)
def _spread_nearest(g: Inexact, size: Ints, data_format: DataFormat) -> Tensor:
    """The sum of the new pixels whose centres lie in each old one."""
    axes = _axes(g, size, data_format)
    if not all(axis.is_known and axis.old % axis.new == 0 for axis in axes):
        return _spread(g, size, data_format, _membership)
    for number, axis in enumerate(axes, 1 if data_format == "channels_last" else 2):
        dims = dims_of(g)
        g = sum(reshape(g, (*dims[:number], axis.new, axis.old // axis.new, *dims[number + 1 :])), number + 1)
    return g


@composite("ScaleAndTranslate", infer=_resized_spec, samples=_KERNEL_SAMPLES)
def _resize_by_kernel(
    x: Float, size: Ints, kernel_type: str, antialias: bool, data_format: DataFormat, *, gather_cost: int = GATHER
) -> Tensor:
    """Give each new pixel a mean with the weights of a kernel around its centre."""
    return _resized(x, size, data_format, _Around(kernel_type, antialias), gather_cost)


@composite("ScaleAndTranslateGrad", infer=_resized_spec, samples=_KERNEL_SAMPLES)
def _spread_by_kernel(
    g: Float, size: Ints, kernel_type: str, antialias: bool, data_format: DataFormat, *, gather_cost: int = GATHER
) -> Tensor:
    return _spread(g, size, data_format, _Around(kernel_type, antialias), gather_cost)


def _link(resize: Any, spread: Any) -> None:
    """Make two linear ops the gradients of each other."""

    def back_by(other: Any) -> Callable[..., Any]:
        return lambda op, g: other(g, _sizes(op.inputs[0], op.attr("data_format")), *op.args[2:])

    resize.gradient(back_by(spread))
    spread.gradient(back_by(resize))


_link(_resize_nearest, _spread_nearest)
_link(_resize_by_kernel, _spread_by_kernel)


def _family(name: str, weights: Weights) -> Op[..., Any]:
    """The op that makes each new pixel of old ones with weights; its gradient is the op with Grad behind its name."""

    @composite(name, infer=_resized_spec, samples=_PLAIN_SAMPLES)
    def _resize(x: Float, size: Ints, data_format: DataFormat, *, gather_cost: int = GATHER) -> Tensor:
        return _resized(x, size, data_format, weights, gather_cost)

    @composite(f"{name}Grad", infer=_resized_spec, samples=_PLAIN_SAMPLES)
    def _gradient(g: Float, size: Ints, data_format: DataFormat, *, gather_cost: int = GATHER) -> Tensor:
        return _spread(g, size, data_format, weights, gather_cost)

    _link(_resize, _gradient)
    return _resize


_PLAIN: dict[str, Any] = {
    "nearest": _resize_nearest,
    "bilinear": _family("ResizeBilinear", _Around("triangle")),
    # Cubic interpolation between sixteen pixels; their distances are rounded to 1/1024, as they are in TensorFlow.
    "bicubic": _family("ResizeBicubic", _Around("keyscubic", rounded=True)),
    "area": _family("ResizeArea", _overlap),
}
_SMOOTH = {"bilinear": "triangle", "bicubic": "keyscubic"}  # with antialias
INTERPOLATIONS = sorted({*_PLAIN, *_KERNELS} - {*_SMOOTH.values()})


@checked
def resize(
    x: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Resize images.

    Args:
        x: images, (batch, rows, columns, channels) or, if channels come first, (batch, channels, rows, columns); or one
            image, without the batch.
        size: the new numbers of rows and columns; they may be tensors.
        interpolation: "nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
        antialias: whether each new pixel of a smaller image takes in all the old ones that it covers; "area" always
            does so, "nearest" never.
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
    if len(static_shape(x)) == 3:
        return squeeze(resize(expand_dims(x, 0), size, interpolation, antialias, data_format, name), 0)
    if interpolation in _PLAIN and not (antialias and interpolation in _SMOOTH):
        return _PLAIN[interpolation](x, size, data_format, name=name)
    return _resize_by_kernel(x, size, _SMOOTH.get(interpolation, interpolation), antialias, data_format, name=name)
