"""Bodies of convolutions, pools and windows, whose kernels of TensorFlow need two or three axes, the channels last.

The backward kernels also lack dilation, groups and padding by numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.base.windows import CONVOLUTIONS, POOLS, Windows
from dovetail.formats.tensorflow.written_nodes import body
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.ops.shapes.shape import dims_of

FORWARD, TO_INPUT, TO_KERNEL = (" ".join(CONVOLUTIONS[part]) for part in ("", "BackpropInput", "BackpropFilter"))
POOL_TYPES = " ".join(name + part for names in POOLS.values() for name in names for part in ("", "Grad", "GradGrad"))

# -- layouts ----------------------------------------------------------------------------------------------------------


def _is_first(operation: Operation) -> bool:
    return operation.attrs["data_format"] == "channels_first"


def _last(x: Any) -> Any:
    rank = len(x.shape)
    return ops.transpose(x, (0, *range(2, rank), 1))


def _first(x: Any) -> Any:
    rank = len(x.shape)
    return ops.transpose(x, (0, rank - 1, *range(1, rank - 1)))


@body(POOL_TYPES, _is_first)
def _pool_last(op: Any, *args: Any) -> Any:
    *moved, _ = (_last(arg) if type(arg) is GraphTensor else arg for arg in args)
    return _first(op(*moved, "channels_last"))


@body(FORWARD, _is_first)
def _convolve_last(op: Any, x: Any, kernel: Any, *args: Any) -> Any:
    return _first(op(_last(x), kernel, *args[:-1], "channels_last"))


@body(TO_INPUT, _is_first)
def _to_input_last(op: Any, sizes: Any, kernel: Any, g: Any, *args: Any) -> Any:
    sizes = [sizes[0], *(sizes[i] for i in range(2, len(g.shape))), sizes[1]]
    return _first(op(sizes, kernel, _last(g), *args[:-1], "channels_last"))


@body(TO_KERNEL, _is_first)
def _to_kernel_last(op: Any, x: Any, sizes: Any, g: Any, *args: Any) -> Any:
    return op(_last(x), sizes, _last(g), *args[:-1], "channels_last")


# -- one axis ---------------------------------------------------------------------------------------------------------


def _wide(values: Any) -> Any:
    return values if isinstance(values, str) else ((1, *values) if isinstance(values[0], int) else ((0, 0), *values))


def _flat(x: Any) -> Any:
    return ops.squeeze(x, 1)


@body("Conv1D")
def _convolve(op: Any, x: Any, kernel: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    x, kernel = ops.expand_dims(x, 1), ops.expand_dims(kernel, 0)
    return _flat(OPS["Conv2D"](x, kernel, _wide(strides), _wide(padding), _wide(dilations), layout))


@body("Conv1DBackpropInput")
def _to_input(op: Any, sizes: Any, kernel: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    sizes = [sizes[0], 1, sizes[1], sizes[2]]
    g, kernel = ops.expand_dims(g, 1), ops.expand_dims(kernel, 0)
    moves = _wide(strides), _wide(padding), _wide(dilations), layout
    return _flat(OPS["Conv2DBackpropInput"](sizes, kernel, g, *moves))


@body("Conv1DBackpropFilter")
def _to_kernel(op: Any, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, dilations: Any, layout: str) -> Any:
    sizes = [1, *(sizes[i] for i in range(3))]
    moves = _wide(strides), _wide(padding), _wide(dilations), layout
    return ops.squeeze(OPS["Conv2DBackpropFilter"](ops.expand_dims(x, 1), sizes, ops.expand_dims(g, 1), *moves), 0)


@body(" ".join(name for name in POOL_TYPES.split() if "1D" in name))
def _pool(op: Any, *args: Any) -> Any:
    *tensors, size, strides, padding, layout = args
    wide = OPS[op.name.replace("1D", "")]
    return _flat(wide(*(ops.expand_dims(x, 1) for x in tensors), (1, *size), (1, *strides), padding, layout))


# -- dilation, groups, padding ----------------------------------------------------------------------------------------


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
    count = x.shape[-1] // kernel.shape[-2]
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
    *others, channels = (sizes[i] for i in range(len(g.shape)))
    count = channels // kernel.shape[-2]
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
    count = x.shape[-1] // sizes[-2]
    parts = zip(ops.split(x, count, -1), ops.split(g, count, -1), strict=True)
    return ops.concatenate([op(a, [*others, outer // count], b, *moves) for a, b in parts], -1)


# -- windows ----------------------------------------------------------------------------------------------------------


@body("OverlapAdd")
def _overlap(op: Any, patches: Any, sizes: Any, size: Any, strides: Any, dilations: Any, padding: Any) -> Any:
    """Each element of the windows at its places, with zeros between them; their sum."""
    windows, rank = Windows(size, strides, dilations, padding), len(size)
    sizes = [sizes[i] for i in range(rank + 2)]
    inside = sizes[1:-1]
    whole = [sizes[0], *windows.padded(inside), sizes[-1]]
    total: Any = None
    for element, at in windows.elements(dims_of(patches)[1 : rank + 1]):
        begin, end = ([0, *(getattr(s, part) for s in at), 0] for part in ("start", "stop"))
        part = patches[(..., *element, slice(None))]
        spread = OPS["StridedSliceGrad"](part, whole, begin, [whole[0], *end[1:-1], whole[-1]], [1, *strides, 1])
        total = spread if total is None else total + spread
    return total[(slice(None), *windows.inside(inside))]
