"""Importing: the operations of a definition go into a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from dovetail.compat.tf_graph.elements import element_of, face_of, keep_face
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.edit.graph import Graph
from dovetail.edit.inference import infer_from
from dovetail.edit.overriding import override_gradients
from dovetail.edit.taken import GIVEN, release
from dovetail.edit.transplant import Variables, transplant
from dovetail.graph.graph_scopes import put_in_scope
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import GraphTensor, Operation


def import_definition(
    target: Graph,
    source: Graph,
    input_map: Mapping[str, GraphTensor],
    elements: Iterable[str],
    name: str,
    controls: Mapping[str, Operation] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> list[GraphTensor | Operation]:
    """Copy the operations of a graph, which a definition gave, into another one.

    Args:
        target: the other graph.
        source: the graph, which is not changed.
        input_map: names of its tensors → tensors of the target that replace them.
        elements: names of its tensors or operations.
        name: a name scope for the copies.
        controls: names of its operations → operations of the target for which the copies wait instead.
        variables: names of its variables → those that the target finds by name from then on.

    Returns:
        The counterparts of `elements`.

    Raises:
        KeyError: nothing has one of the names.
        TypeError, ValueError, IndexError: a dtype or a shape does not fit; then the target stays as it was.
    """
    wanted = [element_of(source, element) for element in elements]
    mapped: dict[GraphTensor, GraphTensor] = {}
    for key, tensor in input_map.items():
        old = source.get_tensor(key if ":" in key else f"{key}:0")
        target.check_tensor(tensor)
        if old.dtype != tensor.dtype:
            raise TypeError(f"{tensor!r} cannot replace {old!r}: the dtypes differ; cast it first.")
        if hasattr(old, "face") != hasattr(tensor, "face"):
            raise TypeError(f"{face_of(tensor)!r} cannot replace {face_of(old)!r}: one of them has strings.")
        mapped[old] = tensor
    records = source.dialect.records_effects and target.dialect.records_effects
    scope: Any = target.name_scope(name) if name else nullcontext()
    with all_or_nothing(), scope as whole:
        kind = Variables.KEEP if records else Variables.READ
        given = [tensor for tensor in source.inputs if tensor not in mapped]
        copies = transplant(source.operations, target, mapped, inputs=given, variables=kind, own=True)
        made = copies.operations
        for old, new in [*copies.tensors.items()]:
            keep_face(old, new)
        if records:
            override_gradients(made.values(), target.gradient_overrides)
            for copy in made.values():
                put_in_scope(target, copy)
            for variable, operation in source.state.last.items():
                if operation in made:
                    _put_last(target, variable, made[operation])
        for key, operation in (controls or {}).items():
            old = source.get_operation(key)
            for user in old.control_outputs:
                made[user].remove_control_input(made[old])
                made[user].add_control_input(operation)
        release(made.values(), [new for old, new in mapped.items() if old.op.type not in GIVEN])
        changed = [old for old, new in mapped.items() if old.spec != new.spec]
        infer_from([made[user] for old in changed for user in old.consumers() if user in made])
    for title, variable in (variables or {}).items():
        variable.name = f"{whole or ''}{title}:0"
        variable.op = VariableOperation(variable)
        target.add_variable_operation(variable.op)  # type: ignore[attr-defined]
    return [face_of(_counterpart(copies, x)) for x in wanted]


def _put_last(target: Graph, variable: Any, assignment: Operation) -> None:
    """Make an assignment the last one of a variable whose reads bring it along, as those that count random numbers."""
    target.state.keep(variable)
    if variable in target.state.last:
        assignment.add_control_input(target.state.last[variable])
    target.state.last[variable] = assignment


def _counterpart(copies: Any, x: Any) -> Any:
    if not isinstance(x, Operation):
        return copies[x]
    return copies.operations[x] if x in copies.operations else copies[x.outputs[0]].op
