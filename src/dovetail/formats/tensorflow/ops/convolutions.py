"""Convolutions and biases: Conv2D, Conv3D, DepthwiseConv2dNative, their gradients; BiasAdd, BiasAddGrad.

TensorFlow's kernels need two or three axes, the channels last.  The backward kernels also lack dilation, groups and
padding by numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.formats.tensorflow.ops.windows import channels_first, channels_last, flat, is_first, moves_of
from dovetail.formats.tensorflow.table import body, row, rows, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

_CONVOLUTION = "strides@spatial padding@padding dilations@dilations data_format@layout"

rows(f"""
BiasAdd: x bias; data_format@layout
BiasAddV1 > BiasAdd: x bias; +data_format=channels_last
Conv2D Conv3D: x kernel; {_CONVOLUTION}
Conv2DBackpropInput: input_sizes? kernel g; {_CONVOLUTION}
Conv3DBackpropInputV2 = Conv3DBackpropInput: input_sizes? kernel g; {_CONVOLUTION}
Conv2DBackpropFilter: x filter_sizes? g; {_CONVOLUTION}
Conv3DBackpropFilterV2 = Conv3DBackpropFilter: x filter_sizes? g; {_CONVOLUTION}
""")


@row("BiasAddGrad: g; data_format@layout")
def _(g: Any, data_format: str) -> Any:
    channels = rank_of(g) - 1 if data_format == "channels_last" else 1
    return ops.sum(g, [axis for axis in range(rank_of(g)) if axis != channels])


@row(f"DepthwiseConv2dNative: x kernel; {_CONVOLUTION}")
def depthwise(x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, data_format: str) -> Any:
    """The convolution of each channel with kernels of its own."""
    height, width, channels, multiplier = dims_of(kernel)
    kernel = ops.reshape(kernel, [height, width, 1, channels * multiplier])
    return OPS["Conv2D"](x, kernel, strides, padding, dilations, data_format)


@row(f"DepthwiseConv2dNativeBackpropInput: sizes? kernel g; {_CONVOLUTION}")
def _(sizes: Any, kernel: Any, g: Any, **window: Any) -> Any:
    height, width, channels, multiplier = dims_of(kernel)
    kernel = ops.reshape(kernel, [height, width, 1, channels * multiplier])
    return OPS["Conv2DBackpropInput"](sizes, kernel, g, **window)


@row(f"DepthwiseConv2dNativeBackpropFilter: x sizes! g; {_CONVOLUTION}")
def _(x: Any, sizes: Sequence[int], g: Any, **window: Any) -> Any:
    height, width, channels, multiplier = sizes
    return ops.reshape(OPS["Conv2DBackpropFilter"](x, [height, width, 1, channels * multiplier], g, **window), sizes)


# -- writing ----------------------------------------------------------------------------------------------------------


def _parts(operation: Operation) -> tuple[Any, Any]:
    """The shapes of the image and of the kernel of a convolution, also of one of its gradients."""
    made, inputs = operation.outputs[0].shape, [tensor.shape for tensor in operation.inputs]
    if operation.type.endswith("BackpropInput"):
        return made, inputs[-2]
    return inputs[0], made if operation.type.endswith("BackpropFilter") else inputs[-1]


def channels_of(operation: Operation) -> Any:
    """The number of channels of its image, which come last; None if it is not known."""
    return _parts(operation)[0][-1]


def groups_of(operation: Operation) -> int:
    """Its number of groups; 1 if that is not known."""
    channels, inner = channels_of(operation), _parts(operation)[1][-2]
    return 1 if channels is None or not inner else int(channels // inner)


def is_by_channel(operation: Operation) -> bool:
    """Whether TensorFlow has a kernel that convolves each channel alone."""
    one_stride = len(set(operation.attrs["strides"])) == 1
    return "2D" in operation.type and _parts(operation)[1][-2] == 1 < groups_of(operation) and one_stride


BY_CHANNEL = "DepthwiseConv2dNative"


def _by_channel(place: Place, kernel: Any) -> Ref:
    """The shape of a kernel, (height, width, channels, results of each), in TensorFlow's order."""
    height, width, _, outputs = kernel
    channels = channels_of(place.operation)
    return place.constant([height, width, channels, outputs // channels], "shape")


@writes("Conv2D", is_by_channel)
def _convolve_by_channel(place: Place, x: Ref, kernel: Ref, *moves: Any) -> list[Ref]:
    kernel = place.node("Reshape", kernel, _by_channel(place, place.shapes[1]))
    return place.result(BY_CHANNEL, x, kernel, **moves_of(place))


@writes("Conv2DBackpropInput", is_by_channel)
def _to_input_by_channel(place: Place, sizes: Any, kernel: Ref, g: Ref, *moves: Any) -> list[Ref]:
    kernel = place.node("Reshape", kernel, _by_channel(place, place.operation.inputs[-2].shape))
    return place.result(f"{BY_CHANNEL}BackpropInput", place.taken(sizes, "sizes"), kernel, g, **moves_of(place))


@writes("Conv2DBackpropFilter", is_by_channel)
def _to_kernel_by_channel(place: Place, x: Ref, sizes: Any, g: Ref, *moves: Any) -> list[Ref]:
    sizes = place.operation.outputs[0].shape
    shape = _by_channel(place, sizes)
    gradient = place.node(f"{BY_CHANNEL}BackpropFilter", x, shape, g, **moves_of(place))
    return place.result("Reshape", gradient, place.constant(sizes, "sizes"))


# -- the channels last ------------------------------------------------------------------------------------------------

FORWARD, TO_INPUT, TO_KERNEL = (" ".join(CONVOLUTIONS[part]) for part in ("", "BackpropInput", "BackpropFilter"))


@body(FORWARD, is_first)
def _convolve_last(op: Any, x: Any, kernel: Any, *args: Any) -> Any:
    return channels_first(op(channels_last(x), kernel, *args[:-1], "channels_last"))


@body(TO_INPUT, is_first)
def _to_input_last(op: Any, sizes: Any, kernel: Any, g: Any, *args: Any) -> Any:
    sizes = [sizes[0], *(sizes[i] for i in range(2, rank_of(g))), sizes[1]]
    return channels_first(op(sizes, kernel, channels_last(g), *args[:-1], "channels_last"))


@body(TO_KERNEL, is_first)
def _to_kernel_last(op: Any, x: Any, sizes: Any, g: Any, *args: Any) -> Any:
    return op(channels_last(x), sizes, channels_last(g), *args[:-1], "channels_last")


# -- one axis ---------------------------------------------------------------------------------------------------------


def _wide(values: Any) -> Any:
    return values if isinstance(values, str) else ((1, *values) if isinstance(values[0], int) else ((0, 0), *values))


@body("Conv1D")
def _convolve(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    x, kernel = ops.expand_dims(x, 1), ops.expand_dims(kernel, 0)
    return flat(OPS["Conv2D"](x, kernel, _wide(strides), _wide(padding), _wide(dilations), layout))


@body("Conv1DBackpropInput")
def _to_input(op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    sizes = [sizes[0], 1, sizes[1], sizes[2]]
    g, kernel = ops.expand_dims(g, 1), ops.expand_dims(kernel, 0)
    moves = _wide(strides), _wide(padding), _wide(dilations), layout
    return flat(OPS["Conv2DBackpropInput"](sizes, kernel, g, *moves))


@body("Conv1DBackpropFilter")
def _to_kernel(op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    sizes = [1, *(sizes[i] for i in range(3))]
    moves = _wide(strides), _wide(padding), _wide(dilations), layout
    return ops.squeeze(OPS["Conv2DBackpropFilter"](ops.expand_dims(x, 1), sizes, ops.expand_dims(g, 1), *moves), 0)


# -- dilation, groups, padding ----------------------------------------------------------------------------------------


def _is_dilated(operation: Operation) -> bool:
    """Whether TensorFlow's kernels for processors refuse its dilation."""
    is_deep = operation.type == "Conv3D" and operation.inputs[0].dtype.name in ("float16", "float64")
    refuses = "Backprop" in operation.type or is_by_channel(operation) or is_deep
    return max(operation.attrs["dilations"]) > 1 and refuses


def _is_padded(operation: Operation) -> bool:
    is_explicit = not isinstance(operation.attrs["padding"], str)
    plain = operation.type == "Conv2D" and not is_by_channel(operation)
    return is_explicit and not plain


def _has_groups(operation: Operation) -> bool:
    return groups_of(operation) > 1 and not is_by_channel(operation)


def _ones(values: Sequence[int]) -> tuple[int, ...]:
    return (1,) * len(values)


def _spread(kernel: Any, dilations: Sequence[int]) -> Any:
    """A kernel with the zeros of dilation."""
    *window, inner, outer = dims_of(kernel)
    whole = [*((n - 1) * d + 1 for n, d in zip(window, dilations, strict=True)), inner, outer]
    return OPS["StridedSliceGrad"](kernel, whole, [0] * len(whole), whole, [*dilations, 1, 1])


def _padded(x: Any, padding: Any) -> Any:
    low, high = ([0, *(pair[i] for pair in padding), 0] for i in (0, 1))
    return OPS["PadV2"](x, low, high)


_TWO, _THREE = "Conv2D Conv3D", "Conv2DBackpropInput Conv3DBackpropInput"


@body(_TWO, _is_dilated)
def _dilated(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    return op(x, _spread(kernel, dilations), strides, padding, _ones(dilations), layout)


@body(_TWO, _is_padded)
def _with_pads(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    return op(_padded(x, padding), kernel, strides, "valid", dilations, layout)


@body(_TWO, _has_groups)
def _grouped(op: Any, x: Any, kernel: Any, *moves: Any) -> Any:
    count = known_dims(x)[-1] // known_dims(kernel)[-2]
    parts = zip(ops.split(x, count, -1), ops.split(kernel, count, -1), strict=True)
    return ops.concatenate([op(*part, *moves) for part in parts], -1)


@body(_THREE, _is_dilated)
def _dilated_input(
    op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    return op(sizes, _spread(kernel, dilations), g, strides, padding, _ones(dilations), layout)


@body(_THREE, _is_padded)
def _padded_input(op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, *rest: Any) -> Any:
    around = [(0, 0), *padding, (0, 0)]
    sizes = [sizes[i] for i in range(len(around))]
    whole = [n + sum(pair) for n, pair in zip(sizes, around, strict=True)]
    gradient = op(whole, kernel, g, strides, "valid", *rest)
    return gradient[tuple(slice(low, low + n) for n, (low, _) in zip(sizes, around, strict=True))]


@body(_THREE, _has_groups)
def _grouped_input(op: Any, sizes: Any, kernel: Any, g: Any, *moves: Any) -> Any:
    *others, channels = (sizes[i] for i in range(rank_of(g)))
    count = channels // known_dims(kernel)[-2]
    parts = zip(ops.split(kernel, count, -1), ops.split(g, count, -1), strict=True)
    return ops.concatenate([op([*others, channels // count], *part, *moves) for part in parts], -1)


_KERNELS = "Conv2DBackpropFilter Conv3DBackpropFilter"


@body(_KERNELS, _is_dilated)
def _dilated_kernel(
    op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str
) -> Any:
    *window, inner, outer = sizes
    whole = [*((n - 1) * d + 1 for n, d in zip(window, dilations, strict=True)), inner, outer]
    gradient = op(x, whole, g, strides, padding, _ones(dilations), layout)
    return gradient[tuple(slice(None, None, d) for d in dilations)]


@body(_KERNELS, _is_padded)
def _padded_kernel(op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, *rest: Any) -> Any:
    return op(_padded(x, padding), sizes, g, strides, "valid", *rest)


@body(_KERNELS, _has_groups)
def _grouped_kernel(op: Any, x: Any, sizes: Any, g: Any, *moves: Any) -> Any:
    *others, outer = sizes
    count = known_dims(x)[-1] // sizes[-2]
    parts = zip(ops.split(x, count, -1), ops.split(g, count, -1), strict=True)
    return ops.concatenate([op(a, [*others, outer // count], b, *moves) for a, b in parts], -1)
