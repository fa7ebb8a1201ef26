"""Pooling: the maximum or the mean of each window that slides over the spatial axes.

Two primitives express every pool: `sliding_windows` takes all windows out of a tensor, `overlap_add` adds them back to
their places.  Engines with kernels for pools claim the pools.  If several elements of a window are its maximum, the
gradient goes to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.config import DATA_FORMATS
from dovetail.core.base.windows import (
    POOLS,
    DataFormat,
    Padding,
    PerAxis,
    PoolPadding,
    data_format_of,
    join_shape,
    moves,
    output_sizes,
    per_axis,
    split_shape,
)
from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Float, Inexact, Ints, Number
from dovetail.core.op import Op, composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer, shapes
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.math.compare import equal, where
from dovetail.ops.math.reduce import argmax, max, mean, sum
from dovetail.ops.samples import Sample, array, sample
from dovetail.ops.shapes.create import arange, ones
from dovetail.ops.shapes.shape import broadcast_to, dims_of, expand_dims, reshape, shape_of, shaped, transpose

# -- windows as axes --------------------------------------------------------------------------------------------------


def _windows_spec(
    x: RankedSpec, size: Any, strides: Any, dilations: Any, padding: Any, fill: float = 0.0
) -> TensorSpec:
    if len(x.shape) != len(size) + 2:
        raise ValueError(
            f"x must have rank {len(size) + 2} for windows of {len(size)} axes, but its shape is {x.shape}."
        )
    batch, *sizes, channels = x.shape
    return TensorSpec((batch, *output_sizes(sizes, size, strides, dilations, padding), *size, channels), x.dtype)


def _overlap_add_spec(patches: RankedSpec, input_sizes: Any, *window: Any) -> TensorSpec:
    x = RankedSpec(tuple(input_sizes), patches.dtype)
    infer.require_shape(patches, _windows_spec(x, *window).shape)
    return x


_GEOMETRIES = [
    ((2,), (1,), (2,), "valid"),
    ((2, 3), (2, 2), (1, 1), "same"),
    ((2, 2), (1, 1), (1, 2), ((1, 0), (0, 2))),
]


@primitive(
    "SlidingWindows",
    cost="window",
    infer=_windows_spec,
    samples=[sample(array(2, *(5, 4)[: len(g[0])], 2), *g) for g in _GEOMETRIES],
)
def sliding_windows(
    x: Number, size: PerAxis, strides: PerAxis, dilations: PerAxis, padding: Padding, fill: float = 0.0
) -> Tensor:
    """All windows of a tensor, with separate axes for the positions of windows and the positions inside them.

    Args:
        x: (batch, spatial..., channels).
        size: the size of a window, a tuple with an int for each spatial axis.
        strides: by how much it moves, for each axis.
        dilations: the distance between its neighbouring elements, for each axis.
        padding: "valid", "same" or a pair (before, after) for each axis.
        fill: the value of the padding.

    Returns:
        (batch, windows..., size..., channels).

    Source: `numpy.lib.stride_tricks.sliding_window_view`, `tf.image.extract_patches`.

    Example:
        >>> sliding_windows([[[1.], [2.], [3.]]], (2,), (1,), (1,), "valid").numpy().reshape(2, 2)
        array([[1., 2.],
               [2., 3.]], dtype=float32)
    """


@sliding_windows.gradient
def _(op: Any, g: Any) -> Any:
    x, *window, _ = op.args
    return overlap_add(g, shape_of(x), *window)


@primitive(
    "OverlapAdd",
    cost="window",
    infer=_overlap_add_spec,
    samples=[
        sample(array(2, 3, 2, 2), (2, 5, 2), *_GEOMETRIES[0]),
        sample(array(2, 3, 2, 2, 3, 2), (2, 5, 4, 2), *_GEOMETRIES[1]),
        sample(array(1, 5, 4, 2, 2, 2), (1, 5, 4, 2), *_GEOMETRIES[2]),
    ],
)
def overlap_add(
    patches: Inexact, input_sizes: Ints, size: PerAxis, strides: PerAxis, dilations: PerAxis, padding: Padding
) -> Tensor:
    """The transpose of `sliding_windows`: it adds every element of every window to its place.

    Args:
        patches: (batch, windows..., size..., channels).
        input_sizes: the shape of the result, (batch, spatial..., channels).
        size, strides, dilations, padding: as for `sliding_windows`.

    Source: `tf.signal.overlap_and_add`, `torch.nn.functional.fold`.

    Example:
        >>> overlap_add([[[[1.], [2.]], [[3.], [4.]]]], (1, 3, 1), (2,), (1,), (1,), "valid").numpy().reshape(-1)
        array([1., 5., 4.], dtype=float32)
    """


@overlap_add.gradient
def _(op: Any, h: Any) -> Any:
    return sliding_windows(h, *op.args[2:])


# -- the pools of each rank -------------------------------------------------------------------------------------------


def _pool_spec(x: RankedSpec, size: Any, strides: Any, padding: str, data_format: str) -> TensorSpec:
    rank = len(size)
    if len(x.shape) != rank + 2:
        raise ValueError(f"x must have rank {rank + 2} to be pooled over {rank} axes, but its shape is {x.shape}.")
    batch, sizes, channels = split_shape(x.shape, data_format)
    sizes = output_sizes(sizes, size, strides, (1,) * rank, padding)
    return TensorSpec(join_shape(batch, sizes, channels, data_format), x.dtype)


def _pool_grad_spec(x: RankedSpec, g: RankedSpec, *pool: Any) -> TensorSpec:
    infer.require_shape(g, _pool_spec(x, *pool).shape)
    return x


def _pool_grad_grad_spec(x: RankedSpec, h: RankedSpec, *pool: Any) -> TensorSpec:
    infer.require_shape(h, x.shape)
    return _pool_spec(x, *pool)


def _last(x: Any, data_format: str) -> Any:
    return x if data_format == "channels_last" else transpose(x, (0, *range(2, len(x.shape)), 1))


def _restored(x: Any, data_format: str) -> Any:
    return x if data_format == "channels_last" else transpose(x, (0, len(x.shape) - 1, *range(1, len(x.shape) - 1)))


def _patches(x: Any, size: Any, strides: Any, padding: PoolPadding, fill: float = 0.0) -> Any:
    """The windows of `x`: (batch, windows..., elements of the window, channels)."""
    patches = sliding_windows(x, size, strides, (1,) * len(size), padding, fill)
    dims = dims_of(patches)
    return reshape(patches, (*dims[: len(size) + 1], shapes.size_of(size), dims[-1]))


def _from_patches(patches: Any, x: Any, size: Any, strides: Any, padding: PoolPadding) -> Any:
    """The transpose of `_patches`, in the shape of `x`."""
    dims = dims_of(patches)
    return overlap_add(
        reshape(patches, (*dims[:-2], *size, dims[-1])), shape_of(x), size, strides, (1,) * len(size), padding
    )


def _first_maximum(x: Any, size: Any, strides: Any, padding: PoolPadding) -> Any:
    """Whether each element of each window is its first maximum, laid out as `_patches`."""
    patches = _patches(x, size, strides, padding, -float("inf"))
    numbers = expand_dims(arange(shapes.size_of(size)), -1)
    return equal(numbers, expand_dims(argmax(patches, -2), -2))


def _max_pool(x: Float, size: PerAxis, strides: PerAxis, padding: PoolPadding, data_format: DataFormat) -> Tensor:
    """The maximum of each window; see `max_pool`, which fills in the defaults."""
    return _restored(max(_patches(_last(x, data_format), size, strides, padding, -float("inf")), -2), data_format)


def _max_pool_grad(
    x: Float, g: Float, size: PerAxis, strides: PerAxis, padding: PoolPadding, data_format: DataFormat
) -> Tensor:
    """The gradient of a max pool of `x` where `g` arrives at its output."""
    x, g = _last(x, data_format), _last(g, data_format)
    patches = where(_first_maximum(x, size, strides, padding), expand_dims(g, -2), 0)
    return _restored(_from_patches(patches, x, size, strides, padding), data_format)


def _max_pool_grad_grad(
    x: Float, h: Float, size: PerAxis, strides: PerAxis, padding: PoolPadding, data_format: DataFormat
) -> Tensor:
    """The elements of `h` at the positions of the maxima of the windows of `x`."""
    x, h = _last(x, data_format), _last(h, data_format)
    patches = where(_first_maximum(x, size, strides, padding), _patches(h, size, strides, padding), 0)
    return _restored(sum(patches, -2), data_format)


def _counts(x: Any, size: Any, strides: Any, padding: PoolPadding) -> Any:
    """The number of elements of each window that are not padding, as (1, windows..., 1)."""
    _, *sizes, _ = dims_of(x)
    return sum(_patches(ones((1, *sizes, 1), x.dtype), size, strides, padding), -2)


def _average_pool(x: Float, size: PerAxis, strides: PerAxis, padding: PoolPadding, data_format: DataFormat) -> Tensor:
    """The mean of each window; see `average_pool`, which fills in the defaults."""
    x = _last(x, data_format)
    total = sum(_patches(x, size, strides, padding), -2)
    return _restored(total / _counts(x, size, strides, padding), data_format)


def _average_pool_grad(
    x: Float, g: Float, size: PerAxis, strides: PerAxis, padding: PoolPadding, data_format: DataFormat
) -> Tensor:
    """The gradient of an average pool of a tensor of the shape of `x` where `g` arrives at its output."""
    x, g = _last(x, data_format), _last(g, data_format)
    *dims, channels = dims_of(g)
    share = expand_dims(g / _counts(x, size, strides, padding), -2)
    patches = broadcast_to(share, (*dims, shapes.size_of(tuple(size)), channels))
    return _restored(_from_patches(patches, x, size, strides, padding), data_format)


_SHAPES: dict[int, list[Any]] = {  # rank → per sample: spatial sizes, window, strides, padding, number of windows
    1: [((6,), (2,), (2,), "valid", (3,)), ((5,), (3,), (2,), "same", (3,))],
    2: [((4, 5), (2, 2), (2, 1), "valid", (2, 4)), ((5, 4), (3, 2), (2, 1), "same", (3, 4))],
    3: [((2, 4, 3), (1, 2, 2), (1, 2, 1), "valid", (2, 2, 2)), ((3, 3, 2), (2, 2, 2), (1, 2, 1), "same", (3, 2, 2))],
}


def _samples(rank: int, *arguments: str) -> list[Sample]:
    """Calls with tensors of the shapes of the input ("x") and of the output ("y"), channels last and first."""
    samples = []
    for (sizes, size, strides, padding, counts), data_format in zip(_SHAPES[rank], DATA_FORMATS, strict=True):
        shapes = {"x": join_shape(2, sizes, 2, data_format), "y": join_shape(2, counts, 2, data_format)}
        tensors = [array(*shapes[a], gap=0.01) for a in arguments]
        samples.append(sample(*tensors, size, strides, padding, data_format))
    return samples


def _family(rank: int) -> tuple[Op, Op]:
    """Add the pools of a rank and their gradients to the table."""
    name = POOLS["MaxPool"][rank - 1]
    maximum = composite(name, cost="window", infer=_pool_spec, samples=_samples(rank, "x"))(_max_pool)
    spread = composite(f"{name}Grad", cost="unpool", infer=_pool_grad_spec, samples=_samples(rank, "x", "y"))(
        _max_pool_grad
    )
    pick = composite(f"{name}GradGrad", cost="unpool", infer=_pool_grad_grad_spec, samples=_samples(rank, "x", "x"))(
        _max_pool_grad_grad
    )
    name = POOLS["AvgPool"][rank - 1]
    average = composite(name, cost="window", infer=_pool_spec, samples=_samples(rank, "x"))(_average_pool)
    share = composite(f"{name}Grad", cost="unpool", infer=_pool_grad_spec, samples=_samples(rank, "x", "y"))(
        _average_pool_grad
    )

    # The positions of maxima do not change with x; to pick from windows, or to share over them, is linear.
    maximum.gradient(lambda op, g: spread(op.inputs[0], g, *op.args[1:]))
    spread.gradient(lambda op, h: (None, pick(op.inputs[0], h, *op.args[2:])))
    pick.gradient(lambda op, g: (None, spread(op.inputs[0], g, *op.args[2:])))
    average.gradient(lambda op, g: share(op.inputs[0], g, *op.args[1:]))
    share.gradient(lambda op, h: (None, average(h, *op.args[2:])))
    return maximum, average


_FAMILIES = {rank: _family(rank) for rank in (1, 2, 3)}

# -- public functions -------------------------------------------------------------------------------------------------


@checked
def max_pool(
    x: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The maximum of each window that slides over one, two or three spatial axes.

    Args:
        x: (batch, spatial..., channels), or (batch, channels, spatial...) if channels come first.
        pool_size: the size of a window, for all axes or each.
        strides: by how much it moves; the size of the window if not given.
        padding: "valid" (none) or "same" (output size = input size / stride, rounded up).
        data_format: "channels_last" or "channels_first"; `config.image_data_format()` if not given.
        name: the name of the node in a graph.

    Returns:
        The maxima, in the same data format.

    Source: `keras.ops.max_pool`.

    Example:
        >>> max_pool([[[1.], [5.], [2.], [3.]]], 2, data_format="channels_last").numpy().reshape(-1)
        array([5., 3.], dtype=float32)
    """
    return _pool(0, x, pool_size, strides, padding, data_format, name)


@checked
def average_pool(
    x: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The mean of each window that slides over one, two or three spatial axes; padding does not count.

    Args:
        x, pool_size, strides, padding, data_format, name: as for `max_pool`.

    Returns:
        The means, in the same data format.

    Source: `keras.ops.average_pool`.

    Example:
        >>> average_pool([[[1.], [5.], [2.]]], 2, padding="same", data_format="channels_last").numpy().reshape(-1)
        array([3., 2.], dtype=float32)
    """
    return _pool(1, x, pool_size, strides, padding, data_format, name)


def _pool(which: int, x: Any, size: Any, strides: Any, padding: str, data_format: str | None, name: str | None) -> Any:
    x = shaped(x)
    rank = len(static_shape(x)) - 2
    if rank not in _FAMILIES:
        raise ValueError(
            f"x must have rank 3, 4 or 5 (batch, spatial..., channels), but its shape is {static_shape(x)}."
        )
    size = per_axis(size, rank)
    strides, padding, layout, _ = moves(rank, size if strides is None else strides, padding, data_format, counted=False)
    return _FAMILIES[rank][which](x, size, strides, padding, layout, name=name)


@checked
def global_max_pool(x: Any, data_format: str | None = None, keepdims: bool = False) -> Any:
    """The maximum over all spatial axes.

    Args:
        x: a tensor in the data format.
        data_format: as for `max_pool`.
        keepdims: whether the spatial axes stay, with size 1.

    Source: `keras.layers.GlobalMaxPooling2D`.

    Example:
        >>> global_max_pool([[[1., 7.], [5., 2.]]], "channels_last").numpy()
        array([[5., 7.]], dtype=float32)
    """
    x = shaped(x)
    return max(x, _spatial_axes(x, data_format), keepdims)


@checked
def global_average_pool(x: Any, data_format: str | None = None, keepdims: bool = False) -> Any:
    """The mean over all spatial axes.

    Args:
        x, data_format, keepdims: as for `global_max_pool`.

    Source: `keras.layers.GlobalAveragePooling2D`; Lin et al., "Network in network", 2013.

    Example:
        >>> global_average_pool([[[1., 7.], [5., 2.]]], "channels_last").numpy()
        array([[3. , 4.5]], dtype=float32)
    """
    x = shaped(x)
    return mean(x, _spatial_axes(x, data_format), keepdims)


def _spatial_axes(x: Any, data_format: str | None) -> tuple[int, ...]:
    first = 1 if data_format_of(data_format) == "channels_last" else 2
    return tuple(range(first, first + len(static_shape(x)) - 2))
