"""Picture: a graph as the plain texts and numbers that viewers draw; pages, SVG, DOT and other pictures are made of it.

A node is an operation, or one of the graph's results.  Nodes have numbers, so names need not be unique.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from dovetail.core.errors import Where
from dovetail.graph.base import GraphBase
from dovetail.graph.operation import Operation
from dovetail.graph.printing import constant_text, shown

OUTPUT = "Output"  # the type of nodes that stand for results
SHORT = 14  # characters of a constant that its node shows
LONGEST = 200  # characters of an attribute

Data = Mapping[str, Mapping[str, Any]]
Facts = Callable[[Operation], Mapping[str, Any]]


class Line(NamedTuple):
    """A user's line: the file and its number, and the text of the line if the file is there."""

    place: str
    text: str


@dataclass(slots=True)
class Node:
    """An operation, or a result.

    Attributes:
        name: its full name; slashes part its scopes.
        type: the name of its op.
        title, subtitle: the texts of its box.
        inputs: the number of a node, and of its output, for each tensor that it takes.
        waits: the numbers of the nodes for which it waits, besides those of its inputs.
        outputs: the dtypes and shapes of its results.
        attributes: its static arguments, as texts.
        facts: the engine, device, part and segment that compute it; the bytes of its results; data of a profile.
        line: the user's line; None if there is none.
        inner: the graphs in it, such as a loop's body, by the names of their parameters.
    """

    name: str
    type: str
    title: str
    subtitle: str = ""
    inputs: list[tuple[int, int]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    line: Line | None = None
    inner: list[tuple[str, Picture]] = field(default_factory=list)


@dataclass(slots=True)
class Picture:
    """A graph: its name, and its nodes in program order; results come last."""

    name: str
    nodes: list[Node] = field(default_factory=list)


def no_facts(operation: Operation) -> Mapping[str, Any]:
    """Say nothing more about an operation."""
    return {}


def picture_of(graph: GraphBase, data: Data | None = None, facts: Facts = no_facts) -> Picture:
    """The picture of a graph.

    Args:
        graph: the graph.
        data: the name of an operation → numbers and texts about it, as {"time": 12.5}.
        facts: an operation → further facts about it.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.tanh(x) * 2.0).graph(dt.spec((3,)))
        >>> [(node.title, node.inputs) for node in picture_of(graph, {"Tanh": {"time": 3.0}}).nodes]
        [('arg0', []), ('Tanh', [(0, 0)]), ('2.0', []), ('Mul', [(1, 0), (2, 0)]), ('Output', [(3, 0)])]
    """
    data = data or {}
    numbers = {op: number for number, op in enumerate(graph.operations)}
    nodes = []
    for op in numbers:
        node = _node(op, numbers)
        node.facts |= facts(op)
        node.facts |= data.get(op.name, {})
        node.inner = [
            (key, picture_of(value, data, facts)) for key, value in op.attrs.items() if isinstance(value, GraphBase)
        ]
        nodes.append(node)
    for number, tensor in enumerate(graph.outputs):
        name = "output" if len(graph.outputs) == 1 else f"output_{number}"
        taken = [(numbers[tensor.op], tensor.index)]
        nodes.append(Node(name, OUTPUT, OUTPUT, repr(tensor.spec), taken))
    return Picture(graph.name, nodes)


def _node(op: Operation, numbers: Mapping[Operation, int]) -> Node:
    specs = [tensor.spec for tensor in op.outputs]
    outputs = [repr(spec) for spec in specs]
    title, subtitle = _texts(op, outputs)
    sizes = [size for spec in specs if (size := spec.nbytes) is not None]
    pin = op.pin
    found = {
        "engine": pin.engine,
        "device": pin.device,
        "part": pin.part,
        "bytes": None if None in sizes else sum(sizes),
    }
    return Node(
        op.name,
        op.type,
        title,
        subtitle,
        [(numbers[tensor.op], tensor.index) for tensor in op.inputs],
        [numbers[other] for other in op.control_inputs],
        outputs,
        [(key, _text(op, value)) for key, value in op.attrs.items() if not isinstance(value, GraphBase)],
        {key: value for key, value in found.items() if value is not None},
        None if op.where is None else _line(op.where),
    )


def _texts(op: Operation, outputs: list[str]) -> tuple[str, str]:
    """The title and the subtitle of an operation's box."""
    label = op.name.rpartition("/")[2]
    if op.type == "Const":
        value = shown(op.attrs["value"]) if op.attrs["value"].size <= SHORT else ""
        return (value, "") if 0 < len(value) <= SHORT else (label, outputs[0])
    if op.type in ("ReadVariableOp", "AssignVariableOp"):
        name = op.attrs["variable"].name
        return (name, outputs[0]) if op.type == "ReadVariableOp" else (f"{name} :=", outputs[0])
    if op.type == "Placeholder":
        return label, outputs[0]
    return op.type, "" if label == op.type else label


def _text(op: Operation, value: Any) -> str:
    is_large = op.type == "Const" and value.size > SHORT
    text = constant_text(op) if is_large else shown(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@lru_cache(maxsize=1 << 12)
def _line(where: Where) -> Line:
    assert where is not None
    file, number = where[0], where[1]
    here = os.path.relpath(file) if os.path.isabs(file) else file
    place = os.path.basename(file) if here.startswith(os.pardir) else here
    return Line(f"{place}:{number}", linecache.getline(file, number).strip())
