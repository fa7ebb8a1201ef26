"""Copying operations: the one way by which they come from one graph into another.

A copy has all that its original has: op, arguments, name, the user's line, device, engine, gradient function, gradient
overrides, what it waits for, and subgraphs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dovetail.core.errors import op_error
from dovetail.core.provided import provided
from dovetail.core.table import OPS
from dovetail.graph.base import GraphBase
from dovetail.graph.operation import GraphTensor, Operation

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph


class Copies:
    """Copies operations of one graph into another, to its end or where its `insert_before` says.

    Args:
        target: the other graph.
        tensors: tensors of the first graph → those of the target that stand for them; grows.
    """

    def __init__(self, target: Graph, tensors: Mapping[GraphTensor, GraphTensor] | None = None) -> None:
        self.target = target
        self.tensors: dict[GraphTensor, GraphTensor] = dict(tensors or {})
        self._operations: dict[Operation, Operation] = {}

    def __getitem__(self, tensor: GraphTensor) -> GraphTensor:
        """The target's tensor for one of the first graph.

        Raises:
            ValueError: there is none, since its operation is not in that graph any more.
        """
        found = self.tensors.get(tensor)
        if found is None:
            state = "was removed from" if tensor.op.is_removed else "is not known in"
            raise ValueError(f"{tensor!r} {state} the graph {tensor.graph.name!r}, so it has no value.")
        return found

    def of(self, tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
        """The target's tensors for some of the first graph."""
        return [self[t] for t in tensors]

    def copy(self, operation: Operation) -> Operation:
        """Adds a copy of an operation, whose inputs must be known; what stands for its outputs already stays so."""
        target, like = self.target, self.target._like
        attrs = {name: copy_graph(v) if isinstance(v, GraphBase) else v for name, v in operation.attrs.items()}
        specs = [t.spec for t in operation.outputs]
        known = self.tensors
        try:
            inputs = [known[t] for t in operation.inputs]
        except KeyError:
            inputs = self.of(operation.inputs)  # which says what is wrong
        waits = self._found(operation.control_inputs)
        copy = target.add(operation.op, inputs, attrs, specs, operation.layout, operation.name, operation.where, waits)
        copy.gradient_function = operation.gradient_function
        if like is None:
            copy.device, copy.engine, copy.overrides = operation.device, operation.engine, operation.overrides
        self._operations[operation] = copy
        for tensor, new in zip(operation.outputs, copy.outputs, strict=True):
            known.setdefault(tensor, new)
        return copy

    def all(self, operations: Iterable[Operation], on_copy: Callable[[Operation], object] | None = None) -> None:
        """Copies operations, given in topological order; `on_copy` is called with each copy."""
        for operation in operations:
            copy = self.copy(operation)
            if on_copy:
                on_copy(copy)

    def stand_in(self, operation: Operation, tensor: GraphTensor) -> GraphTensor:
        """Lets a tensor of the target stand for the result of an operation that is not copied, and returns it.

        Where the operation waits for others, the tensor is given on by one that does.
        """
        waits = self._found(waited_for(operation))
        if waits:
            identity, specs = OPS["Identity"], [tensor.spec]
            tensor = self.target.add(identity, [tensor], {}, specs, where=operation.where, waits=waits).outputs[0]
        self.tensors[operation.outputs[0]] = tensor
        return tensor

    def hand_on_closures(self, graph: GraphBase) -> None:
        """Says in the target which constants stand for eager Tensors, as the first graph says."""
        self.target.origins = graph.origins
        for tensor, constant in graph.closures.items():
            if constant in self.tensors:
                self.target.closures[tensor] = self.tensors[constant]

    def _found(self, operations: Iterable[Operation]) -> list[Operation]:
        """What stands in the target for operations; those are left out that come before all that is there."""
        found = []
        for operation in operations:
            copy = self._operations.get(operation)
            if copy is None and operation.outputs and operation.outputs[0] in self.tensors:
                copy = self.tensors[operation.outputs[0]].op
            if copy is not None:
                found.append(copy)
        return found


def waited_for(operation: Operation) -> list[Operation]:
    """The operations that one waits for; of an assignment, instead of earlier assignments, what these wait for."""
    found: dict[Operation, None] = {}
    todo = list(reversed(operation.control_inputs))
    while todo:
        other = todo.pop()
        if operation.type == other.type == "AssignVariableOp":
            todo += reversed(other.control_inputs)
        else:
            found[other] = None
    return list(found)


def copy_graph(graph: GraphBase) -> Graph:
    """A graph of its own with the same program, subgraphs copied too; it can be edited and added to like the first."""
    copy = provided.new_graph(graph.name)
    copies = Copies(copy, {t: copy.placeholder(t.spec, t.op.name) for t in graph.inputs})
    placeholders = {t.op for t in graph.inputs}
    copies.all(op for op in graph.operations if op not in placeholders)
    copies.hand_on_closures(graph)
    copy.outputs = copies.of(graph.outputs)
    copy.state = graph.state.copied(copies.tensors)
    return copy


def copy_into(
    source: Graph, target: Graph, inputs: Sequence[GraphTensor], on_copy: Callable[[Operation], object] | None = None
) -> list[GraphTensor]:
    """Copies the operations of one graph into another.

    Args:
        source: what is copied; its placeholders are not.
        target: where to.
        inputs: tensors of the target for the source's inputs.
        on_copy: called with each new operation.

    Returns:
        The target's tensors for the source's outputs.

    Raises:
        TypeError: there are more or fewer inputs.
    """
    if len(inputs) != len(source.inputs):
        raise op_error(TypeError, source.name, f"the graph has {len(source.inputs)} inputs, not {len(inputs)}.")
    copies = Copies(target, zip(source.inputs, inputs, strict=True))  # type: ignore[arg-type]
    placeholders = {t.op for t in source.inputs}
    copies.all((op for op in source.operations if op not in placeholders), on_copy)
    return copies.of(source.outputs)


def override_gradients(operation: Operation, overrides: Mapping[str, str]) -> None:
    """Gives an operation, and those of the graphs that it holds, a gradient override map over the one it has."""
    if overrides:
        operation.overrides = {**operation.overrides, **overrides}
        for value in operation.attrs.values():
            if isinstance(value, GraphBase):
                for inner in value.operations:
                    override_gradients(inner, overrides)
