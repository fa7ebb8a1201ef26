"""Pickling: a graph as plain data that Python's own pickle and copy take, without links between operations.

Dovetail's own files hold no pickles; this is what `multiprocessing`, `joblib` and `copy` ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.provided import provided
from dovetail.graph.operation import GraphTensor
from dovetail.graph.spans import Span

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph

At = tuple[int, int]  # the number of an operation, and which of its outputs


def described(graph: Graph) -> tuple[Any, ...]:
    """The arguments that `rebuilt` makes a copy of the graph from."""
    numbers = {op: number for number, op in enumerate(graph.operations)}

    def at(tensor: GraphTensor) -> At:
        return numbers[tensor.op], tensor.index

    spans: dict[Span, int] = {}
    operations = [
        (
            (op.op, [at(t) for t in op.inputs], op.attrs, [t.spec for t in op.outputs], op.layout, op.name, op.where),
            {
                "device": op.device,
                "engine": op.engine,
                "gradient_function": op.gradient_function,
                "notes": dict(op.notes),
            },
            dict(op.overrides),
            None if op.span is None else spans.setdefault(op.span, len(spans)),
            [numbers[other] for other in op.control_inputs],
        )
        for op in graph.operations
    ]
    state = graph.state
    variables = (
        [(v, at(t)) for v, t in state.values.items()],
        list(state.assigned),
        list(state.unread),
        [(v, at(t)) for v, t in state.inputs.items()],
        [(v, numbers[op]) for v, op in state.last.items()],
    )
    closures = [(tensor, at(t)) for tensor, t in graph.closures.items()]
    return graph.name, operations, list(map(at, graph.inputs)), list(map(at, graph.outputs)), closures, variables


def rebuilt(
    name: str, operations: Any, inputs: Any, outputs: Any, closures: Any, variables: Any, make: Any = None
) -> Graph:
    """A graph from what `described` gave; `make` makes it, of its name."""
    graph = (make or provided.new_graph)(name)
    added: list[Any] = []
    spans: dict[int, Span] = {}

    def tensor(at: At) -> GraphTensor:
        return added[at[0]].outputs[at[1]]

    for (op, given, attrs, *rest), asked, overrides, span, waits_for in operations:
        operation = graph.add(op, [tensor(at) for at in given], dict(attrs), *rest)
        operation.overrides = overrides
        operation.span = None if span is None else spans.setdefault(span, Span())
        for attribute, value in asked.items():
            setattr(operation, attribute, value)
        added.append(operation)
        for number in waits_for:
            operation.add_control_input(added[number])
    graph.inputs, graph.outputs = list(map(tensor, inputs)), list(map(tensor, outputs))
    graph.closures = {known: tensor(at) for known, at in closures}
    values, assigned, unread, read, last = variables
    state = graph.state
    state.values = {v: tensor(at) for v, at in values}
    state.assigned, state.unread = dict.fromkeys(assigned), set(unread)
    state.inputs = {v: tensor(at) for v, at in read}
    state.last = {v: added[number] for v, number in last}
    return graph
