"""TensorFlow's names for convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, function, of_rank, row
from dovetail.core.base.windows import PADDINGS, Moves, moves, spatial
from dovetail.core.values.shapes import fits
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.ops.shapes.shape import shaped


def layout_of(data_format: str | None) -> str:
    """Dovetail's word for TensorFlow's, "NHWC" or "NCHW"."""
    if data_format is None or (data_format.startswith("N") and data_format.endswith("C")):
        return "channels_last"
    if data_format.startswith("NC"):
        return "channels_first"
    raise ValueError(f"a data_format is as NHWC or as NCHW, not {data_format!r}.")


def moves_of(rank: int, strides: Any, padding: Any, data_format: str | None, dilations: Any = None) -> Moves:
    """How windows move, by TensorFlow's words."""
    if isinstance(padding, str) and padding.lower() not in PADDINGS:
        raise ValueError(f"padding is SAME, VALID or a list of pairs, not {padding!r}.")
    return moves(rank, strides, padding, layout_of(data_format), dilations, around=True)


def _convolution(rank: int, x: Any, filters: Any, window: Moves, name: str | None) -> Any:
    x, filters = alike_values([x, filters])
    for tensor in (x, filters):
        if not fits(shape := static_shape(shaped(tensor)), (None,) * (rank + 2)):
            raise ValueError(f"input and filters have {rank + 2} axes, not {shape}.")
    return ops.conv(of_rank(x, rank + 2), of_rank(filters, rank + 2), *window, name=name)


@function(
    "nn.conv1d",
    v1="value:input filters stride padding use_cudnn_on_gpu data_format name input dilations",
)
def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over steps.

    Source: `tf.nn.conv1d`.
    """
    return _convolution(1, input, filters, moves_of(1, stride, padding, data_format, dilations), name)


@function(
    "nn.conv2d",
    v1="input filter:filters strides padding use_cudnn_on_gpu data_format dilations name filters",
)
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over images.

    Source: `tf.nn.conv2d`.
    """
    return _convolution(2, input, filters, moves_of(2, strides, padding, data_format, dilations), name)


@function("nn.conv3d", v1="input filter:filters strides padding data_format dilations name filters")
def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over volumes.

    Source: `tf.nn.conv3d`.
    """
    return _convolution(3, input, filters, moves_of(3, strides, padding, data_format, dilations), name)


def _any_convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    rank = len(static_shape(shaped(filters))) - 2
    return _convolution(rank, input, filters, moves_of(rank, strides or 1, padding, data_format, dilations), name)


row(
    "nn.convolution",
    _any_convolution,
    "input filters strides padding data_format dilations",
    v1="input filter:filters padding strides dilation_rate:dilations name data_format filters dilations",
)


def _transposed(rank: int) -> Callable[..., Any]:
    def transposed(
        input: Any,
        filters: Any,
        output_shape: Any,
        strides: Any,
        padding: Any = "SAME",
        data_format: str | None = None,
        dilations: Any = None,
        name: str | None = None,
    ) -> Any:
        window = moves_of(rank, strides, padding, data_format, dilations)
        shape = output_shape if is_tensor(output_shape) else list(output_shape)
        input, filters = of_rank(input, rank + 2), of_rank(filters, rank + 2)
        return ops.conv_transpose(
            input, filters, window.strides, window.padding, None, window.data_format, window.dilations, shape, name
        )

    return transposed


_TRANSPOSED = "input filters output_shape strides padding data_format dilations"
row("nn.conv1d_transpose", _transposed(1), _TRANSPOSED, v1="+")
row(
    "contrib.nn.conv1d_transpose",
    _transposed(1),
    "value:input filter:filters output_shape stride:strides padding data_format",
)
for _rank in (2, 3):
    row(
        f"nn.conv{_rank}d_transpose",
        _transposed(_rank),
        _TRANSPOSED,
        v1="value:input filter:filters output_shape strides padding data_format name input filters dilations",
    )


def _depthwise(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    window = moves_of(2, strides, padding, data_format, dilations)
    return ops.depthwise_conv(of_rank(input, 4), of_rank(filter, 4), *window, name=name)


row(
    "nn.depthwise_conv2d",
    _depthwise,
    "input filter strides padding data_format dilations",
    v1="input filter strides padding rate:dilations name data_format dilations",
)
row("nn.depthwise_conv2d_native", _depthwise, "input filter strides padding data_format dilations")


def _separable(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    window = moves_of(2, strides, padding, data_format, dilations)
    depthwise, pointwise = of_rank(depthwise_filter, 4), of_rank(pointwise_filter, 4)
    return ops.separable_conv(of_rank(input, 4), depthwise, pointwise, *window, name=name)


row(
    "nn.separable_conv2d",
    _separable,
    "input depthwise_filter pointwise_filter strides padding data_format dilations",
    v1="input depthwise_filter pointwise_filter strides padding rate:dilations name data_format dilations",
)


@function("nn.atrous_conv2d")
def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Any:
    """Convolution with gaps between the elements of the window.

    Source: `tf.nn.atrous_conv2d`.
    """
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


@function("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Any:
    """The transpose of a convolution with gaps between the elements of the window.

    Source: `tf.nn.atrous_conv2d_transpose`.
    """
    return _transposed(2)(value, filters, output_shape, 1, padding, None, rate, name)


def _pool(rank: int | None, pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
    ) -> Any:
        shape = static_shape(shaped(input))
        axes = rank or len(ksize if shape is None else shape) - 2
        steps, pads, layout, _ = moves_of(axes, strides, padding, data_format)
        return pool(of_rank(input, axes + 2), spatial(ksize, axes, layout), steps, pads, layout, name=name)

    return pooled


_POOL = "input ksize strides padding data_format"
for _name, _op in {"max_pool": ops.max_pool, "avg_pool": ops.average_pool}.items():
    row(f"nn.{_name}", _pool(None, _op), _POOL, v1=f"value:{_POOL} name input")
    for _rank in (1, 2, 3):
        row(f"nn.{_name}{_rank}d", _pool(_rank, _op), _POOL)


_POOLS = {"MAX": _pool(None, ops.max_pool), "AVG": _pool(None, ops.average_pool)}


_REDUCTIONS = {"MAX": ops.max, "AVG": ops.mean}


def _dilated_pool(input: Any, size: tuple[int, ...], window: Moves, reduce: Callable[..., Any], name: Any) -> Any:
    """A pool of windows with gaps, which, as in TensorFlow, move by 1 and never leave the input."""
    if max(window.strides) > 1 or window.padding != "valid":
        needed = f"dilations of {window.dilations} need strides of 1 and the padding VALID"
        raise ValueError(f"{needed}, not {window.strides} and {str(window.padding).upper()}.")
    rank, is_first = len(size), window.data_format == "channels_first"
    x = of_rank(input, rank + 2)
    x = ops.moveaxis(x, 1, -1) if is_first else x
    windows = ops.sliding_windows(x, size, window.strides, window.dilations, window.padding)
    pooled = reduce(windows, tuple(range(1 + rank, 1 + 2 * rank)))
    return ops.identity(ops.moveaxis(pooled, -1, 1) if is_first else pooled, name=name)


def _any_pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    if pooling_type not in _POOLS:
        raise ValueError(f"the pooling_type is one of {', '.join(_POOLS)}, not {pooling_type!r}.")
    window = moves_of(len(window_shape), strides or 1, padding, data_format, dilations)
    if max(window.dilations) > 1:
        return _dilated_pool(input, tuple(window_shape), window, _REDUCTIONS[pooling_type], name)
    return _POOLS[pooling_type](input, list(window_shape), strides or 1, padding, data_format, name)


row(
    "nn.pool",
    _any_pool,
    "input window_shape pooling_type strides padding data_format dilations",
    v1="input window_shape pooling_type padding dilation_rate:dilations strides name data_format input dilations",
)
