"""Picture: a graph as the plain texts and numbers that viewers draw; pages, SVG, DOT and other pictures are made of it.

A node is an operation, or one of the graph's results.  Nodes have numbers, so names need not be unique.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import Where
from dovetail.core.values.spec import TensorSpec
from dovetail.graph.base import GraphBase
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.printing import constant_text, shown

OUTPUT = "Output"  # the type of nodes that stand for results
PASSING = frozenset(["ReadVariableOp", "Identity"])  # types that hand a weight on, where one is their only input
SHORT = 14  # characters of a constant that its node shows
LONGEST = 200  # characters of an attribute

Data = Mapping[str, Mapping[str, Any]]
Facts = Callable[[Operation], Mapping[str, Any]]


class Line(NamedTuple):
    """A user's line: the file and its number, and the text of the line if the file is there."""

    place: str
    text: str


class Weight(NamedTuple):
    """A variable's or a constant's value, as a page shows it in the operation that takes it.

    Attributes:
        name: of the variable or the constant.
        spec: its dtype and shape.
        value: returns its value now, or None if that is not known; a page alone asks for it.
    """

    name: str
    spec: str
    value: Callable[[], np.ndarray | None] = lambda: None


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
        weight: what it gives, if it reads a variable or is a large constant.
        weights: the weights that it takes, in a picture in which they are folded; see `folded`.
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
    weight: Weight | None = None
    weights: list[Weight] = field(default_factory=list)


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
    painter = Painter(graph.name, data)
    for op in graph.operations:
        painter.add(op, facts)
    painter.add_results(graph.outputs)
    return painter.picture


class Painter:
    """A picture while it is made, node by node.

    Args:
        name: of the picture.
        data: as for `picture_of`.

    Attributes:
        picture: what is made so far.
        values: tensors → the number of the node that makes them, and of its output.
    """

    def __init__(self, name: str, data: Data | None = None) -> None:
        self.picture = Picture(name)
        self.values: dict[GraphTensor, tuple[int, int]] = {}
        self._numbers: dict[Operation, int] = {}
        self._data = data or {}

    def add_node(self, node: Node) -> int:
        """Add a node that is no operation of a graph, and return its number."""
        self.picture.nodes.append(node)
        return len(self.picture.nodes) - 1

    def add(self, op: Operation, facts: Facts = no_facts) -> int:
        """Add an operation, whose inputs are there already, and return its number."""
        specs = [tensor.spec for tensor in op.outputs]
        outputs = [repr(spec) for spec in specs]
        title, subtitle = _texts(op, outputs)
        number = self._numbers[op] = self.add_node(
            Node(
                op.name,
                op.type,
                title,
                subtitle,
                [self.values[tensor] for tensor in op.inputs],
                [self._numbers[other] for other in op.control_inputs if other in self._numbers],
                outputs,
                [(key, _text(op, value)) for key, value in op.attrs.items() if not isinstance(value, GraphBase)],
                {**_facts(op, specs), **facts(op), **self._data.get(op.name, {})},
                None if op.where is None else _line(op.where),
                [(key, picture_of(value, self._data, facts)) for key, value in op.attrs.items()
                 if isinstance(value, GraphBase)],
                _weight(op, outputs),
            )
        )  # fmt: skip
        for tensor in op.outputs:
            self.values[tensor] = number, tensor.index
        return number

    def add_results(self, tensors: Sequence[GraphTensor]) -> None:
        """Add a node for each result."""
        for number, tensor in enumerate(tensors):
            name = "output" if len(tensors) == 1 else f"output_{number}"
            self.add_node(Node(name, OUTPUT, OUTPUT, repr(tensor.spec), [self.values[tensor]]))


def _facts(op: Operation, specs: Sequence[TensorSpec]) -> dict[str, Any]:
    """The pin of an operation, and the bytes of its results, as far as they are known."""
    sizes = [size for spec in specs if (size := spec.nbytes) is not None]
    engine, device, part = op.pin
    facts = {"engine": engine, "device": device, "part": part}
    facts["bytes"] = sum(sizes) if len(sizes) == len(specs) else None
    return {key: value for key, value in facts.items() if value is not None}


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


def _weight(op: Operation, outputs: list[str]) -> Weight | None:
    """The weight that an operation gives."""
    if op.type == "ReadVariableOp":
        variable = op.attrs["variable"]
        return Weight(variable.name, outputs[0], lambda: variable.numpy() if variable.is_held else None)
    if op.type == "Const" and op.attrs["value"].size > SHORT:
        return Weight(op.name, outputs[0], lambda: np.asarray(op.attrs["value"]))
    return None


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


def folded(picture: Picture) -> Picture:
    """The picture without nodes that only give weights; each node that takes one names it.

    A weight that is a result, or for which others wait, keeps its node.
    """
    given: list[Weight | None] = []
    for number, node in enumerate(picture.nodes):
        if node.type in PASSING and [source < number for source, _ in node.inputs] == [True]:
            weight = given[node.inputs[0][0]]
            given.append(weight and weight._replace(spec=weight.spec or (node.outputs or [""])[0]))
        else:
            given.append(node.weight)
    taken: set[int] = set()
    for node in picture.nodes:
        sources = {source for source, _ in node.inputs}
        taken |= sources
        for source in {*node.waits, *(sources if node.type == OUTPUT else ())}:
            given[source] = None
    stays = [weight is None or number not in taken for number, weight in enumerate(given)]
    places = [kept - 1 for kept in accumulate(map(int, stays))]
    found = Picture(picture.name)
    for node in (node for node, kept in zip(picture.nodes, stays, strict=True) if kept):
        weights = [weight for source, _ in node.inputs if not stays[source] and (weight := given[source])]
        inputs = [(places[source], output) for source, output in node.inputs if stays[source]]
        waits = [places[source] for source in node.waits]
        inner = [(key, folded(part)) for key, part in node.inner]
        subtitle = ", ".join(map(_short, weights)) or node.subtitle
        found.nodes.append(
            replace(node, subtitle=subtitle, inputs=inputs, waits=waits, inner=inner, weights=[*node.weights, *weights])
        )
    return found


def _short(weight: Weight) -> str:
    """The last part of a weight's name, and its shape.

    Example:
        >>> _short(Weight("dense/kernel", "float32[8,2]")), _short(Weight("layers.0.bias", "float32[8]"))
        ('kernel [8,2]', 'bias [8]')
    """
    name = weight.name.rpartition("/")[2].rpartition(".")[2]
    _, bracket, shape = weight.spec.partition("[")
    return f"{name} {bracket}{shape}".strip()


def joined(name: str, pictures: Mapping[str, Picture]) -> Picture:
    """Several pictures as one, each in a scope of its name; a single one stays as it is."""
    if len(pictures) == 1:
        return next(iter(pictures.values()))
    whole = Picture(name)
    for scope, picture in pictures.items():
        first = len(whole.nodes)
        for node in picture.nodes:
            inputs = [(first + number, output) for number, output in node.inputs]
            waits = [first + number for number in node.waits]
            whole.nodes.append(replace(node, name=f"{scope}/{node.name}", inputs=inputs, waits=waits))
    return whole
