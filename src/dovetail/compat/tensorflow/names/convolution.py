"""TensorFlow's names for convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, function, of_rank, row
from dovetail.core.errors import op_error
from dovetail.core.infer import fits
from dovetail.core.value_kinds import is_tensor, static_shape
from dovetail.ops.shapes.shape import shaped


def _per_axis(title: str, numbers: Any, rank: int, channels_first: bool) -> list[int]:
    """A number for each spatial axis, from one number, from one for each spatial axis, or from one for every axis."""
    numbers = [numbers] if not isinstance(numbers, (list, tuple)) and not hasattr(numbers, "__len__") else numbers
    numbers = [int(n) for n in numbers]
    if len(numbers) == 1:
        return numbers * rank
    if len(numbers) == rank + 2:
        around = (numbers[0], numbers[1] if channels_first else numbers[-1])
        if around != (1, 1):
            raise op_error(ValueError, f"tf.{title}", f"nothing moves along the batch and the channels: {numbers}.")
        return numbers[2:] if channels_first else numbers[1:-1]
    if len(numbers) != rank:
        raise op_error(ValueError, f"tf.{title}", f"it needs one number, {rank} or {rank + 2}, not {numbers}.")
    return numbers


def layout_of(title: str, data_format: str | None) -> str:
    """Dovetail's word for TensorFlow's, "NHWC" or "NCHW"."""
    if data_format is None or (data_format.startswith("N") and data_format.endswith("C")):
        return "channels_last"
    if data_format.startswith("NC"):
        return "channels_first"
    raise op_error(ValueError, f"tf.{title}", f"a data_format is as NHWC or as NCHW, not {data_format!r}.")


def _window(
    title: str, rank: int, strides: Any, padding: Any, data_format: str | None, dilations: Any = None
) -> dict[str, Any]:
    """The window of a convolution as Dovetail's arguments."""
    layout = layout_of(title, data_format)
    first = layout == "channels_first"
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise op_error(ValueError, f"tf.{title}", f"padding is SAME, VALID or a list of pairs, not {padding!r}.")
        pads: Any = padding.lower()
    else:
        pads = [tuple(pair) for pair in (padding[2:] if first else padding[1:-1])]
    found = {"strides": _per_axis(title, strides, rank, first), "padding": pads, "data_format": layout}
    return found if dilations is None else found | {"dilation_rate": _per_axis(title, dilations, rank, first)}


def _convolution(title: str, rank: int, x: Any, filters: Any, window: Any, name: str | None) -> Any:
    x, filters = alike_values([x, filters])
    for tensor in (x, filters):
        if not fits(shape := static_shape(shaped(tensor)), (None,) * (rank + 2)):
            raise op_error(ValueError, f"tf.{title}", f"input and filters have {rank + 2} axes, not {shape}.")
    x, filters = of_rank(x, rank + 2), of_rank(filters, rank + 2)
    return ops.conv(x, filters, name=name, **window)


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
    window = _window("nn.conv1d", 1, stride, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv1d", 1, input, filters, window, name)


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
    window = _window("nn.conv2d", 2, strides, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv2d", 2, input, filters, window, name)


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
    window = _window("nn.conv3d", 3, strides, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv3d", 3, input, filters, window, name)


def _transposed(title: str, rank: int) -> Callable[..., Any]:
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
        window = _window(title, rank, strides, padding, data_format, 1 if dilations is None else dilations)
        shape = output_shape if is_tensor(output_shape) else list(output_shape)
        input, filters = of_rank(input, rank + 2), of_rank(filters, rank + 2)
        return ops.conv_transpose(input, filters, output_shape=shape, name=name, **window)

    return transposed


_TRANSPOSED = "input filters output_shape strides padding data_format dilations"
for _rank in (2, 3):
    row(
        f"nn.conv{_rank}d_transpose",
        _transposed(f"nn.conv{_rank}d_transpose", _rank),
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
    title = "nn.depthwise_conv2d"
    window = _window(title, 2, strides, padding, data_format, 1 if dilations is None else dilations)
    return ops.depthwise_conv(of_rank(input, 4), of_rank(filter, 4), name=name, **window)


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
    title = "nn.separable_conv2d"
    window = _window(title, 2, strides, padding, data_format, 1 if dilations is None else dilations)
    kernels = of_rank(depthwise_filter, 4), of_rank(pointwise_filter, 4)
    return ops.separable_conv(of_rank(input, 4), *kernels, name=name, **window)


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


def _pool(title: str, rank: int | None, pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
    ) -> Any:
        shape = static_shape(shaped(input))
        axes = rank or len(ksize if shape is None else shape) - 2
        window = _window(title, axes, strides, padding, data_format)
        size = _per_axis(title, ksize, axes, window["data_format"] == "channels_first")
        return pool(of_rank(input, axes + 2), size, name=name, **window)

    return pooled


_POOL = "input ksize strides padding data_format"
for _name, _op in {"max_pool": ops.max_pool, "avg_pool": ops.average_pool}.items():
    row(f"nn.{_name}", _pool(f"nn.{_name}", None, _op), _POOL, v1=f"value:{_POOL} name input")
    for _rank in (1, 2, 3):
        title = f"nn.{_name}{_rank}d"
        row(title, _pool(title, _rank, _op), _POOL)
