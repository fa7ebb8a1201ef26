"""Transplanting: the one way by which operations come from one graph into another.

A copy has all that its original has: op, arguments, name, the user's line, device, engine, gradient function, gradient
overrides, what it waits for, and subgraphs of its own.  What is copied into the place of an operation (`replacing`) has
that one's line, device, engine and overrides.  The target's constants stand for the eager Tensors that the originals
stand for.  What becomes of variables, `Variables` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import op_error
from dovetail.core.infer import fits
from dovetail.core.provided import provided
from dovetail.core.recording import recording
from dovetail.core.table import OPS
from dovetail.graph import trace
from dovetail.graph.base import GraphBase
from dovetail.graph.journal import note
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.reach import waited_for

if TYPE_CHECKING:
    from dovetail.graph.ir import Graph


class Variables(Enum):
    """What becomes of the reads and assignments of variables among the operations."""

    KEEP = "They are copied like the others."
    INPUTS = "A read becomes an input of the target; what is assigned is a result like others."
    READ = (
        "The target reads and assigns the variables itself, from their values at this point of its program on, as if "
        "the ops were called there: eager Tensors are used there, too, and gradient overrides in force count."
    )


class Copies:
    """What stands in a graph for tensors and operations of another; made by `transplant`.

    Attributes:
        target: the graph.
        tensors: tensors of the other → those of the target that stand for them.
        operations: operations of the other → their copies.
        read: where variables do not stay as they are: each that is read → what stands for its value at the start.
        assigned: likewise, each that is assigned → the target's tensor for its new value.
    """

    def __init__(self, target: Graph, tensors: Mapping[GraphTensor, GraphTensor]) -> None:
        self.target = target
        self.tensors = dict(tensors)
        self.operations: dict[Operation, Operation] = {}
        self.read: dict[Any, GraphTensor] = {}
        self.assigned: dict[Any, GraphTensor] = {}
        self.closures: dict[Operation, Any] = {}  # the other's constants that stand for eager Tensors → these
        self.overrides: Mapping[str, str] = {}  # what copies get over their own

    def begin(self, operations: Sequence[Operation], variables: Variables) -> None:
        """What comes before the first operation: looking up what all of them refer to."""
        source, target = operations[0].graph, self.target
        self.closures = {constant.op: tensor for tensor, constant in source.closures.items()}
        if source.closure_nodes:
            before, target.closure_nodes = target.closure_nodes, [*target.closure_nodes, *source.closure_nodes]
            note(lambda: setattr(target, "closure_nodes", before))
        if variables is Variables.READ:
            for tape in recording.tapes:
                tape.record_nodes(source.closure_nodes)
            self.overrides = target.gradient_overrides
            for op in operations:  # all values as they are before any is assigned
                if op.type == "ReadVariableOp":
                    self.read[op.attrs["variable"]] = trace.read_variable(target, op.attrs["variable"])

    def __getitem__(self, tensor: GraphTensor) -> GraphTensor:
        """The target's tensor for one of the other graph.

        Raises:
            ValueError: there is none, since its operation is not in that graph any more.
        """
        found = self.tensors.get(tensor)
        if found is None:
            state = "was removed from" if tensor.op.is_removed else "is not known in"
            raise ValueError(f"{tensor!r} {state} the graph {tensor.graph.name!r}, so it has no value.")
        return found

    def of(self, tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
        """The target's tensors for some of the other graph."""
        return [self[t] for t in tensors]

    def copy(self, operation: Operation) -> None:
        """Adds a copy of an operation, whose inputs must be known; what stands for its outputs already stays so."""
        target, known = self.target, self.tensors
        attrs = {name: copy_graph(v) if isinstance(v, GraphBase) else v for name, v in operation.attrs.items()}
        specs = [t.spec for t in operation.outputs]
        try:
            inputs = [known[t] for t in operation.inputs]
        except KeyError:
            inputs = self.of(operation.inputs)  # which says what is wrong
        waits = self._found(operation.control_inputs)
        copy = target.add(operation.op, inputs, attrs, specs, operation.layout, operation.name, operation.where, waits)
        copy.gradient_function = operation.gradient_function
        if target._like is None:
            copy.take_after(operation)
        if self.overrides:
            override_gradients(copy, self.overrides)
        self.operations[operation] = copy
        for tensor, new in zip(operation.outputs, copy.outputs, strict=True):
            known.setdefault(tensor, new)
        trace.record_on_tapes(copy)

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

    def _found(self, operations: Iterable[Operation]) -> list[Operation]:
        """What stands in the target for operations; those are left out that come before all that is there."""
        found = []
        for operation in operations:
            copy = self.operations.get(operation)
            if copy is None and operation.outputs and operation.outputs[0] in self.tensors:
                copy = self.tensors[operation.outputs[0]].op
            if copy is not None:
                found.append(copy)
        return found


def transplant(
    operations: Sequence[Operation],
    into: Graph,
    mapped: Mapping[GraphTensor, GraphTensor],
    variables: Variables = Variables.KEEP,
) -> Copies:
    """Copies operations into another graph, to its end or where its `insert_before` says.

    Args:
        operations: of one graph, in program order; one without inputs is left out where its results are given.
        into: the other graph.
        mapped: tensors of the first graph → those of the other that stand for them.
        variables: what becomes of reads and assignments of variables.

    Returns:
        What stands for what.

    Raises:
        ValueError: an input of an operation is neither given nor a result of one before it.
    """
    copies = Copies(into, mapped)
    operations = [op for op in operations if op.inputs or not all(t in mapped for t in op.outputs)]
    if operations:
        copies.begin(operations, variables)
        handlers = _HANDLERS[variables]
        for operation in operations:
            handlers.get(operation.type, Copies.copy)(copies, operation)
    return copies


# -- variables, and eager Tensors -------------------------------------------------------------------------------------


def _take_input(copies: Copies, operation: Operation) -> None:
    variable = operation.attrs["variable"]
    if variable not in copies.read:
        copies.read[variable] = input_for(copies.target, operation.outputs[0])
    _use_value(copies, operation)


def _use_value(copies: Copies, operation: Operation) -> None:
    copies.stand_in(operation, copies.read[operation.attrs["variable"]])


def _give_value(copies: Copies, operation: Operation) -> None:
    copies.assigned[operation.attrs["variable"]] = copies.stand_in(operation, copies[operation.inputs[0]])


def _assign(copies: Copies, operation: Operation) -> None:
    _give_value(copies, operation)
    variable = operation.attrs["variable"]
    trace.assign_variable(copies.target, variable, copies.assigned[variable])


def _copy_constant(copies: Copies, operation: Operation) -> None:
    copies.copy(operation)
    if operation in copies.closures:
        copies.target.closures.setdefault(copies.closures[operation], copies[operation.outputs[0]])


def _close_over(copies: Copies, operation: Operation) -> None:
    if operation in copies.closures:
        dtype, eager = operation.outputs[0].dtype, copies.closures[operation]
        copies.stand_in(operation, trace.to_graph(eager, dtype, copies.target, OPS["Identity"]))
    else:
        copies.copy(operation)


# what is done with an operation of a type, in the place of copying it
_HANDLERS: dict[Variables, dict[str, Callable[[Copies, Operation], None]]] = {
    Variables.KEEP: {"Const": _copy_constant},
    Variables.INPUTS: {"Const": _copy_constant, "ReadVariableOp": _take_input, "AssignVariableOp": _give_value},
    Variables.READ: {"Const": _close_over, "ReadVariableOp": _use_value, "AssignVariableOp": _assign},
}


# -- whole graphs -----------------------------------------------------------------------------------------------------


def extract(
    operations: Sequence[Operation], inputs: Iterable[GraphTensor], into: Graph, variables: Variables = Variables.KEEP
) -> Copies:
    """`transplant` into a graph of its own, which gets inputs that stand for some tensors, in their order."""
    return transplant(operations, into, {t: input_for(into, t) for t in inputs}, variables)


def input_for(graph: Graph, tensor: GraphTensor) -> GraphTensor:
    """A new input of a graph that stands for a tensor of another one."""
    return graph.placeholder(tensor.spec, tensor.op.name)


def copy_graph(graph: GraphBase) -> Graph:
    """A graph of its own with the same program, subgraphs copied too; it can be edited and added to like the first."""
    copy = provided.new_graph(graph.name)
    copies = extract(graph.operations, graph.inputs, copy)
    copy.outputs = copies.of(graph.outputs)
    copy.state = graph.state.copied(copies.tensors)
    return copy


def copy_into(source: Graph, target: Graph, inputs: Sequence[GraphTensor]) -> list[GraphTensor]:
    """Copies the operations of one graph into another.

    Args:
        source: what is copied; its placeholders are not.
        target: where to.
        inputs: tensors of the target for the source's inputs.

    Returns:
        The target's tensors for the source's outputs.

    Raises:
        TypeError: there are more or fewer inputs.
    """
    _check_count(source, inputs)
    return transplant(source.operations, target, dict(zip(source.inputs, inputs, strict=True))).of(source.outputs)


def replay(graph: Graph, *inputs: Any) -> Any:
    """Adds what a graph does to the graph that is being built, as if its ops were called there.

    Args:
        graph: is not changed.
        inputs: a value for each of its inputs.

    Returns:
        Its output; a tuple of them, if there is not one but none or several.

    Raises:
        TypeError: there are more or fewer inputs; or no graph is being built.
        ValueError: a shape does not fit, or an output was removed from the graph.
    """
    current = trace.current_graph()
    if current is None:
        raise op_error(TypeError, graph.name, "a graph runs on Tensors, not on an engine's own values.")
    _check_count(graph, inputs)
    for tensor in graph.outputs:
        graph.check_tensor(tensor)
    mapped: dict[GraphTensor, GraphTensor] = {}
    for tensor, value in zip(graph.inputs, inputs, strict=True):
        mapped[tensor] = new = trace.to_graph(value, tensor.dtype, current, OPS["Identity"])
        if not fits(new.shape, tensor.shape):
            raise op_error(ValueError, graph.name, f"{new!r} does not fit the input {tensor!r}.")
    results = tuple(transplant(graph.operations, current, mapped, Variables.READ).of(graph.outputs))
    return results[0] if len(results) == 1 else results


def _check_count(graph: Graph, inputs: Sequence[Any]) -> None:
    if len(inputs) != len(graph.inputs):
        raise op_error(TypeError, graph.name, f"the graph has {len(graph.inputs)} inputs, not {len(inputs)}.")


def override_gradients(operation: Operation, overrides: Mapping[str, str]) -> None:
    """Gives an operation, and those of the graphs that it holds, a gradient override map over the one it has."""
    if overrides:
        operation.overrides = {**operation.overrides, **overrides}
        for value in operation.attrs.values():
            if isinstance(value, GraphBase):
                for inner in value.operations:
                    override_gradients(inner, overrides)
