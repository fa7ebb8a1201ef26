"""Transplanting: the only way to copy operations from one graph into another.

A copy has all properties of its original: op, arguments, name, the user's line, device, engine, gradient function,
gradient overrides, recompute group, origin, control inputs, and copies of its subgraphs.  A copy that replaces an
operation (`replacing`) has that operation's line, device, engine, overrides, group and origin.  A constant for an eager
Tensor becomes the target's constant for that Tensor.  `Variables` says how reads and assignments are treated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from dovetail.core.base.errors import op_error
from dovetail.core.base.garbage import NoGarbageCollection
from dovetail.core.base.scopes import scopes
from dovetail.core.base.table import OPS
from dovetail.edit.overriding import override_gradients
from dovetail.graph.base import GraphBase
from dovetail.graph.graph_scopes import put_in_scope
from dovetail.graph.journal import note
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.reach import waited_for
from dovetail.graph.recompute_groups import RecomputeGroup
from dovetail.graph.shape_values import known_ints
from dovetail.trace import trace, variables

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class Variables(Enum):
    """The treatment of reads and assignments of variables among the operations."""

    KEEP = "They are copied like the others."
    INPUTS = "A read becomes an input of the target; what is assigned is a result like others."
    READ = (
        "The target reads and assigns the variables itself, from their values at this point of its program on, as if "
        "the ops were called there: eager Tensors are used there, too, and gradient overrides in force count."
    )


class Copies:
    """The counterparts of another graph's tensors and operations in a graph; made by `transplant`.

    Attributes:
        target: the graph.
        tensors: tensors of the other → their counterparts in the target.
        operations: operations of the other → their copies.
        own: whether the copies are the user's, and so are their own origins.
        made_for: an operation whose line and origin they have, instead of their originals'; or None.
        read: unless variables are kept: each variable that is read → the tensor for its value at the start.
        assigned: unless variables are kept: each variable that is assigned → the target's tensor for its new value.
    """

    def __init__(
        self, target: Graph, tensors: Mapping[GraphTensor, GraphTensor], own: bool, made_for: Operation | None
    ) -> None:
        self.target = target
        self.tensors = dict(tensors)
        self.own = own
        self.like = target.here.like  # copies have its properties, not their originals'
        self.made_for = self.like if made_for is None else made_for
        self.operations: dict[Operation, Operation] = {}
        self.read: dict[Any, GraphTensor] = {}
        self.assigned: dict[Any, GraphTensor] = {}
        self.closures: dict[Operation, Any] = {}  # the other's constants for eager Tensors → the Tensors
        self.overrides: Mapping[str, str] = {}  # copies get these over their own
        self.groups: dict[RecomputeGroup, RecomputeGroup] = {}  # of the originals → of the copies
        self.as_called = False  # whether the open scopes count, as if the ops were called there

    def __getitem__(self, tensor: GraphTensor) -> GraphTensor:
        """The target's tensor for a tensor of the other graph.

        Raises:
            ValueError: there is none, since its operation is not in that graph any more.
        """
        copy = self.tensors.get(tensor)
        if copy is None:
            state = "was removed from" if tensor.op.is_removed else "is not known in"
            raise ValueError(f"{tensor!r} {state} the graph {tensor.graph.name!r}, so it has no value.")
        return copy

    def know(self, tensors: Iterable[GraphTensor]) -> bool:
        """Whether each of some tensors of the other graph has a counterpart."""
        return all(t in self.tensors for t in tensors)

    def of(self, tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
        """The target's tensors for some tensors of the other graph."""
        return [self[t] for t in tensors]

    def add_input(self, tensor: GraphTensor) -> GraphTensor:
        """Add an input to the target as the counterpart of a tensor of the other graph."""
        where = self._model(tensor.op).where
        self.tensors[tensor] = new = self.target.placeholder(tensor.spec, tensor.op.name, where, known_ints(tensor))
        self._hand_on_origin(tensor.op, new.op)
        return new

    def begin(self, operations: Sequence[Operation], variables: Variables) -> None:
        """Look up the closures and variables of the operations, as they are before the first one."""
        source, target = operations[0].graph, self.target
        self.closures = {constant.op: tensor for tensor, constant in source.closures.items()}
        if source.closure_nodes and source is not target:
            before, target.closure_nodes = target.closure_nodes, [*target.closure_nodes, *source.closure_nodes]
            note(lambda: setattr(target, "closure_nodes", before))
        if variables is Variables.READ:
            for tape in scopes().tapes:
                tape.record_nodes(source.closure_nodes)
            self.overrides, self.as_called = target.gradient_overrides, True
        start = _VALUES[variables]
        for op in operations:
            if start is not None and op.type == "ReadVariableOp" and op.attrs["variable"] not in self.read:
                self.read[op.attrs["variable"]] = start(self, op)

    def copy(self, operation: Operation) -> None:
        """Add a copy of an operation, whose inputs must be known; outputs that have counterparts keep them."""
        target, known = self.target, self.tensors
        attrs = {
            name: copy_graph(cast("Graph", value), self.own, self.made_for) if isinstance(value, GraphBase) else value
            for name, value in operation.attrs.items()
        }
        try:
            inputs = [known[t] for t in operation.inputs]
        except KeyError:
            inputs = self.of(operation.inputs)  # raises the full error
        waits = self._found(operation._control_inputs) if operation._control_inputs else ()
        model, specs = self._model(operation), operation.outputs
        copy = target.add(operation.op, inputs, attrs, specs, operation.layout, operation.name, model.where, waits)
        copy.gradient_function = operation.gradient_function
        copy.taken = operation.taken
        copy.retake(known, operation.graph)
        if self.like is None:
            copy.take_after(operation)
            copy.recompute_group = operation.recompute_group and self.groups.setdefault(
                operation.recompute_group, RecomputeGroup()
            )
            if self.as_called:
                put_in_scope(target, copy)
        if not self.own:
            copy._origin = model.origin
        if self.overrides:
            override_gradients([copy], self.overrides)
        self.operations[operation] = copy
        for tensor, new in zip(operation.outputs, copy.outputs, strict=True):
            known.setdefault(tensor, new)
        trace.record_on_tapes(copy)

    def stand_in(self, operation: Operation, tensor: GraphTensor) -> GraphTensor:
        """Make a tensor of the target the counterpart of an uncopied operation's result, and return it.

        If the operation waits for others, an identity that waits for them passes the tensor on.
        """
        waits = self._found(waited_for(operation))
        if waits:
            identity, specs = OPS["Identity"], [tensor.spec]
            waiting = self.target.add(identity, [tensor], {}, specs, where=self._model(operation).where, waits=waits)
            self._hand_on_origin(operation, waiting)
            tensor = waiting.outputs[0]
        self.tensors[operation.outputs[0]] = tensor
        return tensor

    def _model(self, operation: Operation) -> Operation:
        """The operation whose line and origin the copy of an operation has."""
        return operation if self.made_for is None else self.made_for

    def _hand_on_origin(self, operation: Operation, new: Operation) -> None:
        if not self.own:
            new._origin = self._model(operation).origin

    def _found(self, operations: Iterable[Operation]) -> list[Operation]:
        """The counterparts of operations in the target, without operations that come before everything there."""
        copies = []
        for operation in operations:
            copy = self.operations.get(operation)
            if copy is None and operation.outputs and operation.outputs[0] in self.tensors:
                copy = self.tensors[operation.outputs[0]].op
            if copy is not None:
                copies.append(copy)
        return copies


def transplant(
    operations: Sequence[Operation],
    into: Graph,
    mapped: Mapping[GraphTensor, GraphTensor] | None = None,
    *,
    inputs: Iterable[GraphTensor] = (),
    variables: Variables = Variables.KEEP,
    own: bool = False,
    made_for: Operation | None = None,
) -> Copies:
    """Copy operations into another graph, to its end or to the place of its `insert_before`.

    Args:
        operations: of one graph, in program order; one without inputs is left out if its results are given.
        into: the other graph.
        mapped: tensors of the first graph → their counterparts in the other.
        inputs: tensors of the first graph for which the other gets inputs, in this order.
        variables: the treatment of reads and assignments of variables.
        own, made_for: as in `Copies`.

    Returns:
        The counterparts of tensors and operations.

    Raises:
        ValueError: an input of an operation is neither given nor a result of one before it.
    """
    copies = Copies(into, mapped or {}, own, made_for)
    for tensor in inputs:
        copies.add_input(tensor)
    operations = [op for op in operations if op.inputs or not op.outputs or not copies.know(op.outputs)]
    if operations:
        copies.begin(operations, variables)
        handlers = _HANDLERS[variables]
        with NoGarbageCollection():
            for operation in operations:
                handlers.get(operation.type, Copies.copy)(copies, operation)
    return copies


# -- variables, and eager Tensors -------------------------------------------------------------------------------------


def _use_value(copies: Copies, operation: Operation) -> None:
    copies.stand_in(operation, copies.read[operation.attrs["variable"]])


def _give_value(copies: Copies, operation: Operation) -> None:
    copies.assigned[operation.attrs["variable"]] = copies.stand_in(operation, copies[operation.inputs[0]])


def _assign(copies: Copies, operation: Operation) -> None:
    _give_value(copies, operation)
    variable = operation.attrs["variable"]
    variables.assign_variable(copies.target, variable, copies.assigned[variable])


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


# unless variables are kept: (copies, a read) → the tensor for its variable's value at the start
_VALUES: dict[Variables, Callable[[Copies, Operation], GraphTensor] | None] = {
    Variables.KEEP: None,
    Variables.INPUTS: lambda copies, read: copies.add_input(read.outputs[0]),
    Variables.READ: lambda copies, read: variables.read_variable(copies.target, read.attrs["variable"]),
}
# op type → the function to call instead of `copy`
_HANDLERS: dict[Variables, dict[str, Callable[[Copies, Operation], None]]] = {
    Variables.KEEP: {"Const": _copy_constant},
    Variables.INPUTS: {"Const": _copy_constant, "ReadVariableOp": _use_value, "AssignVariableOp": _give_value},
    Variables.READ: {"Const": _close_over, "ReadVariableOp": _use_value, "AssignVariableOp": _assign},
}


# -- whole graphs -----------------------------------------------------------------------------------------------------


def copy_graph(graph: Graph, own: bool = False, made_for: Operation | None = None) -> Graph:
    """Copy a graph with its subgraphs; the copy can be edited and added to like the original.

    Args:
        graph: is not changed.
        own, made_for: as in `Copies`.
    """
    copy = type(graph)(graph.name)
    copies = transplant(graph.operations, copy, inputs=graph.inputs, own=own, made_for=made_for)
    copy.outputs = copies.of(graph.outputs)
    copy.state = graph.state.copied(copies.tensors)
    return copy


def copy_into(source: Graph, target: Graph, inputs: Sequence[GraphTensor]) -> list[GraphTensor]:
    """Copy the operations of one graph into another.

    Args:
        source: the graph to copy, without its placeholders.
        target: the graph that gets the copies.
        inputs: tensors of the target for the source's inputs.

    Returns:
        The target's tensors for the source's outputs.

    Raises:
        TypeError: there are more or fewer inputs.
    """
    check_count(source, inputs)
    return transplant(source.operations, target, dict(zip(source.inputs, inputs, strict=True))).of(source.outputs)


def check_count(graph: Graph, inputs: Sequence[Any]) -> None:
    """Refuse another number of inputs than a graph has."""
    if len(inputs) != len(graph.inputs):
        raise op_error(TypeError, graph.name, f"the graph has {len(graph.inputs)} inputs, not {len(inputs)}.")
