"""Residuals: an op and its gradient op become a body that keeps what its gradient needs, and the rest of the gradient.

An op such as LSTM and its gradient, LSTMGrad, are both composites, for engines with kernels for them.  The body of the
gradient op computes the gates of all steps again.  Where an engine has neither kernel, the gradients of the op's body
take less time: its loop keeps the gates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from operator import is_
from typing import Any

from dovetail import ops
from dovetail.autodiff.vjp import split
from dovetail.core.base.table import GRADIENTS
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.pass_edits import discard, supersede
from dovetail.passes.base import needs
from dovetail.passes.composites import body_of, copy_for


@needs(GRADIENTS.keys())
def keep_residuals(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Replace ops and their gradient ops in a graph, where their engines claim neither, by the gradients of the bodies.

    Args:
        graph: the graph to edit.
        claimed: (operation) → the names of the ops that its engine claims.

    Returns:
        The number of replaced gradient ops.
    """
    pairs: dict[Operation, list[Operation]] = defaultdict(list)
    for gradient in graph.of_types(GRADIENTS):
        forward = _forward_of(gradient)
        if forward is not None and not any(op.type in claimed(op) for op in (forward, gradient)):
            pairs[forward].append(gradient)
    for forward, gradients in pairs.items():
        _differentiate(forward, gradients)
    return sum(map(len, pairs.values()))


def _forward_of(gradient: Operation) -> Operation | None:
    """The operation of the same graph whose gradients an operation computes, from some of its results."""
    kind, inputs = GRADIENTS[gradient.type], gradient.inputs
    for op in dict.fromkeys(t.op for t in inputs):
        if op.type == kind:
            known = inputs[len(op.outputs) : len(inputs) - len(op.inputs)]
            if all(t.op is op for t in known) and all(map(is_, inputs[-len(op.inputs) :], op.inputs)):
                return op
    return None


def _differentiate(forward: Operation, gradients: Sequence[Operation]) -> None:
    """Replace an operation by its body, and operations for its gradients by the gradients of the body."""
    graph, results, inputs = forward.graph, len(forward.outputs), forward.inputs
    targets = [i for i in range(results) if any(op.inputs[i].op.type != "ZerosLike" for op in gradients)]
    work = split(body_of(forward), targets)
    outputs, _ = copy_for(forward, work.forward, inputs)
    supersede(graph, forward, outputs[:results])
    for op in gradients:
        given = [*outputs[results:], *(op.inputs[i] for i in work.outputs)]
        copies = dict(zip(work.inputs, copy_for(op, work.backward, given)[0], strict=True))
        with graph.replacing(op):
            departing: Any = [copies[i] if i in copies else ops.zeros_like(t) for i, t in enumerate(inputs)]
        supersede(graph, op, departing)
    discard(graph, [forward, *gradients])
