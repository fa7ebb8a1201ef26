"""Fusion of convolutions: the ops after a convolution become part of it, if the engine claims that as one op.

The pass takes in a bias, an added tensor of the result's shape, and an activation, one after the other, as long as
nothing else needs the result before.  So it is mostly for prediction.  It works in training with relu, whose gradient
needs only its result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.core.base.windows import CONVOLUTIONS
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.graph.pass_edits import rewire
from dovetail.ops.nn.fused import ACTIVATIONS, fused_conv
from dovetail.passes.base import needs, sweep

FUSED = fused_conv.name
DTYPES = ("float32", "float64")  # halves are rounded after each step
CONVOLVED = frozenset([*CONVOLUTIONS[""], FUSED])
FOLLOWERS = frozenset(["AddV2", *ACTIVATIONS])


class Parts(NamedTuple):
    """The arguments of a fused convolution."""

    x: Any
    kernel: Any
    bias: Any
    addend: Any
    window: Any
    activation: str = ""

    def build(self) -> Any:
        return fused_conv(self.x, self.kernel, self.bias, self.addend, *self.window, self.activation)  # type: ignore[call-overload]


@needs(CONVOLVED)
def fuse_convolutions(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Replace convolutions and the ops after them by fused convolutions.

    Args:
        graph: the graph to edit.
        claimed: (operation) → the names of the ops that its engine claims.

    Returns:
        The number of operations that were taken in; `prune` removes operations that are not needed any more.
    """

    def visit(op: Operation) -> int:
        if FUSED not in claimed(op):
            return 0
        fusion = _with_addition(op) if op.type == "AddV2" else _with_activation(op)
        if fusion is None:
            return 0
        rewire(graph, op.outputs[0], fusion.build())
        return 1

    return sweep(graph, visit, graph.of_types(FOLLOWERS))


def _with_activation(op: Operation) -> Parts | None:
    parts = _free_parts(op, op.inputs[0])
    return parts and parts._replace(activation=op.type)


def _with_addition(op: Operation) -> Parts | None:
    x, y = op.inputs
    for convolved, other in ((y, x), (x, y)):
        parts = _free_parts(op, convolved)
        if parts is None or other is convolved or convolved.shape != op.outputs[0].shape:
            continue
        if parts.bias is None and parts.addend is None and _is_bias(other, convolved, parts.window[-1]):
            return parts._replace(bias=_as_vector(other))
        if parts.addend is None and other.shape == convolved.shape:
            return parts._replace(addend=other)
    return None


def _free_parts(op: Operation, convolved: GraphTensor) -> Parts | None:
    """The parts of a tensor's producer, if it is a convolution without an activation that only this operation uses."""
    made = convolved.op
    if made.type not in CONVOLVED or convolved.dtype not in DTYPES or convolved.shape is None:
        return None
    if made.pin != op.pin or len(convolved.uses()) > 1 or convolved in set(op.graph.outputs):
        return None
    if made.type == FUSED:
        x, kernel, bias, addend, *window, activation = made.args
        return None if activation else Parts(x, kernel, bias, addend, tuple(window))
    x, kernel, *window = made.args
    return Parts(x, kernel, None, None, tuple(window))


def _is_bias(tensor: GraphTensor, convolved: GraphTensor, data_format: str) -> bool:
    """Whether a tensor has one number for each channel, the same at all positions."""
    if tensor.shape is None or convolved.shape is None or len(tensor.shape) > len(convolved.shape):
        return False
    channels = len(convolved.shape) - 1 if data_format == "channels_last" else 1
    first = len(convolved.shape) - len(tensor.shape)
    wanted = [convolved.shape[i] if i == channels else 1 for i in range(first, len(convolved.shape))]
    return first <= channels and None not in wanted and list(tensor.shape) == wanted


def _as_vector(bias: GraphTensor) -> Any:
    if bias.ndim == 1:
        return bias
    given = bias.op.inputs[0] if bias.op.type == "Reshape" else bias
    return given if given.ndim == 1 else ops.reshape(bias, (-1,))
