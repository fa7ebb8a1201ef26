"""Copying a graph: whole, or into another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail.graph.ir import Graph, GraphTensor, Operation


def copy_graph(graph: Graph) -> Graph:
    """A graph of its own with the same program, subgraphs copied too."""
    copy = Graph(graph.name)
    inputs = [copy.placeholder(t.spec, t.op.name) for t in graph.inputs]
    copy.outputs = copy_into(graph, copy, inputs)
    return copy


def copy_into(
    source: Graph, target: Graph, inputs: Sequence[GraphTensor], on_copy: Callable[[Operation], None] | None = None
) -> list[GraphTensor]:
    """Copies the operations of one graph to the end of another.

    Args:
        source: what is copied; its placeholders are not.
        target: where to.
        inputs: tensors of the target for the source's inputs.
        on_copy: called with each new operation.

    Returns:
        The target's tensors for the source's outputs.
    """
    mapped: dict[GraphTensor, GraphTensor] = dict(zip(source.inputs, inputs, strict=True))
    copies: dict[Operation, Operation] = {}
    placeholders = {t.op for t in source.inputs}
    for operation in source.operations:
        if operation in placeholders:
            continue
        copy = copy_operation(operation, target, mapped)
        if operation.control_inputs:
            copy.control_inputs = [copies[c] for c in operation.control_inputs if c in copies]
        copies[operation] = copy
        if on_copy:
            on_copy(copy)
    return [mapped[t] for t in source.outputs]


def copy_operation(operation: Operation, target: Graph, mapped: dict[GraphTensor, GraphTensor]) -> Operation:
    """Appends one operation to a graph; `mapped` says what its inputs are there, and learns what its outputs are."""
    copy = target.add(
        operation.op,
        [mapped[t] for t in operation.inputs],
        {name: copy_graph(v) if type(v) is Graph else v for name, v in operation.attrs.items()},
        [t.spec for t in operation.outputs],
        operation.layout,
        operation.name,
    )
    copy.where, copy.device, copy.engine = operation.where, operation.device, operation.engine
    mapped.update(zip(operation.outputs, copy.outputs, strict=True))
    return copy
