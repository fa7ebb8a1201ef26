"""Cutting: take out the part of a graph that computes some tensors from others, with its assignments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from dovetail.core.base.errors import place
from dovetail.core.base.scopes import record_on
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.taken import GIVEN, release, takers
from dovetail.edit.transplant import transplant
from dovetail.graph.effects import needed_for, thread
from dovetail.graph.reach import waited_for
from dovetail.ops.control.plumbing import NEVER_PRUNED
from dovetail.trace import variables

Value: TypeAlias = "GraphTensor | Variable"


def cut(
    graph: Graph,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    wanted: Sequence[GraphTensor | Operation] = (),
    name: str = "function",
    holder: Callable[..., Variable] = Variable.holder,
) -> Graph:
    """Make a program that computes some tensors of a graph from others, and assigns variables.

    It is pure: `effects` fixes the order of reads and assignments, and variables get their values after the run.

    Args:
        graph: is not changed.
        inputs: any tensors and variables, which become the inputs of the program.
        outputs: tensors and variables, which become its outputs; for a variable, its value before the run.
        wanted: tensors and operations to compute, too; their results are outputs behind the others.
        name: the name of the program.
        holder: as `SessionValues.holder`, from a variable of the graph to the one that the program reads or assigns.

    Raises:
        ValueError: it needs a placeholder that is not among the inputs, or a tensor was removed.
    """
    asked = [op for start in wanted for op in _computed(start)]
    given = [t for x in inputs for t in _tensors_of(graph, x)]
    targets: list[GraphTensor | Operation] = [*(x for x in outputs if isinstance(x, GraphTensor)), *asked]
    known = [t for t in given if t.op.type not in GIVEN]  # a taker of their values has to compute with them
    needed = needed_for(graph, targets, given)
    held = takers(graph.operations, known)
    while more := {t for op in needed for t in held.get(op, ())}.difference(targets):
        targets += more
        needed = needed_for(graph, targets, given)
    _check_fed(needed)
    part = Graph(name)
    mapped: dict[GraphTensor, GraphTensor] = {}
    for x in inputs:
        new = _placeholder(part, x)
        mapped |= dict.fromkeys(_tensors_of(graph, x), new)
        if isinstance(x, Variable):
            part.state.inputs[x] = new
    copies = transplant(needed, part, mapped)
    for op in needed:
        if op.type == "PlaceholderWithDefault" and (op.attrs["any_rank"] or op.attrs["shape"] is not None):
            copies[op.outputs[0]].op.change(shape=None, any_rank=False)  # not fed: the default's shape holds
    with record_on(()), part.as_default():
        computed = [op.outputs[0] for op in asked if op.outputs and op.type not in NEVER_PRUNED]
        part.outputs = copies.of([*(x for x in outputs if isinstance(x, GraphTensor)), *computed])
        release(part.operations, [mapped[t] for t in known])
        assigned, tensors = thread(part), iter(list(part.outputs))
        own = [variables.read_variable(part, x) if isinstance(x, Variable) else next(tensors) for x in outputs]
        part.outputs = [*own, *tensors]
        for read in part.find("ReadVariableOp"):
            read.attrs["variable"] = holder(read.attrs["variable"])
        for variable, value in assigned.items():
            variables.assign_variable(part, holder(variable, written=True), value)
    return part


def _computed(start: GraphTensor | Operation) -> list[Operation]:
    """The operation of a tensor; instead of an operation without results, the ones that it waits for."""
    operation = start.op if isinstance(start, GraphTensor) else start
    return [operation] if operation.outputs else waited_for(operation)


def _tensors_of(graph: Graph, x: Value) -> list[GraphTensor]:
    if isinstance(x, GraphTensor):
        return [x]
    return [op.outputs[0] for op in graph if op.type == "ReadVariableOp" and op.attrs["variable"] is x]


def _placeholder(part: Graph, x: Value) -> GraphTensor:
    if isinstance(x, Variable):
        return part.placeholder(TensorSpec(x.shape, x.dtype), x.name)
    made = part.placeholder(x.spec, x.op.name, x.op.where)
    made.op._origin = x.op.origin
    return made


def _check_fed(operations: Iterable[Operation]) -> None:
    missing = [op for op in operations if op.type == "Placeholder"]
    if missing:
        made = ", ".join(f"{op.name!r} ({op.outputs[0].spec!r}, made at {place(op.where)})" for op in missing)
        raise ValueError(f"a value is needed for the placeholder {made}: give it as an input.")
