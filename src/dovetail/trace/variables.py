"""Variables in graphs: reads and assignments are threaded through a traced program, and operations elsewhere.

A trace knows each variable's value at this point of the program.  A graph that records effects has an operation for
each read and each assignment; `effects` says in which order a run does them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.base.table import OPS
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.graph.effects import ASSIGN, READ, needed_with_taken, new_history, thread
from dovetail.graph.graph_scopes import scoped
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.pass_edits import discard
from dovetail.ops.control.plumbing import INPUTS
from dovetail.trace.captures import capture_into, check_open, holder_of

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def read_variable(graph: Graph, variable: Any) -> GraphTensor:
    """A variable's value at this point of the program; if effects are recorded, `effects` says when a run reads it."""
    value = _recorded_read(graph, variable) if graph.dialect.records_effects else _value_here(graph, variable)
    for tape in scopes().tapes:
        tape.record_read(variable, value)
    return value


def read_for_update(graph: Graph, variable: Any) -> GraphTensor:
    """The value of a variable for an assignment that is recorded next; no run assigns it between the two."""
    with in_program_order(graph):
        return read_variable(graph, variable)


@contextmanager
def in_program_order(graph: Graph) -> Iterator[list[Operation]]:
    """Let a run read variables at the `with` block's place in the program, behind everything before it.

    Yields:
        The reads and assignments that are recorded in the block, if the graph records effects.
    """
    operations: list[Operation] = []
    outside = graph.here.in_order
    try:
        with scoped(graph, in_order=operations):
            yield operations
    finally:
        if outside is not None:
            outside += operations


def _recorded_read(graph: Graph, variable: Any) -> GraphTensor:
    """A read as an operation; all reads that wait for nothing share one, until more is said of the shape."""
    state = graph.state
    is_shared = graph.here.in_order is None and not graph.here.control and variable not in state.last
    value = state.values.get(variable) if is_shared else None
    if value is None or value.shape != static_shape(variable):
        value = add_read(graph, variable)
        if is_shared:
            state.keep(variable)
            state.values[variable] = value
    return value


def add_read(graph: Graph, variable: Any) -> GraphTensor:
    """Add a read that nothing shares, in a graph that records effects."""
    spec = TensorSpec(static_shape(variable), variable.dtype)
    attrs = {"variable": variable, "in_order": graph.here.in_order is not None}
    waits = [graph.state.last[variable]] if variable in graph.state.last else ()
    read = graph.add(OPS[READ], [], attrs, [spec], (None, None), f"{variable.op_name}/Read", waits=waits)
    if graph.here.in_order is not None:
        graph.here.in_order.append(read)
    return read.outputs[0]


def _value_here(graph: Graph, variable: Any) -> GraphTensor:
    """The tensor for a variable's value at this point of the program."""
    state = graph.state
    holder = None if variable in state.assigned else holder_of(graph, variable)
    if holder is not None:
        return capture_into(graph, holder, read_variable(holder.graph, variable))
    value = state.values.get(variable)
    if value is None or variable in state.unread:
        state.keep(variable)
    if value is None:
        value = state.values[variable] = _first_value(graph, variable)
    elif variable in state.unread:
        value = state.values[variable] = new_history(value, _first_value(graph, variable))
    state.unread.discard(variable)
    return value


def _first_value(graph: Graph, variable: Any) -> GraphTensor:
    """The value of a variable at the start of the program."""
    value = graph.state.inputs.get(variable)
    if value is None:
        if graph.outer is not None:
            check_open(graph, variable, OPS[READ])
            outside = read_variable(graph.outer, variable)
            value = graph.placeholder(outside.spec, variable.op_name)
        else:
            spec, attrs = TensorSpec(static_shape(variable), variable.dtype), {"variable": variable, "in_order": False}
            value = graph.add(OPS[READ], [], attrs, [spec], (None, None), f"{variable.op_name}/Read").outputs[0]
        graph.state.inputs[variable] = value
    return value


def assign_variable(graph: Graph, variable: Any, value: GraphTensor, with_value: bool = False) -> Operation | None:
    """Give a variable a value from this point of the program on; if effects are recorded, whenever a run does that.

    Args:
        graph: the graph that records it.
        variable: the variable to assign.
        value: a tensor of the graph.
        with_value: if effects are recorded, whether each run that computes the value's loop or branch does it.

    Returns:
        The operation, if the graph is in no other or records effects; else None.
    """
    if graph.dialect.records_effects:
        return add_assignment(graph, variable, value, with_value)
    holder = holder_of(graph, variable)
    if holder is not None:
        problem = (
            f"{variable.name!r} cannot be assigned in {graph.name!r}, which {holder.name!r} holds already: give the "
            "operation another output by operation.add_output() and assign that to the variable outside, "
            "or build it again."
        )
        raise op_error(ValueError, "AssignVariableOp", problem)
    operation = None
    if graph.outer is None:
        operation = add_assignment(graph, variable, value)
        graph.state.keep(variable)
        _put_last(graph, variable, operation)
    graph.state.values[variable] = value
    graph.state.assigned[variable] = None
    graph.state.unread.add(variable)
    return operation


def assign_in_order(graph: Graph, variable: Any, value: GraphTensor, with_value: bool = False) -> None:
    """Give a variable a value from this point of the program on, even if effects are recorded.

    In this case each run that reads the variable does it; reads that are recorded later give the new value.
    """
    operation = assign_variable(graph, variable, value, with_value)
    graph.state.ordered.add(variable)
    if graph.dialect.records_effects and operation is not None:
        graph.state.keep(variable)
        _put_last(graph, variable, operation)
        graph.edited()


def _put_last(graph: Graph, variable: Any, assignment: Operation) -> None:
    """Make an assignment wait for the one before it."""
    if variable in graph.state.last:
        assignment.add_control_input(graph.state.last[variable])
    graph.state.last[variable] = assignment


def add_assignment(graph: Graph, variable: Any, value: GraphTensor, with_value: bool = False) -> Operation:
    """Add an operation that assigns, and that nothing else of the graph knows."""
    attrs, name = {"variable": variable, "with_value": with_value}, f"{variable.op_name}/Assign"
    spec = TensorSpec(static_shape(variable), value.dtype) if value.shape is None else value.spec
    operation = graph.add(OPS[ASSIGN], [value], attrs, [spec], (SINGLE, None, None), name)
    if graph.here.in_order is not None:
        graph.here.in_order.append(operation)
    return operation


def settle_effects(graph: Graph) -> None:
    """Turn a subgraph whose effects were recorded into a pure one that computes its outputs.

    Its state is then as if it had been traced: variables are inputs, and have values at the end.
    """
    if not graph.dialect.records_effects:
        return
    needed = set(needed_with_taken(graph, graph.outputs))
    discard(graph, [op for op in graph.operations if op not in needed and op.type not in INPUTS])
    state = graph.state
    state.values, state.last = {}, {}
    graph.dialect = graph.dialect._replace(records_effects=False)
    state.values = thread(graph, keeps_gradients=True)
    state.assigned, state.unread = dict.fromkeys(state.values), set(state.values)
