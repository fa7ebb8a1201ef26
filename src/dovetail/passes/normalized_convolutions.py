"""Batch normalization of a convolution's result, by numbers that are given, becomes part of the convolution.

`(conv(x, kernel) - mean) * factor + offset` is `conv(x, kernel * factor) + (offset - mean * factor)`: products of the
kernel, which is small, in the place of two or three passes over the result.  While a model trains, the moments are
those of the result, which then has other uses; so this is for prediction.  XLA computes the normalization along with
the convolution, and is slower with the kernel's products before it; so this is for engines that do not.
"""

from __future__ import annotations

from dovetail import ops
from dovetail.core.infer import normalize_axis, size_of
from dovetail.core.windows import CONVOLUTIONS
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.passes.base import needs, sweep

TIMES = 4  # as large as the kernel the result must be, at least
NORMALIZED = frozenset(["BatchNormalization"])
DTYPES = ("float32", "float64")  # halves would lose what the factor makes small


@needs(NORMALIZED)
def normalize_kernels(graph: Graph) -> int:
    """Takes normalizations into the convolutions before them.

    Returns:
        How many were taken; `prune` removes what is not needed any more.
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
        graph.rewire(op.outputs[0], convolved.op.op(x, kernel * factor, *window) + bias)
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
