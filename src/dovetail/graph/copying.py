"""Copying a graph into another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail.graph.ir import Graph, GraphTensor, Operation


def copy_into(source: Graph, target: Graph, inputs: Sequence[GraphTensor], on_copy: Callable[[Operation], None] | None = None) -> list[GraphTensor]:
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
    for operation in source.operations:
        if all(t in mapped for t in operation.outputs) and operation.outputs:
            continue  # an input
        copy = target.add(
            operation.op,
            [mapped[t] for t in operation.inputs],
            dict(operation.attrs),
            [t.spec for t in operation.outputs],
            operation.layout,
            operation.name,
        )
        copy.where, copy.device, copy.engine = operation.where, operation.device, operation.engine
        copy.control_inputs = [copies[c] for c in operation.control_inputs if c in copies]
        copies[operation] = copy
        mapped.update(zip(operation.outputs, copy.outputs, strict=True))
        if on_copy:
            on_copy(copy)
    return [mapped[t] for t in source.outputs]
