"""Cutting: the part of a graph that computes some tensors from others, with the assignments that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from dovetail.core.errors import place
from dovetail.core.recording import record_on
from dovetail.core.spec import TensorSpec
from dovetail.core.variable import Variable
from dovetail.graph import trace
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.partial import known_ints
from dovetail.graph.reach import reach, waited_for
from dovetail.graph.transplant import Copies, Variables, transplant

Value: TypeAlias = "GraphTensor | Variable"


def cut(
    graph: Graph,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    wanted: Sequence[GraphTensor | Operation] = (),
    name: str = "function",
) -> Graph:
    """A program that computes some tensors of a graph from others, and assigns variables.

    The variables have their new values once a run is over; all that a run computes, it computes from the old ones.

    Args:
        graph: is not changed.
        inputs: any tensors and variables, which become the inputs of the program.
        outputs: tensors and variables, which become its outputs; of a variable, the value before the run.
        wanted: tensors and operations that are computed, too; what they compute are outputs behind the others.
        name: what the program is called.

    Raises:
        ValueError: a placeholder is needed that is not among the inputs, or a tensor was removed.
    """
    asked = [op for start in wanted for op in _computed(start)]
    given = [t for x in inputs for t in _tensors_of(graph, x)]
    needed = _needed(graph, [*(x for x in outputs if isinstance(x, GraphTensor)), *asked], given)
    _check_fed(needed)
    part = Graph(name)
    mapped: dict[GraphTensor, GraphTensor] = {}
    for x in inputs:
        new = _placeholder(part, x)
        mapped |= dict.fromkeys(_tensors_of(graph, x), new)
        if isinstance(x, Variable):
            part.state.inputs[x] = new
    copies = transplant(needed, part, mapped, variables=Variables.COLLECT)
    for op in needed:
        if op.type == "ReadVariableOp":
            part.state.inputs.setdefault(op.attrs["variable"], copies[op.outputs[0]])
        elif op.type == "PlaceholderWithDefault" and (op.attrs["any_rank"] or op.attrs["shape"] is not None):
            copies[op.outputs[0]].op.change(shape=None, any_rank=False)  # nothing is fed: it has its own shape
    with record_on(()), part.as_default():
        own = [trace.read_variable(part, x) if isinstance(x, Variable) else copies[x] for x in outputs]
        part.outputs = [*own, *copies.of(op.outputs[0] for op in asked if op.outputs)]
        for variable, value in _assigned(graph, needed, copies).items():
            trace.assign_variable(part, variable, value)
    return part


def _computed(start: GraphTensor | Operation) -> list[Operation]:
    """The operation of a tensor; in the place of one without results, what that waits for."""
    operation = start.op if isinstance(start, GraphTensor) else start
    return [operation] if operation.outputs else waited_for(operation)


def _tensors_of(graph: Graph, x: Value) -> list[GraphTensor]:
    if isinstance(x, GraphTensor):
        return [x]
    return [op.outputs[0] for op in graph if op.type == "ReadVariableOp" and op.attrs["variable"] is x]


def _placeholder(part: Graph, x: Value) -> GraphTensor:
    if isinstance(x, Variable):
        return part.placeholder(TensorSpec(x.shape, x.dtype), x.name)
    made = part.placeholder(x.spec, x.op.name, x.op.where, known_ints(x))
    made.op._origin = x.op.origin
    return made


def _needed(graph: Graph, targets: Sequence[GraphTensor | Operation], given: Sequence[GraphTensor]) -> list[Operation]:
    """The operations that targets need, and the assignments that are done with them."""
    needed = reach(targets, given=given)
    while True:
        known = set(needed)
        others = [op for op in graph.done_with(needed) if op not in known]
        if not others:
            return needed
        targets = [*targets, *others]
        needed = reach(targets, given=given)


def _check_fed(operations: Iterable[Operation]) -> None:
    missing = [op for op in operations if op.type == "Placeholder"]
    if missing:
        made = ", ".join(f"{op.name!r} ({op.outputs[0].spec!r}, made at {place(op.where)})" for op in missing)
        raise ValueError(f"a value is needed for the placeholder {made}: give it as an input.")


def _assigned(graph: Graph, operations: Iterable[Operation], copies: Copies) -> dict[Variable, GraphTensor]:
    """The variables that a program assigns, and their new values; changes by a value add up.

    Args:
        graph: what the program is cut out of.
        operations: what it consists of, in program order.
        copies: what stands for it in the program.
    """
    found: dict[Variable, GraphTensor] = {}
    for operation in operations:
        if operation.type == "AssignVariableOp":
            variable, step = operation.attrs["variable"], graph.change_of(operation)
            if variable in found and step is not None and step[1] in copies.tensors:
                change, operand = step
                found[variable] = change(found[variable], copies[operand])
            else:
                found[variable] = copies[operation.outputs[0]]
    return found
