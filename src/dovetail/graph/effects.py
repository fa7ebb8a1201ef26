"""Effects: the order in which a run reads and assigns variables.

A session graph, and a body of TensorFlow 1's control flow, *records effects*: each read or assignment of a variable is
an operation with control inputs.  `thread` turns such a graph into a pure one:

- A run makes its assignments in program order.
- A read comes as early as its inputs and control inputs allow.  That is right after the last assignment that it depends
  on, or at the start of the run.  So reads that nothing orders come before assignments that nothing orders.
- A read with `in_order` belongs to an update, such as `assign_add`.  It comes at its place in the program, behind all
  assignments before it, so no update is lost.

Program order is a topological order, so these rules agree with all edges.  They are the same on every engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.core.base.table import OPS
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.graph.attributes import named
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.pass_edits import discard, rewire
from dovetail.graph.reach import reach

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

READ, ASSIGN = "ReadVariableOp", "AssignVariableOp"


def needed_for(
    graph: Graph, targets: Iterable[GraphTensor | Operation], given: Iterable[GraphTensor] = ()
) -> list[Operation]:
    """Find the operations that a run executes to compute some tensors or operations, in program order.

    Args:
        graph: holds them.
        targets: the results and operations to compute.
        given: tensors whose values are known.
    """
    wanted = list(targets)
    while True:
        needed = reach(wanted, given=given)
        known = set(needed)
        others = [op for op in dict.fromkeys(_brought_along(graph, needed)) if op not in known]
        if not others:
            return needed
        wanted += others


def needed_with_taken(graph: Graph, targets: Iterable[GraphTensor | Operation]) -> list[Operation]:
    """`needed_for`, with the operations that compute tensors whose values these took when they were made."""
    wanted = dict.fromkeys(targets)
    while True:
        needed, known = needed_for(graph, wanted), len(wanted)
        wanted |= dict.fromkeys(t for op in needed for t in op.takes() if t.op.graph is graph)
        if len(wanted) == known:
            return needed


def _brought_along(graph: Graph, operations: Iterable[Operation]) -> Iterator[Operation]:
    """The assignments that a run makes whenever it executes these operations."""
    for op in operations:
        if op.type == READ:
            variable = op.attrs["variable"]
            if variable in graph.state.last and (graph.dialect.records_effects or variable.is_counter):
                yield graph.state.last[variable]
            continue
        for tensor in op.outputs:
            yield from (user for user in tensor._uses if user.type == ASSIGN and user.attrs["with_value"])


def thread(graph: Graph, keeps_gradients: bool = False) -> dict[Any, GraphTensor]:
    """Put values in place of the reads and assignments of a graph, of which a run must execute all operations.

    Args:
        graph: is edited.  `graph.state.inputs` has the values at the start: one read for each variable in an
            outermost graph, one input in a subgraph.
        keeps_gradients: whether the graph may be differentiated.  The gradient by an assigned value then goes to the
            variable, not to the tensor that was assigned.

    Returns:
        Each variable that is assigned, and its value at the end.
    """
    sources = _sources(graph.operations)
    values: dict[Any, GraphTensor] = {}
    removed: dict[Operation, list[Operation]] = {}
    for op in graph.operations:
        waits = _without(removed, op.control_inputs)
        if op not in sources:
            _wait_instead(op, removed, waits)
            continue
        variable, source = op.attrs["variable"], sources[op]
        removed[op] = waits
        with graph.insert_before(op):
            value = _start(graph, op) if source is None else source.inputs[0]
            if waits:
                value = graph.add(OPS["Identity"], [value], {}, [value.spec], where=op.where, waits=waits).outputs[0]
            if op.type == ASSIGN:
                values[variable] = value
            if keeps_gradients and source is not None and op.outputs[0].is_used:
                value = new_history(value, _start(graph, op))
        rewire(graph, op.outputs[0], value)
    discard(graph, removed)
    return values


def _sources(operations: Sequence[Operation]) -> dict[Operation, Operation | None]:
    """The assignment whose value each read gives, None for the start; assignments map to themselves."""
    sources: dict[Operation, Operation | None] = {}
    assigned: dict[Any, list[tuple[int, Operation]]] = {}
    behind: dict[Operation, int] = {}  # how many assignments a run has at least made before an operation
    count = 0
    for op in operations:
        number = max((behind.get(other, 0) for other in (*(t.op for t in op.inputs), *op.control_inputs)), default=0)
        if op.type == ASSIGN:
            number = count = count + 1
            assigned.setdefault(op.attrs["variable"], []).append((count, op))
            sources[op] = op
            if op.attrs["with_value"]:  # a part of the loop or branch: waiting for that waits for it
                behind[op.inputs[0].op] = count
        elif op.type == READ:
            number = count if op.attrs["in_order"] else number
            before = (a for at, a in reversed(assigned.get(op.attrs["variable"], ())) if at <= number)
            sources[op] = next(before, None)
        if number:
            behind[op] = number
    return sources


def waits_of_effects(operations: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """The operations for which each read and assignment waits, beside its control inputs, so that edges say the order.

    An assignment waits for the one before it of its variable, and for all that read the value before it.
    """
    waits: dict[Operation, list[Operation]] = {}
    last: dict[Any, Operation | None] = {}
    sources = _sources(operations)
    readers: dict[tuple[Any, Operation | None], list[Operation]] = {}
    for op, source in sources.items():
        if op is not source:
            readers.setdefault((op.attrs["variable"], source), []).append(op)
    for op, source in sources.items():
        variable = op.attrs["variable"]
        before = last.get(variable) if op is source else source
        waits[op] = [] if before is None else [before]
        if op is source:
            waits[op] += readers.get((variable, before), ())
            last[variable] = op
    return waits


def waits_of_runs(operations: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """The reads for which each assignment of a session's graph waits, beside its control inputs.

    A run takes some of the operations.  So an assignment waits for the reads that come before it in each run, if these
    bring along nothing that its own run lacks.  An assignment whose own run reads nothing waits for none, since it may
    give the variable its first value.
    """
    place = {op: number for number, op in enumerate(operations)}
    reads: dict[Any, list[Operation]] = {}
    for op in operations:
        if op.type == READ:
            reads.setdefault(op.attrs["variable"], []).append(op)
    some = [op for op in operations if op.type in (READ, ASSIGN)]
    controls = (other for op in some for other in op.control_inputs)
    bits = {op: 1 << number for number, op in enumerate(dict.fromkeys((*some, *controls)))}
    a_read = sum(bits[op] for op in some if op.type == READ)
    needs: dict[Operation, int] = {}  # the bits of what an operation needs, with its own
    for op in operations:
        needs[op] = bits.get(op, 0)
        for other in (*(t.op for t in op.inputs), *op.control_inputs):
            needs[op] |= needs.get(other, 0)
        if op.type == ASSIGN and op.attrs["with_value"]:  # whoever needs the value brings the assignment along
            needs[op.inputs[0].op] |= needs[op]

    def waits_for(op: Operation, read: Operation) -> bool:
        is_later = needs[read] & bits[op] or (read.attrs["in_order"] and place[read] > place[op])
        is_known = needs[op] & bits[read]
        return not is_later and not is_known and all(needs[op] & bits[other] for other in read.control_inputs)

    assignments = (op for op in some if op.type == ASSIGN and needs[op] & a_read)
    return {op: [read for read in reads.get(op.attrs["variable"], ()) if waits_for(op, read)] for op in assignments}


def _start(graph: Graph, op: Operation) -> GraphTensor:
    """The value of an operation's variable at the start of a graph: an input, or in an outermost graph a read."""
    variable = op.attrs["variable"]
    known = graph.state.inputs.get(variable)
    if known is None:
        spec = TensorSpec(static_shape(variable), variable.dtype)
        if graph.outer is None:
            attrs = {"variable": variable, "in_order": False}
            known = graph.add(OPS[READ], [], attrs, [spec], (None, None), op.name, op.where).outputs[0]
        else:
            known = graph.placeholder(spec, variable.op_name, op.where)
        graph.state.inputs[variable] = known
    return known


def new_history(assigned: GraphTensor, first: GraphTensor) -> GraphTensor:
    """An assigned value for reading: its gradients go to the variable, not to the tensor that was assigned.

    Args:
        assigned: the value.
        first: the variable's value at the start.
    """
    specs = [assigned.spec, first.spec]
    graph = assigned.graph
    operation = graph.add(OPS["IdentityN"], [assigned, first], {}, specs, (2,))
    operation.gradient_function = _gradient_of_variable
    return operation.outputs[0]


@named("gradient of an assigned variable")
def _gradient_of_variable(node: Operation, gradient: Any, _: Any) -> tuple[None, Any]:
    return None, gradient


# -- control inputs ---------------------------------------------------------------------------------------------------


def _without(removed: dict[Operation, list[Operation]], operations: Iterable[Operation]) -> list[Operation]:
    """The operations, with each removed one replaced by the operations that it waited for."""
    kept: dict[Operation, None] = {}
    for op in operations:
        kept.update(dict.fromkeys(removed.get(op, (op,))))
    return list(kept)


def _wait_instead(op: Operation, removed: dict[Operation, list[Operation]], waits: Sequence[Operation]) -> None:
    gone = [other for other in op.control_inputs if other in removed]
    for other in gone:
        op.remove_control_input(other)
    if gone:
        op.wait_for(waits)
