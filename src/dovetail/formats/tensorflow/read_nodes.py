"""Nodes that are read: a node with the values of its inputs, and the nodes around it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import FormatError
from dovetail.core.dtypes import DType
from dovetail.formats.nodes import reading
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.frames import EXITS, MERGES, Frames
from dovetail.formats.tensorflow.names import original, split
from dovetail.formats.tensorflow.op_defs import MOST, definition
from dovetail.formats.tensorflow.results import first_number, specs_of
from dovetail.formats.tensorflow.tensor_lists import TensorList, Variants
from dovetail.formats.tensorflow.values import Foreign, Handle, Host, Optional
from dovetail.formats.wire.tensors import shape_of

if TYPE_CHECKING:
    from dovetail.formats.tensorflow.places import Place
    from dovetail.formats.tensorflow.reading import Reader

JOINS = {*MERGES, *EXITS}  # their values are those of branches and loops
REDUCTIONS = ("Sum", "Prod", "Max", "Min", "Mean", "All", "Any")
DTYPE_NAMES = ("Tout", "dtype", "out_type", "output_type", "DstT", "element_dtype", "T", "Tparams")


class Node(reading.Node):
    """A node that is being read.

    Attributes:
        reader: the reader.
        body: the nodes around it, with their values.
        proto: its message.
        name, title, type: its name, its name in Dovetail, and TensorFlow's type.
        inputs: the values of its data inputs.
        attrs: its attributes.
        waits: values of host nodes that run before it, by its control inputs.
    """

    def __init__(self, reader: Reader, body: Body, proto: Any, inputs: list[Any]) -> None:
        self.reader, self.body, self.proto, self.inputs = reader, body, proto, inputs
        self.name, self.type, self.attrs = proto.name, proto.op, Attributes(proto)
        self.title = title_of(proto)
        names = (text[1:] for text in proto.input if text.startswith("^"))
        self.waits = [body.hosts[name] for name in names if name in body.hosts]

    def check_inputs(self) -> None:
        """Check that it has the inputs that TensorFlow's definition of its type says; of a list, there may be none.

        Raises:
            Unreadable: it has fewer.
        """
        known = definition(self.type)
        needed = 0 if known is None or self.type in JOINS else sum(not one.is_many for one in known.inputs)
        if len(self.inputs) < needed:
            raise Unreadable(f"it has {len(self.inputs)} inputs, and the op takes {needed}")

    @cached_property
    def place(self) -> Place:
        """Who computes it."""
        return self.reader.places.of(self)

    def tensor(self, index: int) -> Any:
        value = self.taken(self.read(self.value(index)))
        if not is_tensor(value):
            raise self.refused(index, "no tensor")
        return value

    def tensor_list(self, index: int) -> TensorList:
        """An input that must be a list of tensors."""
        value = self.value(index)
        if not isinstance(value, TensorList):
            raise self.refused(index, "no list of tensors")
        return value

    def item(self, index: int) -> Any:
        """An input that must be a tensor, or what lists have in its place: a list, a variant or an optional value."""
        value = self.value(index)
        return value if isinstance(value, (TensorList, Variants, Optional)) else self.tensor(index)

    def read(self, value: Any) -> Any:
        """A value; instead of a reference, that of its variable after the assignments that gave the reference."""
        if not isinstance(value, Handle) or not value.is_reference:
            return value
        with self.reader.graph.control_dependencies(value.after) if value.after else nullcontext():
            return self.reader.current(value.variable)

    def taken(self, value: Any) -> Any:
        """A value as nodes of the graph take it: numbers that the host computes are placeholders."""
        return self.reader.fed(value) if isinstance(value, Host) and value.is_number else value

    def refused(self, index: int, what: str) -> Unreadable:
        """The error for an input of another kind."""
        value = self.inputs[index]
        origin = f", the result of {value.name!r}: {value.reason}" if isinstance(value, Foreign) else ""
        origin = f", the result of {value.node.name!r}" if isinstance(value, Host) else origin
        return Unreadable(f"its input {index} is {what}{origin}")

    def tensors(self) -> list[Any]:
        """All inputs, which must be tensors."""
        return [self.tensor(index) for index in range(len(self.inputs))]

    def unknown(self, index: int) -> Any:
        return None if self._takes_all_axes(index) else super().unknown(index)

    def _takes_all_axes(self, index: int) -> bool:
        """Whether a reduction takes the numbers up to the rank as axes, as TensorFlow writes it for unknown ranks."""
        nodes, text = self.body.nodes, self.proto.input[index]
        numbers = nodes.get(split(text)[0]) if self.type in REDUCTIONS else None
        limit = nodes.get(split(numbers.input[1])[0]) if numbers is not None and numbers.op == "Range" else None
        return limit is not None and limit.op == "Rank" and limit.input[0] == self.proto.input[0]

    def of(self, inputs: list[Any]) -> Node:
        """The same node with other inputs."""
        other = copy(self)
        other.inputs = inputs
        return other

    def variable(self, index: int) -> Any:
        """The variable of an input.

        Raises:
            Unreadable: the input is no handle of a variable.
        """
        value = self.value(index)
        if not isinstance(value, Handle):
            raise self.refused(index, "no variable")
        return value.variable


def title_of(proto: Any) -> str:
    """The name of a node in Dovetail."""
    return original(proto).rstrip("/") or "x"  # a slash at the end would ask for the very name


class Body:
    """The nodes of a graph or of a function, with the values that are known so far.

    Args:
        place: its name, for errors.
        nodes: the messages.
        given: name of a node or an argument → its values.
    """

    def __init__(self, place: str, nodes: Iterable[Any], given: Mapping[str, list[Any]]) -> None:
        self.place = place
        self.nodes = {node.name: node for node in nodes}
        self.titles = [title_of(node) for node in self.nodes.values()]
        self.values: dict[str, Any] = dict(given)
        self.wanted: dict[str, list[str]] = {}  # the references that are wanted, by the nodes that they name
        self._taken: dict[str, list[str]] = {}  # the references of nodes, likewise, once they are needed
        self.hosts: dict[str, Host] = {}  # names of host nodes → their first values, or stand-ins
        self.frames = Frames(self.nodes)
        self.loops: dict[int, tuple[str, dict[str, Any]]] = {}  # frame of a loop → the exit that was read, and results
        self.stacks: dict[str, TensorList] = {}  # name of a stack → what is in it now
        # name of a node that assigns, or needs one that does → operations, and whether what takes its results waits
        self.effects: dict[str, tuple[list[Any], bool]] = {}

    def inside(self, given: Mapping[str, list[Any]]) -> Body:
        """The same nodes in a branch or a loop, where some have other values, and no other is read yet."""
        inner = Body.__new__(Body)
        inner.place, inner.nodes, inner.titles, inner.frames = self.place, self.nodes, [], self.frames
        inner.values, inner.wanted, inner._taken = dict(given), {}, self._taken
        inner.hosts, inner.loops, inner.stacks, inner.effects = {}, {}, {}, {}
        return inner

    def references(self, name: str) -> list[str]:
        """The references to the results of a node, of those that are wanted and of other nodes."""
        if not self._taken:
            self._taken.update(by_node(text for node in self.nodes.values() for text in node.input))
        return [*self.wanted.get(name, ()), *self._taken.get(name, ())]

    def unread(self, reference: str, file: str | os.PathLike[str]) -> Any:
        """The message of the node of a value; None if it is read.

        Raises:
            FormatError: there is no such node.
        """
        name = split(reference)[0]
        if name not in self.values and name not in self.nodes:
            raise FormatError(file, self.place, f"an input {name!r}", "the name of a node")
        return None if name in self.values else self.nodes[name]

    def needs(self, proto: Any) -> list[str]:
        """The references that a node needs before it is read."""
        return self.frames.needs(proto) if proto.op in JOINS else list(proto.input)


def by_node(references: Iterable[str]) -> dict[str, list[str]]:
    """References by the names of the nodes whose results they are."""
    by_name: dict[str, list[str]] = {}
    for text in references:
        by_name.setdefault(text.partition(":")[0], []).append(text)  # one that waits for a node has a sign before it
    return by_name


def types_of(node: Node) -> tuple[list[DType | None], list[Any]]:
    """The dtypes and shapes of a node's results, as far as it says them."""
    dtypes, shapes = _said(node)
    return (
        [one if isinstance(one, DType) else None for one in dtypes],
        [one if isinstance(one, tuple) else None for one in shapes],
    )


def _said(node: Node) -> tuple[list[Any], list[Any]]:
    """The dtypes and shapes of a node's results, which may be anything in a damaged file."""
    known = node.proto.attr["_output_shapes"].list.shape if "_output_shapes" in node.attrs else []
    dtypes, shapes = _said_by_type(node) or _guessed(node, len(known))
    if len(known) == len(dtypes):
        shapes = [shape_of(said) if shape is None else shape for shape, said in zip(shapes, known, strict=True)]
    return dtypes, shapes


def _said_by_type(node: Node) -> tuple[list[Any], list[Any]] | None:
    """What TensorFlow's definition of the type says, and the table of shapes; None if the type is not known."""
    if definition(node.type) is None:
        return None
    with suppress(Unreadable):  # an attribute is missing
        if node.type in EXITS and _gives_list(node):
            return [None], [None]
        specs = specs_of(node.type, node.attrs, node.inputs)
        return [spec.dtype for spec in specs], [spec.shape for spec in specs]
    return None


def _guessed(node: Node, count: int) -> tuple[list[Any], list[Any]]:
    """The dtypes that a node of an unknown type may have, by its attributes and the number of its known results."""
    first = next((value.dtype for value in node.inputs if is_tensor(value)), None)
    given = next((node.attrs.given(name) for name in DTYPE_NAMES if name in node.attrs), first)
    if not isinstance(given, list):
        parts = [split(text) for text in node.body.references(node.name)]
        taken = [min(number + (first_number(node.proto, output) if output else 0), MOST) for _, output, number in parts]
        given = [given] * max([1, count, *(number + 1 for number in taken)])
    return given, [None] * len(given)


def _gives_list(node: Node) -> bool:
    """Whether a loop of TensorFlow 1 gives a list, whose flow has a dtype of numbers there."""
    frame, merge = node.body.frames.frame_of(node.proto)
    first = node.reader.value(node.body, frame.merges[merge][0])
    return isinstance(first, TensorList) or (isinstance(first, Host) and not first.is_number)
