"""Convolution in one, two and three dimensions, transposed, depthwise and separable, and its gradients.

The three primitives of each rank come from one trilinear form in input x, kernel k and output g.  `Conv2D` is its
derivative by g, `Conv2DBackpropInput` by x, `Conv2DBackpropFilter` by k.  So the gradients of each primitive are the
other two, to any order, and a transposed convolution is a backprop to the input.

Kernels are laid out (spatial..., input channels / groups, output channels); the number of groups follows from the
input's channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.base.windows import (
    DataFormat,
    Padding,
    PerAxis,
    join_shape,
    moves,
    output_sizes,
    per_axis,
    split_shape,
)
from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Float, Ints
from dovetail.core.op import Op, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import seen, static_shape
from dovetail.ops.samples import Sample, array, sample
from dovetail.ops.shapes.shape import dims_of, reshape, shape_of, shaped

RANKS = (1, 2, 3)

# -- type rules -------------------------------------------------------------------------------------------------------


def _require_rank(what: str, x: RankedSpec, rank: int) -> None:
    if len(x.shape) != rank + 2:
        raise ValueError(f"the {what} must have rank {rank + 2} for {rank} spatial axes, but its shape is {x.shape}.")


def conv_spec(
    x: RankedSpec, kernel: RankedSpec, strides: Any, padding: Any, dilations: Any, data_format: str
) -> TensorSpec:
    rank = len(strides)
    _require_rank("input", x, rank)
    _require_rank("kernel", kernel, rank)
    batch, sizes, channels = split_shape(x.shape, data_format)
    *size, per_group, filters = kernel.shape
    if channels is not None and per_group is not None:
        if per_group == 0 or channels % per_group:
            raise ValueError(f"the input has {channels} channels, not a multiple of the kernel's {per_group}.")
        groups = channels // per_group
        if filters is not None and groups and filters % groups:
            raise ValueError(f"the kernel's {filters} output channels cannot be split into {groups} groups.")
    return TensorSpec(
        join_shape(batch, output_sizes(sizes, size, strides, dilations, padding), filters, data_format), x.dtype
    )


def _backprop_input_spec(input_sizes: Any, kernel: RankedSpec, g: RankedSpec, *window: Any) -> TensorSpec:
    x = RankedSpec(tuple(input_sizes), g.dtype)
    infer.require_shape(g, conv_spec(x, kernel, *window).shape)
    return x


def _backprop_filter_spec(x: RankedSpec, filter_sizes: Any, g: RankedSpec, *window: Any) -> TensorSpec:
    kernel = RankedSpec(tuple(filter_sizes), g.dtype)
    infer.require_shape(g, conv_spec(x, kernel, *window).shape)
    return kernel


# -- the primitives of each rank --------------------------------------------------------------------------------------


def _forward(
    x: Float, kernel: Float, strides: PerAxis, padding: Padding, dilations: PerAxis, data_format: DataFormat
) -> Tensor:
    """Convolution; see `conv`, which fills in the defaults."""


def _backprop_input(
    input_sizes: Ints,
    kernel: Float,
    g: Float,
    strides: PerAxis,
    padding: Padding,
    dilations: PerAxis,
    data_format: DataFormat,
) -> Tensor:
    """The gradient of a convolution by its input, whose shape is `input_sizes`, where `g` arrives at its output."""


def _backprop_filter(
    x: Float,
    filter_sizes: Ints,
    g: Float,
    strides: PerAxis,
    padding: Padding,
    dilations: PerAxis,
    data_format: DataFormat,
) -> Tensor:
    """The gradient of a convolution by its kernel, whose shape is `filter_sizes`, where `g` arrives at its output."""


def _samples(rank: int, arguments: Callable[[list[int], list[int], list[int]], tuple[Any, ...]]) -> list[Sample]:
    """Five calls: plain, strided, dilated, empty and depthwise.

    The strided call has asymmetric "same" padding.  The dilated call has groups, channels first and pairs of padding.
    The empty call has no elements along the first axis.  The depthwise call has two results of each channel.
    """
    one = (1,) * rank
    n, k = (5, 6, 3)[:rank], (3, 2, 2)[:rank]
    out = [a - b + 1 for a, b in zip(n, k, strict=True)]
    strided = [-(-a // 2) for a in n]
    dilated = [a + 1 - 2 * (b - 1) for a, b in zip(n, k, strict=True)]
    return [
        sample(*arguments([2, *n, 2], [*k, 2, 3], [2, *out, 3]), one, "valid", one, "channels_last"),
        sample(*arguments([1, *n, 1], [*k, 1, 2], [1, *strided, 2]), (2,) * rank, "same", one, "channels_last"),
        sample(
            *arguments([1, 4, *n], [*k, 2, 2], [1, 2, *dilated]), one, ((1, 0),) * rank, (2,) * rank, "channels_first"
        ),
        sample(
            *arguments([2, 0, *n[1:], 1], [*k, 1, 2], [2, 0, *strided[1:], 2]),
            (2,) * rank,
            "same",
            one,
            "channels_last",
        ),
        sample(*arguments([2, *n, 2], [*k, 1, 4], [2, *strided, 4]), (2,) * rank, "same", one, "channels_last"),
    ]


def _family(rank: int) -> tuple[Op, Op, Op]:
    """Add the three primitives of a rank to the table, each with the gradients that lead to the other two."""
    conv = primitive(
        f"Conv{rank}D",
        cost="convolution",
        infer=conv_spec,
        samples=_samples(rank, lambda x, k, g: (array(*x), array(*k))),
    )(_forward)
    backprop_input = primitive(
        f"Conv{rank}DBackpropInput",
        cost="convolution",
        infer=_backprop_input_spec,
        samples=_samples(rank, lambda x, k, g: (tuple(x), array(*k), array(*g))),
    )(_backprop_input)
    backprop_filter = primitive(
        f"Conv{rank}DBackpropFilter",
        cost="convolution",
        infer=_backprop_filter_spec,
        samples=_samples(rank, lambda x, k, g: (array(*x), tuple(k), array(*g))),
    )(_backprop_filter)

    @conv.gradient
    def _(op: Any, h: Any) -> Any:
        x, kernel, *window = op.args
        by_input = backprop_input(shape_of(x), kernel, h, *window) if op.needs(0) else None
        return by_input, backprop_filter(x, shape_of(kernel), h, *window) if op.needs(1) else None

    @backprop_input.gradient
    def _(op: Any, h: Any) -> Any:
        _, kernel, g, *window = op.args
        return backprop_filter(h, shape_of(kernel), g, *window), conv(h, kernel, *window)

    @backprop_filter.gradient
    def _(op: Any, h: Any) -> Any:
        x, _, g, *window = op.args
        return backprop_input(shape_of(x), h, g, *window), conv(x, h, *window)

    return conv, backprop_input, backprop_filter


_FAMILIES = {rank: _family(rank) for rank in RANKS}

# -- public functions -------------------------------------------------------------------------------------------------


def _rank_of(kernel: Any) -> int:
    shape = static_shape(kernel)
    rank = len(shape) - 2
    if rank not in RANKS:
        problem = f"a kernel must have rank 3, 4 or 5 (spatial..., in, out), but its shape is {tuple(shape)}."
        raise ValueError(problem)
    return rank


def _known(kernel: Any) -> tuple[int, ...]:
    shape = tuple(static_shape(kernel))
    if None in shape:
        raise ValueError(f"the shape of the kernel must be known here, but it is {shape}.")
    return shape


def _window(
    kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str | None
) -> tuple[Any, Any, Any, str]:
    """The static arguments of the primitives: strides, padding, dilations and data format."""
    rank = _rank_of(kernel)
    strides, padding, data_format, dilations = moves(rank, strides, padding, data_format, dilations, counted=False)
    if padding == "causal":
        padding = tuple(((k - 1) * d, 0) for k, d in zip(_known(kernel)[:-2], dilations, strict=True))
    return strides, padding, dilations, data_format


@checked
def conv(
    x: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Any] = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    name: str | None = None,
) -> Any:
    """Convolution over one, two or three spatial axes (a correlation: the kernel is not flipped).

    Args:
        x: the input, (batch, spatial..., channels), or (batch, channels, spatial...) if channels come first.
        kernel: (spatial..., channels / groups, output channels); its rank gives the number of spatial axes.
        strides: by how much the window moves, for all axes or each.
        padding: "valid" (none), "same", "causal", or a pair (before, after) for each axis.  With "same" the output size
            is input size / stride, rounded up, by TensorFlow's rule.  "causal" pads in front alone, so that no output
            sees a later input.
        data_format: "channels_last" or "channels_first"; `config.image_data_format()` if not given.
        dilation_rate: the distance between neighbouring elements of the window, for all axes or each.
        name: the name of the node in a graph.

    Returns:
        The output, in the same data format.

    Raises:
        ValueError: the window does not fit in the input, or the channels do not fit the kernel.

    Source: `keras.ops.conv`; Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.

    Example:
        >>> x = [[[1.], [2.], [3.], [4.]]]  # one row of four elements, one channel
        >>> conv(x, [[[1.]], [[10.]]]).numpy().reshape(-1)
        array([21., 32., 43.], dtype=float32)
    """
    kernel = shaped(kernel)
    forward = _FAMILIES[_rank_of(kernel)][0]
    return forward(x, kernel, *_window(kernel, strides, padding, dilation_rate, data_format), name=name)


@checked
def conv_transpose(
    x: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Any] = "valid",
    output_padding: int | Sequence[int] | None = None,
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    output_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Transposed convolution: the gradient by the input of a convolution of the same arguments; it enlarges its input.

    Args:
        x: the input, in the data format.
        kernel: (spatial..., output channels, input channels).
        strides, padding, data_format, dilation_rate: as for `conv`.
        output_padding: how much longer the output is than the shortest one, for all axes or each.  If it is not given,
            the output is `strides` times as long as the input ("same"), or as long as the windows reach ("valid").
        output_shape: the shape of the output, which overrides `output_padding`; it may hold tensors.
        name: the name of the node in a graph.

    Returns:
        The output, in the same data format.

    Raises:
        ValueError: the convolution of a tensor of the output's shape does not have the shape of `x`.

    Source: `keras.ops.conv_transpose`, `tf.nn.conv_transpose`.

    Example:
        >>> conv_transpose([[[1.], [2.]]], [[[1.]], [[10.]]], strides=2).numpy().reshape(-1)
        array([ 1., 10.,  2., 20.], dtype=float32)
    """
    x, kernel = shaped(x), shaped(kernel)
    window = _window(kernel, strides, padding, dilation_rate, data_format)
    if output_shape is None:
        steps, padding, dilations, layout = window
        _require_rank("input", seen(x), len(steps))
        batch, sizes, _ = split_shape(dims_of(x), layout)
        *size, filters, _ = _known(kernel)
        extra = (None,) * len(size) if output_padding is None else per_axis(output_padding, len(size))
        axes = zip(sizes, size, steps, dilations, extra, strict=True)
        output_shape = join_shape(batch, [_transposed_size(padding, *axis) for axis in axes], filters, layout)
    backprop_input = _FAMILIES[_rank_of(kernel)][1]
    return backprop_input(output_shape, kernel, x, *window, name=name)


def _transposed_size(padding: Any, n: Any, k: int, stride: int, dilation: int, extra: int | None) -> Any:
    """The output size along one axis, by Keras' rules."""
    span = (k - 1) * dilation + 1
    if padding == "same":
        return n * stride if extra is None else (n - 1) * stride + span % 2 + extra
    if padding != "valid":
        raise ValueError("with pairs of padding the output_shape must be given.")
    return (n - 1) * stride + (max(span, stride) if extra is None else span + extra)


@checked
def depthwise_conv(
    x: Any,
    kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Any] = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    name: str | None = None,
) -> Any:
    """Convolution of every channel with kernels of its own.

    Args:
        x: the input, in the data format.
        kernel: (spatial..., channels, multiplier): each channel gives `multiplier` output channels, side by side.
        strides, padding, data_format, dilation_rate, name: as for `conv`.

    Returns:
        The output, with channels * multiplier channels.

    Source: `keras.ops.depthwise_conv`.

    Example:
        >>> depthwise_conv([[[1., 2.]]], [[[10.], [100.]]]).numpy()
        array([[[ 10., 200.]]], dtype=float32)
    """
    kernel = shaped(kernel)
    _rank_of(kernel)
    *size, channels, multiplier = dims_of(kernel)
    grouped = reshape(kernel, (*size, 1, channels * multiplier))
    return conv(x, grouped, strides, padding, data_format, dilation_rate, name)


@checked
def separable_conv(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Any] = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    name: str | None = None,
) -> Any:
    """Depthwise convolution, then a convolution with windows of a single element that mixes the channels.

    Args:
        x: the input, in the data format.
        depthwise_kernel: (spatial..., channels, multiplier).
        pointwise_kernel: (1..., channels * multiplier, output channels).
        strides, padding, data_format, dilation_rate: as for `conv`; they apply to the depthwise convolution.
        name: the name of the last node in a graph.

    Raises:
        ValueError: the pointwise kernel is larger than one element, or the channels do not fit the kernels.

    Source: `keras.ops.separable_conv`.

    Example:
        >>> separable_conv([[[1., 2.]]], [[[10.], [100.]]], [[[1.], [1.]]]).numpy()
        array([[[210.]]], dtype=float32)
    """
    pointwise_kernel = shaped(pointwise_kernel)
    if any(size not in (1, None) for size in static_shape(pointwise_kernel)[:-2]):
        size = tuple(static_shape(pointwise_kernel))
        raise ValueError(f"the pointwise kernel must have the shape (1..., in, out), but it is {size}.")
    mapped = depthwise_conv(x, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(mapped, pointwise_kernel, 1, "same", data_format, 1, name)
