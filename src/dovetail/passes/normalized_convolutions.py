"""Batch normalization of a convolution's result, by given moments, becomes part of the convolution.

`(conv(x, kernel) - mean) * factor + offset` is `conv(x, kernel * factor) + (offset - mean * factor)`.  This multiplies
the kernel, which is small, instead of passing over the result two or three times.  It is for prediction: in training,
the moments come from the result, which then has other uses.  It is for engines other than XLA, which computes the
normalization along with the convolution, and is slower with the kernel's products before it.
"""

from __future__ import annotations

from dovetail import ops
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.core.values.shapes import normalize_axis, size_of
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.pass_edits import rewire
from dovetail.passes.base import needs, sweep

TIMES = 4  # the least size of the result, in sizes of the kernel
NORMALIZED = frozenset(["BatchNormalization"])
DTYPES = ("float32", "float64")  # halves would lose numbers that the factor makes small


@needs(NORMALIZED)
def normalize_kernels(graph: Graph) -> int:
    """Take normalizations into the convolutions before them.

    Returns:
        The number of normalizations taken in; `prune` removes operations that are not needed any more.
    """
    returned = set(graph.outputs)

    def visit(op: Operation) -> int:
        if not _fits(op, op.inputs[0], returned):
            return 0
        convolved, mean, variance, offset, scale, axis, epsilon = op.args
        factor = ops.rsqrt(variance + epsilon)
        factor = factor if scale is None else factor * scale
        x, kernel, *window = convolved.op.args
        bias = -mean * factor if offset is None else offset - mean * factor
        after = convolved.ndim - 1 - normalize_axis(axis, convolved.ndim)  # axes behind the channels
        bias = ops.reshape(bias, (-1, *[1] * after)) if after else bias
        rewire(graph, op.outputs[0], convolved.op.op(x, kernel * factor, *window) + bias)
        return 1

    return sweep(graph, visit, graph.of_types(NORMALIZED))


def _fits(op: Operation, convolved: GraphTensor, returned: set[GraphTensor]) -> bool:
    made = convolved.op
    if made.type not in CONVOLUTIONS[""] or made.pin != op.pin or convolved.dtype not in DTYPES:
        return False
    if len(convolved.uses()) > 1 or convolved in returned or convolved.shape is None:
        return False
    channels = -1 if made.attrs["data_format"] == "channels_last" else 1
    result = size_of(tuple(1 if dim is None else dim for dim in convolved.shape)) or 0
    kernel = size_of(made.inputs[1].shape)
    rank = len(convolved.shape)
    return normalize_axis(op.attrs["axis"], rank) == channels % rank and kernel is not None and result >= TIMES * kernel
