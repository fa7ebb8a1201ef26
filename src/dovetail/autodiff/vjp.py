"""Splitting a graph into a forward program that keeps what the backward program needs, and that backward program.

Compiled functions and loops are differentiated this way: nothing is computed twice, and both programs are graphs
like any other, so the backward program can be split again for higher orders.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.autodiff.graph_gradients import gradients
from dovetail.graph.copying import copy_into
from dovetail.graph.ir import Graph, GraphTensor, Operation


@dataclass
class Split:
    """The two programs.

    Attributes:
        forward: the graph; after its own outputs it returns `kept` more tensors.
        kept: how many tensors are handed from the forward to the backward program.
        backward: takes the kept tensors, then a gradient for each of `outputs`; returns a gradient for each of `inputs`.
        outputs: the numbers of the forward outputs that gradients arrive at.
        inputs: the numbers of the differentiated inputs, of those that a gradient reaches.
    """

    forward: Graph
    kept: int
    backward: Graph
    outputs: list[int]
    inputs: list[int]


def split(graph: Graph, sources: list[int] | None = None) -> Split:
    """Splits a graph for differentiation with respect to its inputs.

    Args:
        graph: it is not changed.
        sources: numbers of the inputs to differentiate by; all float inputs if not given.
    """
    whole = Graph(graph.name)
    inputs = [whole.placeholder(t.spec, t.op.name) for t in graph.inputs]
    results = copy_into(graph, whole, inputs)
    sources = [i for i in (range(len(inputs)) if sources is None else sources) if inputs[i].dtype.is_differentiable]
    targets = [i for i, t in enumerate(results) if t.dtype.is_differentiable]
    forward_ops = set(whole.operations)
    arriving = [whole.placeholder(results[i].spec, f"gradient{i}") for i in targets]
    found = gradients([results[i] for i in targets], [inputs[i] for i in sources], arriving)
    reached = [i for i, g in zip(sources, found, strict=True) if g is not None]
    departing = [g for g in found if g is not None]
    kept, backward = _cut(whole, forward_ops, arriving, departing)
    whole.inputs = inputs
    whole.outputs = [*results, *kept]
    whole.discard([op for op in reversed(whole.operations) if op not in forward_ops])
    return Split(whole, len(kept), backward, targets, reached)


def _cut(
    whole: Graph, forward_ops: set[Operation], arriving: list[GraphTensor], departing: list[GraphTensor]
) -> tuple[list[GraphTensor], Graph]:
    """The forward tensors that the later operations use, and those operations as a graph of their own."""
    backward = Graph(f"{whole.name}_backward")
    mapped: dict[GraphTensor, GraphTensor] = {}
    kept: list[GraphTensor] = []
    later = _needed(departing, forward_ops)
    for tensor in dict.fromkeys([t for op in later for t in op.inputs] + departing):
        if tensor.op not in forward_ops:
            continue
        if tensor.op.type == "Const":
            mapped[tensor] = backward.constant(tensor.op.attrs["value"])
        else:
            mapped[tensor] = backward.placeholder(tensor.spec, tensor.op.name.replace("/", "_"))
            kept.append(tensor)
    for tensor in arriving:
        mapped[tensor] = backward.placeholder(tensor.spec, tensor.op.name)
    for op in later:
        if op.outputs[0] in mapped:
            continue
        inputs = [mapped[t] for t in op.inputs]
        copy = backward.add(op.op, inputs, dict(op.attrs), [t.spec for t in op.outputs], op.layout, op.name)
        copy.where = op.where
        mapped.update(zip(op.outputs, copy.outputs, strict=True))
    backward.outputs = [mapped[t] for t in departing]
    return kept, backward


def _needed(tensors: list[GraphTensor], forward_ops: set[Operation]) -> list[Operation]:
    """The operations outside of the forward part that these tensors need, in program order."""
    found: set[Operation] = set()
    todo = [t.op for t in tensors]
    while todo:
        op = todo.pop()
        if op not in found and op not in forward_ops:
            found.add(op)
            todo += [t.op for t in op.inputs]
    return [op for op in (tensors[0].graph.operations if tensors else []) if op in found]
