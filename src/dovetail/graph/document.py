"""Document: a graph as plain data without links between operations, for files, for pickles, and for copies.

A document is JSON data; arrays, variables and eager tensors are kept beside it, under keys (`attributes.Beside`).
Python's own pickle and copy take both as they are.  Dovetail's own files hold no pickles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.pin import Pin
from dovetail.core.base.table import OPS
from dovetail.core.op import Op, op_named
from dovetail.core.values.spec import spec
from dovetail.core.wish import Wish
from dovetail.graph.attributes import OBJECT, Beside, Form, Refused, decode, encode
from dovetail.graph.operation import SINGLE, GraphTensor, Operation
from dovetail.graph.recompute_groups import RecomputeGroup

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

VERSION = 1
At = list[int]  # the number of an operation, and the number of one of its outputs


def document_of(graph: Graph, beside: Beside) -> dict[str, Any]:
    """Encode a graph as data that JSON holds.

    Args:
        graph: the graph, of which all properties of operations are kept.
        beside: takes the values that JSON does not hold.

    Raises:
        TypeError: an operation has an attribute that cannot be written; the message says which, and why.
    """
    numbers = {op: number for number, op in enumerate(graph.operations)}

    def at(tensor: GraphTensor) -> At:
        return [numbers[tensor.op], tensor.index]

    groups: dict[RecomputeGroup, int] = {}
    with beside.inside():
        operations = [_operation(op, at, groups, numbers, beside) for op in graph.operations]
    state, key = graph.state, lambda v: encode(v, beside)
    return {
        "version": VERSION,
        "name": graph.name,
        "operations": operations,
        "inputs": list(map(at, graph.inputs)),
        "outputs": list(map(at, graph.outputs)),
        "closures": [[encode(tensor, beside), at(t)] for tensor, t in graph.closures.items() if t.op in numbers],
        "state": {
            "values": [[key(v), at(t)] for v, t in state.values.items()],
            "assigned": list(map(key, state.assigned)),
            "unread": list(map(key, state.unread)),
            "inputs": [[key(v), at(t)] for v, t in state.inputs.items()],
            "last": [[key(v), numbers[op]] for v, op in state.last.items()],
        },
    }


def _operation(
    op: Operation, at: Any, groups: dict[RecomputeGroup, int], numbers: Mapping[Operation, int], beside: Beside
) -> Any:
    """Encode an operation; properties with their initial values are left out."""
    encoded: dict[str, Any] = {"type": op.type, "name": op.name, "inputs": list(map(at, op.inputs))}
    try:
        if OPS.get(op.type) is not op.op:
            encoded["op"] = _own_op(op, beside)
        encoded["attrs"] = {name: _encoded(name, value, beside) for name, value in op.attrs.items()}
        encoded["outputs"] = [_spec(t) for t in op.outputs]
        others = {
            "gradient_function": _encoded("gradient_function", op.gradient_function, beside),
            "notes": {name: _encoded(name, value, beside) for name, value in op.notes.items()},
        }
    except Refused as error:
        problem = f"{error}. A graph with such an operation cannot be written."
        raise op_error(TypeError, op.type, problem, where=op.where) from None
    others |= {
        "layout": list(op.layout),
        "where": None if op.where is None else list(op.where),
        "engine": op.engine,
        "device": str(op.device),
        "part": op.part,
        "wish": op.device.facts if isinstance(op.device, Wish) else None,
        "overrides": dict(op.overrides),
        "recompute_group": None if op.recompute_group is None else groups.setdefault(op.recompute_group, len(groups)),
        "taken": {word: at(tensor) for word, tensor in op.taken.items() if tensor.op in numbers},
        "waits_for": [numbers[other] for other in op.control_inputs],
    }
    return encoded | {name: value for name, value in others.items() if value not in (None, "", {}, [])}


def _own_op(op: Operation, beside: Beside) -> Any:
    if not beside.keeps_objects:
        refusal = getattr(op.op, "refusal", None)  # of a node of a file that is not read, or waits for shapes
        raise Refused(
            refusal(op.graph) if refusal else "the program defined this op, and the op table has no such name"
        )
    return {OBJECT: beside.key(beside.objects, op.op, op.type)}


def _encoded(name: str, value: Any, beside: Beside) -> Any:
    try:
        return encode(value, beside)
    except Refused as error:
        raise Refused(f"{name}: {error}") from None


def _spec(tensor: GraphTensor) -> Any:
    return [tensor.dtype, None if tensor.shape is None else list(tensor.shape)]


def graph_of(document: Mapping[str, Any], beside: Beside, make: Callable[[str], Graph] | None = None) -> Graph:
    """Make the graph of a document.

    Args:
        document: made by `document_of`.
        beside: the tables that `document_of` filled.
        make: makes an empty graph of a name; a `Graph` if not given.

    Raises:
        ValueError: it is not such a document, or is of another version.
        LookupError: one of its ops is not in the table.
    """
    if document.get("version") != VERSION:
        raise ValueError(f"the document is of version {document.get('version')!r}; this Dovetail reads {VERSION}.")
    graph = (make or hooks.new_graph)(document["name"])
    added: list[Operation] = []
    groups: dict[int, RecomputeGroup] = {}

    def tensor(at: At) -> GraphTensor:
        return added[at[0]].outputs[at[1]]

    with beside.inside():
        for given in document["operations"]:
            added.append(_added(graph, given, tensor, groups, beside))
            for number in given.get("waits_for", ()):
                added[-1].add_control_input(added[number])
    graph.inputs, graph.outputs = list(map(tensor, document["inputs"])), list(map(tensor, document["outputs"]))
    graph.closures = {decode(known, beside): tensor(at) for known, at in document["closures"]}
    said, state = document["state"], graph.state
    state.values = {decode(v, beside): tensor(at) for v, at in said["values"]}
    state.assigned = dict.fromkeys(decode(v, beside) for v in said["assigned"])
    state.unread = {decode(v, beside) for v in said["unread"]}
    state.inputs = {decode(v, beside): tensor(at) for v, at in said["inputs"]}
    state.last = {decode(v, beside): added[number] for v, number in said["last"]}
    return graph


def _added(
    graph: Graph, given: Mapping[str, Any], tensor: Any, groups: dict[int, RecomputeGroup], beside: Beside
) -> Operation:
    """Add an operation of the document to a graph."""
    op = decode(given["op"], beside) if "op" in given else op_named(given["type"])
    specs = [spec(shape, dtype) for dtype, shape in given["outputs"]]
    attrs = {name: decode(value, beside) for name, value in given["attrs"].items()}
    layout = tuple(given.get("layout", ())) or (SINGLE,) * len(given["inputs"])
    try:
        _check(op, len(given["inputs"]), layout, attrs)
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"the operation {given['name']!r}: {error}") from None
    where = tuple(given["where"]) if "where" in given else None
    made = graph.add(op, map(tensor, given["inputs"]), attrs, specs, layout, given["name"], where)
    made.overrides = given.get("overrides", {})
    made.taken = {word: tensor(at) for word, at in given.get("taken", {}).items()}
    group = given.get("recompute_group")
    made.recompute_group = None if group is None else groups.setdefault(group, RecomputeGroup())
    device, wish = given.get("device"), given.get("wish")
    made.pin = Pin(given.get("engine"), Wish(device, *wish) if device and wish else device, given.get("part"))
    made.gradient_function = decode(given.get("gradient_function"), beside)
    made.notes = {name: decode(value, beside) for name, value in given.get("notes", {}).items()}
    return made


def _check(op: Op, inputs: int, layout: tuple[int | None, ...], attrs: Mapping[str, Any]) -> None:
    """Check that an operation has the arguments that its op takes, and attributes of their types."""
    counted = sum(1 if count == SINGLE else count or 0 for count in layout)
    if counted != inputs or len(layout) != len(op.params) or min([0, *filter(None, layout)]) < SINGLE:
        raise ValueError(f"it has {inputs} inputs, which its layout {layout} or the op {op.name} does not take.")
    static = {param.name for param, count in zip(op.params, layout, strict=True) if count is None}
    if static != attrs.keys() or any(op.params[i].kind is None and c is not None for i, c in enumerate(layout)):
        raise ValueError(f"it has the attributes {sorted(attrs)}, and its op {op.name} takes {sorted(static)}.")
    for name, value in attrs.items():
        op.normalize(name, value)


# -- pickles and copies -----------------------------------------------------------------------------------------------


def described(graph: Graph) -> tuple[dict[str, Any], Beside]:
    """The arguments with which `graph_of` makes a copy of the graph, with all its Python objects."""
    beside = Beside(keeps_objects=True)
    return document_of(graph, beside), beside


def _graph_data(graph: Graph, beside: Beside) -> Any:
    """A subgraph as its document, or as its key if objects are kept, since others may refer to it."""
    return beside.key(beside.objects, graph, graph.name) if beside.keeps_objects else document_of(graph, beside)


def _graph_of_data(data: Any, beside: Beside) -> Graph:
    return beside.objects[data] if isinstance(data, str) else graph_of(data, beside)


GRAPH = Form("graph", _graph_data, _graph_of_data, is_part=True)
