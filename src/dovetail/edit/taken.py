"""Taken values: static arguments that were given as tensors whose elements were known; see `Operation.taken`.

`ops.reshape(x, shape)` with a constant `shape` is recorded with its elements.  If the constant gets another value, the
operation is recorded again, with the tensor.  A body that has a copy of the constant gets an input instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.core.base.errors import CONVENTIONAL, op_error
from dovetail.core.base.table import OPS
from dovetail.edit.edit import order_before
from dovetail.edit.graph import Graph
from dovetail.edit.inference import infer_from
from dovetail.edit.subgraph_edits import body_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.pass_edits import discard, rewire
from dovetail.graph.reach import reach
from dovetail.graph.shape_values import known_ints
from dovetail.ops.control.subgraphs import SUBGRAPH_CALLS
from dovetail.trace.captures import capture_into, subgraph_names

GIVEN = ("Placeholder", "PlaceholderWithDefault", "ReadVariableOp")  # types whose values nobody takes


def takers(operations: Iterable[Operation], given: Iterable[GraphTensor]) -> dict[Operation, list[GraphTensor]]:
    """The operations that took values which depend on some tensors, with the tensors that they took.

    Args:
        operations: of one graph, in program order.
        given: tensors of the graph.
    """
    starts, tensors_of = list(given), dict[Operation, list[GraphTensor]]()
    pairs = [(op, taken) for op in operations if (taken := list(op.takes()))] if starts else []
    while pairs:
        behind = {*starts, *(t for op in reach([*starts, *tensors_of], forward=True) for t in op.outputs)}
        more = {op: held for op, taken in pairs if op not in tensors_of and (held := [t for t in taken if t in behind])}
        if not more:
            break
        tensors_of |= more
    return tensors_of


def release(operations: Iterable[Operation], given: Iterable[GraphTensor]) -> None:
    """Let operations compute with tensors, instead of the values that they took of them.

    Args:
        operations: of one graph, in program order; they are edited.
        given: the tensors that have other values than those.

    Raises:
        ValueError: an operation needs such a value before it runs.
    """
    given = list(given)
    for operation in takers(operations, given):
        try:
            _release(operation)
        except CONVENTIONAL as error:
            names = " and ".join(repr(t.op.origin.name) for t in given)
            problem = f"{operation.origin.name!r} took the value of {names} when it was made, and needs it before a run"
            advice = "make it anew with the other value, or with a placeholder."
            said = f"{names} cannot have another value: {problem}; {advice}"
            raise op_error(ValueError, operation.type, said, where=operation.origin.where) from error


def hold_copies(graph: Any) -> None:
    """Let branches and bodies take the constants around them as inputs with known elements, instead of copies."""
    for operation in graph.of_types(SUBGRAPH_CALLS):
        for name in subgraph_names(operation):
            inner = body_of(operation, name)
            _capture_copies(inner, operation)
            hold_copies(inner)


def _capture_copies(inner: Graph, operation: Operation) -> None:
    """Let one branch or body take its constants from around it as inputs, instead of copies."""
    for copy in [op for op in inner.of_types(("Const",)) if "value" in op.taken]:
        old, new = copy.outputs[0], capture_into(inner, operation, copy.taken["value"])
        new.op.hold_attr("known", known_ints(old))
        order_before(inner, new.op, [copy])
        rewire(inner, old, new)
        for user in inner:
            user.retake({t: t for t in user.takes()} | {old: new}, inner)
        discard(inner, [copy])


def _release(operation: Operation) -> None:
    graph: Any = operation.graph
    for name in subgraph_names(operation):
        inner = body_of(operation, name)
        _capture_copies(inner, operation)
        captured = inner.inputs[len(inner.inputs) - len(operation.captured) :]
        for tensor in captured:
            tensor.op.hold_attr("known", None)
        release(inner.operations, captured)
        if any(True for op in inner for t in op.takes() if t.op.graph is graph):
            raise TypeError(f"an operation in {name} took it")
    if operation.taken:
        if not operation.taken.keys() <= operation.attrs.keys():
            raise TypeError("it was taken by a function of the program")
        values = [operation.taken.get(p.name, v) for p, v in zip(operation.op.params, operation.args, strict=True)]
        with graph.replacing(operation, f"{operation.name}/"):
            result = operation.op(*values)
        _turn_into(operation, result if isinstance(result, tuple) else (result,))
    infer_from([operation])


def _turn_into(operation: Operation, results: tuple[GraphTensor, ...]) -> None:
    """Give an operation other results: those of a call of the same op, or of other operations."""
    new = results[0].op
    if new.type == operation.type and tuple(new.outputs) == results:
        operation.become(new.op, new.inputs, new.layout, new.attrs)
        operation.taken = new.taken
        discard(operation.graph, [new])
    else:
        operation.become(OPS["IdentityN"], results, (len(results),), {})
