"""Held graphs: the branches and bodies of one operation, which can be edited and can give more outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.core.base.errors import describe, op_error
from dovetail.edit.edit import order_before
from dovetail.edit.inference import infer_from, own_subgraph
from dovetail.graph.base import add_input_at
from dovetail.graph.journal import all_or_nothing, note
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.trace.captures import subgraph_names
from dovetail.trace.trace import infer_specs

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


def body_of(operation: Operation, name: str | None) -> Graph:
    """A graph inside an operation; no other operation holds it from now on; see `Operation.body`."""
    operation.graph._check_member(operation)
    names = subgraph_names(operation)
    chosen = names[0] if name is None and len(names) == 1 else name
    if chosen not in names:
        problem = f"{operation.name!r} has no graph {name!r} inside. There are: {', '.join(names) or 'none'}."
        raise op_error(ValueError, operation.type, problem, where=operation.where)
    return own_subgraph(operation, chosen)


@all_or_nothing()
def add_output(operation: Operation, init: GraphTensor | None, parts: dict[str, Any]) -> GraphTensor:
    """Add a result to a branch or loop; see `Operation.add_output`."""
    operation.graph._check_member(operation)
    wanted, has_init = _GIVING.get(operation.type, ((), False))
    if not wanted or set(parts) != set(wanted) or (init is not None) is not has_init:
        needed = [f"{name}=..." for name in (*wanted, *(["init"] if has_init else []))]
        what = f"give {', '.join(needed)}" if needed else "only branches and loops can get further outputs"
        given = [*parts, *(["init"] if init is not None else [])]
        problem = f"add_output of {operation.name!r} was given {', '.join(given) or 'nothing'}: {what}."
        raise op_error(TypeError, operation.type, problem, where=operation.where)
    graphs = {name: operation.attrs[name] for name in subgraph_names(operation)}
    if init is not None:
        operation.graph.check_tensor(init)
        order_before(operation.graph, init.op, [operation])
        carried = len(operation.args[0])
        operation.insert_input(0, init)
        new = {name: add_input_at(graph, carried, init.spec) for name, graph in graphs.items()}
        parts = {name: _called(graphs[name], part, new[name]) for name, part in parts.items()}
    for name, tensor in parts.items():
        if not isinstance(tensor, GraphTensor) or tensor.graph is not graphs[name] or len(holders_of(graphs[name])) > 1:
            problem = f"{describe(tensor)} is no tensor of {operation.name}.body({name!r}), which it alone holds"
            raise op_error(ValueError, operation.type, f"{problem}.", where=operation.where)
        graphs[name].outputs.add(tensor)
    if len({tensor.dtype for tensor in parts.values()}) > 1:
        problem = f"{' and '.join(map(repr, parts.values()))} must be of one dtype; cast one of them."
        raise op_error(TypeError, operation.type, problem, where=operation.where)
    spec = infer_specs(operation.op, operation.args, operation.where)[-1]
    operation.outputs.append(GraphTensor(operation, len(operation.outputs), spec))
    note(operation.outputs.pop)
    infer_from([operation])
    return operation.outputs[-1]


def _called(graph: Graph, part: Any, tensor: GraphTensor) -> Any:
    if isinstance(part, GraphTensor) or not callable(part):
        return part
    with graph.as_default():
        return cast("Callable[[Any], Any]", part)(tensor)


# op type → the subgraphs that give a new output, and whether it has a first value
_GIVING: dict[str, tuple[Sequence[str], bool]] = {
    "If": (("then_branch", "else_branch"), False),
    "While": (("body",), True),
    "Scan": (("body",), False),
}
