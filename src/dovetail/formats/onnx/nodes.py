"""Nodes that are read: a node with its values, and the nodes around it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.formats.nodes import reading
from dovetail.formats.nodes.constants import is_tensor, wanted
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.attributes import Attributes, attributes_of, check_types
from dovetail.formats.onnx.declared import DEFAULT_DOMAINS
from dovetail.formats.onnx.tensors import carried, number_of

if TYPE_CHECKING:
    from dovetail.formats.onnx.reading import Reader

DOMAIN = "com.microsoft"  # of the operators of ONNX Runtime
NO_TRAINING = {"BatchNormalization": (3, 4)}  # types → the numbers of inputs that training does not change
SCALES = ("Mul", "Div", "Pow")  # types that take single numbers as they are, such as the scale of attention


class Weight(NamedTuple):
    """An array of a model, which becomes a constant or a variable where a node takes it as a tensor."""

    name: str
    array: np.ndarray


class Narrow(NamedTuple):
    """A tensor of a dtype that Dovetail does not have, in one that holds all its numbers; ONNX's number says which."""

    tensor: Any
    number: int


class Later(NamedTuple):
    """Strings or maps that the host makes of a tensor, after a run has computed it."""

    tensor: Any
    make: Callable[[np.ndarray], Any]


class Foreign(NamedTuple):
    """A value that nothing computes, and the reason."""

    name: str
    reason: str


class Parts(NamedTuple):
    """The sequence of the parts of a tensor along an axis, as many as values say; the last one may be smaller.

    Attributes:
        x: the tensor.
        size: of a part; an int or a tensor.
        axis: at least 0.
        is_flat: whether the parts have no such axis.
        name: of the node.
    """

    x: Any
    size: Any
    axis: int
    is_flat: bool
    name: str

    @property
    def reason(self) -> str:
        """The reason why it is no list."""
        source, advice = "an axis of unknown size says", "Give inputs of known shapes"
        if is_tensor(self.size):
            source, advice = "values say", "Give these values as arrays from outside the function"
        text = f"SplitToSequence {self.name!r} gives as many parts as {source}, and a list has a fixed length"
        return f"{text}. {advice}, or call the model itself"


EMPTY = Foreign("", "an optional value that is empty")


class Pending(Foreign):
    """A value that is no tensor, and is not known yet: the input of a name, or a result of a node that waits.

    Attributes:
        part: the node, and the values that it takes; None for an input.
        number: of the result.
    """

    part: Part | None
    number: int

    @classmethod
    def of(cls, name: str, reason: str, part: Part | None = None, number: int = 0) -> Pending:
        """Make one."""
        pending = cls(name, reason)
        pending.part, pending.number = part, number
        return pending


class Part(NamedTuple):
    """A node that waits, as it is read later.

    Attributes:
        proto: its message.
        body: the place, the versions and the attributes of its `Body`.
        values: the values that it takes by their names.
    """

    proto: Any
    body: tuple[str, Mapping[str, int], Mapping[str, Any]]
    values: dict[str, Any]


class Body:
    """The nodes of a graph or of a function, with the values that are known so far.

    Args:
        place: its name, for errors.
        nodes: the messages.
        versions: domain → its version.
        values: name → value.
        outer: the nodes around a subgraph, whose values it sees.
        attrs: the attributes of the call of a function.
        title: the name of its one node in the graph, if it has another one there.
        graph: the message `GraphProto` that they are all nodes of; None for those of a function, or a single one.
        prefix: the path of this graph in the model.
    """

    def __init__(
        self,
        place: str,
        nodes: Iterable[Any],
        versions: Mapping[str, int],
        values: dict[str, Any],
        outer: Body | None = None,
        attrs: Mapping[str, Any] | None = None,
        title: str = "",
        graph: Any = None,
        prefix: str = "",
    ) -> None:
        self.title, self.graph, self.prefix = title, graph, prefix
        self.place, self.versions, self.values, self.outer, self.attrs = place, versions, values, outer, attrs or {}
        self.nodes = list(nodes)
        self.maker = {name: node for node in self.nodes for name in node.output if name}

    @cached_property
    def initializers(self) -> dict[str, Any]:
        """Name → message, of those of its graph."""
        tensors = (*self.graph.initializer, *(one.values for one in self.graph.sparse_initializer))
        return {one.name: one for one in tensors}

    def unread(self, reference: str, file: str | os.PathLike[str]) -> Any:
        """The message of the node that makes a value; None if the value is known, or left out.

        Raises:
            FormatError: no node makes it.
        """
        node = None if not reference or reference in self.values else self.maker.get(reference)
        if reference and node is None and self.find(reference) is None and reference not in self.values:
            raise FormatError(file, self.place, f"a value {reference!r}", "the name of a result or an input")
        return node

    def needs(self, proto: Any) -> list[str]:
        """The names of the values that a node takes, and that its subgraphs take from around it."""
        return needs(proto)

    def find(self, name: str) -> Any:
        """A value by its name, here or around; None if it is not read."""
        body: Body | None = self
        while body is not None:
            if name in body.values:
                return body.values[name]
            body = body.outer
        return None


class Node(reading.Node):
    """A node that is being read.

    Attributes:
        reader: the reader.
        body: the nodes around it, with their values.
        proto: its message.
        type: ONNX's type, with the domain before it if that is not the default one.
        name: its own, or that of its first output.
        version: of its domain.
        inputs: the values of its inputs; None for one that is missing.
        attrs: its attributes.
        taken: places of inputs → the tensors that they were taken as.
    """

    def __init__(self, reader: Reader, body: Body, proto: Any) -> None:
        self.reader, self.body, self.proto = reader, body, proto
        domain = "" if proto.domain in DEFAULT_DOMAINS else proto.domain
        self.type = f"{domain}.{proto.op_type}" if domain else proto.op_type
        named = body.title or proto.name or next(filter(None, proto.output), proto.op_type)
        self.name = named.rstrip("/") or proto.op_type
        self.version = body.versions.get(domain, 1)
        self.inputs = [body.find(name) if name else None for name in proto.input]
        self.taken: dict[int, Any] = {}

    @cached_property
    def attrs(self) -> Attributes:
        """Its attributes, and the number of its outputs.

        Raises:
            Unreadable: one has another type than ONNX's definition of its name says.
        """
        attributes = attributes_of(self.proto.attribute, self.reader.tensors, self.body.attrs)
        if self.key not in self.reader.functions:
            check_types(attributes)
        attributes["outputs"] = len(self.proto.output)
        return attributes

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the function of the model that it calls, if it calls one."""
        return self.proto.domain, self.proto.op_type, self.proto.overload

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def tensor(self, index: int) -> Any:
        value = self.value(index)
        if isinstance(value, Weight):
            is_scale = self.type in SCALES and value.array.size == 1
            is_trainable = not is_scale and index not in NO_TRAINING.get(self.type, ())
            self.taken[index] = self.reader.weight(value, is_trainable)
            return self.taken[index]
        value = value.tensor if isinstance(value, Narrow) else value
        if is_tensor(value):
            return value
        origin = f", the result of {value.name!r}: {value.reason}" if isinstance(value, Foreign) else ""
        raise Unreadable(f"its input {index} is no tensor{origin}")

    def optional(self, index: int) -> Any:
        """An input that must be a tensor, or None if it is not there."""
        return self.tensor(index) if self.has(index) else None

    def known(self, index: int) -> np.ndarray | None:
        value = self.value(index) if self.has(index) else None
        if isinstance(value, Weight):
            return carried(value.array)
        return wanted(value.tensor if isinstance(value, Narrow) else value)

    def number(self, index: int) -> int:
        """ONNX's number of the dtype of an input."""
        value = self.value(index)
        if isinstance(value, Narrow):
            return value.number
        return number_of((value.array if isinstance(value, Weight) else self.tensor(index)).dtype)

    def array(self, name: str) -> np.ndarray:
        """An attribute that must be an array.

        Raises:
            Unreadable: it is something else.
        """
        array = self.attrs[name]
        if not isinstance(array, np.ndarray):
            raise Unreadable(f"its attribute {name!r} is no tensor")
        return array.reshape(-1)

    def unknown(self, index: int) -> Any:
        self.reader.need(self.tensor(index))
        return super().unknown(index)

    def refuse(self, index: int, kind: str) -> NoReturn:
        """Raise the error for an input that is of another kind."""
        value = self.value(index)
        if isinstance(value, Parts):
            raise Unreadable(value.reason)
        if is_tensor(value):
            self.reader.need(value)
        raise Unreadable(f"its input {index}, {self.proto.input[index]!r}, is no {kind}")


def tensors_of(value: Any) -> Iterator[Any]:
    """The tensors of the graph in a value that is known: itself, or those of a list."""
    value = value.tensor if isinstance(value, (Narrow, Later)) else value
    if is_tensor(value):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from tensors_of(one)


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs of a node, which its attributes have."""
    return (graph for _, graph in named_parts(node))


def named_parts(node: Any) -> Iterator[tuple[str, Any]]:
    """The paths and the graphs of a node; the path has the names of the node and of the attribute."""
    title = node.name or next(filter(None, node.output), node.op_type)
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.HasField("g") else attribute.graphs
        yield from ((f"{title}/{attribute.name}/", graph) for graph in graphs)


def parts_of(graph: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The graph, and those inside, with their paths."""
    yield prefix, graph
    for node in graph.node:
        for path, inner in named_parts(node):
            yield from parts_of(inner, f"{prefix}{path}")


def weights_in(graph: Any) -> Iterator[str]:
    """The names of the weights of a graph alone."""
    yield from (one.name for one in graph.initializer)
    yield from (one.values.name for one in graph.sparse_initializer)
    yield from (name for node in graph.node if node.op_type == "Constant" for name in node.output)


def needs(node: Any) -> list[str]:
    """The names of the values that a node takes, and that its subgraphs take from around it."""
    return list(dict.fromkeys([*filter(None, node.input), *taken_inside(node)]))


def taken_inside(node: Any) -> list[str]:
    """The names of the values that the subgraphs of a node take from around it."""
    return list(dict.fromkeys(name for graph in subgraphs(node) for name in _free(graph)))


def _free(graph: Any) -> Iterator[str]:
    """The names that a subgraph takes from around it."""
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    taken = [name for node in graph.node for name in needs(node)] + [value.name for value in graph.output]
    return (name for name in taken if name not in own)
