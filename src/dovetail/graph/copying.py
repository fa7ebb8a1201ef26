"""Copying a graph: whole, or into another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dovetail.graph.ir import Graph, GraphTensor, Operation


def copy_graph(graph: Graph) -> Graph:
    """A graph of its own with the same program, subgraphs copied too; it can be edited and added to like the first."""
    copy = Graph(graph.name)
    mapped = {t: copy.placeholder(t.spec, t.op.name) for t in graph.inputs}
    placeholders = {t.op for t in graph.inputs}
    copy_operations([op for op in graph.operations if op not in placeholders], copy, mapped)
    copy.outputs = [mapped[t] for t in graph.outputs]
    copy.closures = {tensor: mapped[constant] for tensor, constant in graph.closures.items() if constant in mapped}
    copy.state = graph.state.copied(mapped)
    return copy


def copy_into(
    source: Graph, target: Graph, inputs: Sequence[GraphTensor], on_copy: Callable[[Operation], None] | None = None
) -> list[GraphTensor]:
    """Copies the operations of one graph into another, to its end or where its `insert_before` says.

    Args:
        source: what is copied; its placeholders are not.
        target: where to.
        inputs: tensors of the target for the source's inputs.
        on_copy: called with each new operation.

    Returns:
        The target's tensors for the source's outputs.
    """
    mapped: dict[GraphTensor, GraphTensor] = dict(zip(source.inputs, inputs, strict=True))
    placeholders = {t.op for t in source.inputs}
    copy_operations([op for op in source.operations if op not in placeholders], target, mapped, on_copy)
    return [mapped[t] for t in source.outputs]


def copy_operations(
    operations: Iterable[Operation],
    target: Graph,
    mapped: dict[GraphTensor, GraphTensor],
    on_copy: Callable[[Operation], None] | None = None,
) -> None:
    """Adds copies of operations, given in topological order, to a graph.

    Args:
        operations: what is copied.
        target: where to.
        mapped: tensors of the source → tensors of the target; grows by the outputs of the copies.
        on_copy: called with each new operation.
    """
    copies: dict[Operation, Operation] = {}
    for operation in operations:
        copies[operation] = copy = copy_operation(operation, target, mapped)
        for other in operation.control_inputs:
            if other in copies:
                copy.add_control_input(copies[other])
        if on_copy:
            on_copy(copy)


def copy_operation(operation: Operation, target: Graph, mapped: dict[GraphTensor, GraphTensor]) -> Operation:
    """Adds a copy of one operation to a graph; `mapped` says what its inputs are there, and learns its outputs."""
    copy = target.add(
        operation.op,
        [mapped[t] for t in operation.inputs],
        {name: copy_graph(v) if type(v) is Graph else v for name, v in operation.attrs.items()},
        [t.spec for t in operation.outputs],
        operation.layout,
        operation.name,
        operation.where,
    )
    copy.device, copy.engine = operation.device, operation.engine
    copy.gradient_function, copy.overrides = operation.gradient_function, operation.overrides
    mapped.update(zip(operation.outputs, copy.outputs, strict=True))
    return copy
