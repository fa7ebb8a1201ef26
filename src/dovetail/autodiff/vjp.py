"""Differentiating whole graphs: the gradient of a graph is a graph.

`gradient_graph` gives the gradient as a program of the inputs.  `split` gives two programs: the forward program also
returns the tensors that the backward program needs, so nothing is computed twice.  Compiled functions and loops are
differentiated this way.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.autodiff.graph_gradients import gradients
from dovetail.core.base.scopes import record_on
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import copy_graph, transplant
from dovetail.graph.graph_scopes import made_for_gradient
from dovetail.graph.pass_edits import discard
from dovetail.graph.reach import reach


@dataclass
class Split:
    """The forward and the backward program of a graph.

    Attributes:
        forward: the graph; after its own outputs it returns `kept` more tensors.
        kept: the number of tensors that the forward program hands to the backward program.
        backward: takes the kept tensors, then a gradient for each of `outputs`; returns one for each of `inputs`.
        outputs: the numbers of the forward outputs at which gradients arrive.
        inputs: the numbers of the differentiated inputs that a gradient reaches.
    """

    forward: Graph
    kept: int
    backward: Graph
    outputs: list[int]
    inputs: list[int]


@dataclass
class _Whole:
    """A graph that also computes its gradient: `results` are its outputs, `departing` the gradients of `inputs`."""

    graph: Graph
    results: list[GraphTensor]
    forward: set[Operation]
    arriving: list[GraphTensor]
    departing: list[GraphTensor]
    outputs: list[int]
    inputs: list[int]


def _differentiate(graph: Graph, targets: list[int] | None) -> _Whole:
    whole = copy_graph(graph)
    inputs, results = list(whole.inputs), list(whole.outputs)
    sources = [i for i, t in enumerate(inputs) if t.dtype.is_differentiable]
    if targets is None:
        targets = [i for i, t in enumerate(results) if t.dtype.is_differentiable]
    forward = set(whole.operations)
    arriving = []
    for i in targets:
        with made_for_gradient(whole, results[i].op):
            arriving.append(whole.placeholder(results[i].spec, f"gradient{i}"))
    with record_on(()), whole.as_default():
        derivatives = gradients([results[i] for i in targets], [inputs[i] for i in sources], arriving)
    reached = [i for i, g in zip(sources, derivatives, strict=True) if g is not None]
    departing = [g for g in derivatives if g is not None]
    return _Whole(whole, results, forward, arriving, departing, targets, reached)


def gradient_graph(graph: Graph, targets: list[int] | None = None) -> tuple[Graph, list[int]]:
    """The gradient as a graph of the inputs and of a gradient for each target.

    Args:
        graph: is not changed.
        targets: numbers of the outputs at which gradients arrive; all float outputs if not given.

    Returns:
        The graph, and the numbers of the inputs whose gradients it returns: the inputs that a gradient reaches.
    """
    whole = _differentiate(graph, targets)
    whole.graph.outputs = whole.departing
    return whole.graph, whole.inputs


def split(graph: Graph, targets: list[int] | None = None) -> Split:
    """Split a graph for differentiation with respect to its float inputs; arguments as for `gradient_graph`."""
    differentiated = _differentiate(graph, targets)
    whole = differentiated.graph
    kept, backward = _cut(differentiated)
    whole.inputs = whole.inputs[: len(graph.inputs)]
    whole.outputs = [*differentiated.results, *kept]
    discard(whole, [op for op in whole.operations if op not in differentiated.forward])
    return Split(whole, len(kept), backward, differentiated.outputs, differentiated.inputs)


def _cut(found: _Whole) -> tuple[list[GraphTensor], Graph]:
    """The forward tensors that the gradient uses, and the gradient's operations as a separate graph."""
    backward = found.graph._part_type(f"{found.graph.name}_backward")
    later = reach(found.departing, outside=found.forward.__contains__)
    needed = dict.fromkeys([t for op in later for t in op.inputs] + found.departing)
    taken = [t for t in needed if t.op in found.forward]
    constants = list(dict.fromkeys(t.op for t in taken if t.op.type == "Const"))
    kept = [t for t in taken if t.op.type != "Const"]
    copies = transplant([*constants, *later], backward, inputs=[*kept, *found.arriving])
    backward.outputs = copies.of(found.departing)
    return kept, backward
