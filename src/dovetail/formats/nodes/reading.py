"""Reading: readers of all formats go from wanted values to the nodes that they need, and build a graph of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.read_limits import NO_MEMORY, PastLimit, make
from dovetail.core.base.scopes import scopes
from dovetail.core.tensor import Tensor
from dovetail.formats.nodes.constants import is_tensor, plain, wanted
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.graph.naming import name_new, unique_name

DEEPEST = 50  # functions that call each other


class Around(Protocol):
    """The nodes of a graph or of a function, among which a reader looks for one."""

    def unread(self, reference: str, file: str | os.PathLike[str]) -> Any:
        """The message of the node that makes a value; None if the value is known.

        Raises:
            FormatError: no node makes it.
        """

    def needs(self, proto: Any) -> list[str]:
        """The references of the values that a node needs before it is read."""

    @property
    def place(self) -> str:
        """The name of the graph or the function, for errors."""


class Node:
    """A node that is being read.

    Attributes:
        inputs: the values of its inputs; None for one that is missing.
        proto: its message.
    """

    inputs: list[Any]
    proto: Any

    def value(self, index: int) -> Any:
        """The value of an input.

        Raises:
            Unreadable: it is missing.
        """
        if index >= len(self.inputs) or self.inputs[index] is None:
            raise Unreadable(f"its input {index} is missing")
        return self.inputs[index]

    def tensor(self, index: int) -> Any:
        """An input that must be a tensor.

        Raises:
            Unreadable: it is something else.
        """
        raise NotImplementedError

    def known(self, index: int) -> np.ndarray | None:
        """The array of an input, if it is known before the graph runs."""
        return wanted(self.tensor(index))

    def constant(self, index: int) -> Any:
        """An input that must be known before the graph runs, as a Python number or a list.

        Raises:
            Unreadable: it is not known.
        """
        array = self.known(index)
        return self.unknown(index) if array is None else plain(array)

    def unknown(self, index: int) -> Any:
        """Raise the error for an input that must be known, or give a value in its place."""
        raise Unreadable(f"its input {index}, {self.proto.input[index]!r}, must be constant and depends on values")

    def shape(self, index: int) -> Any:
        """An input that is a shape: ints if they are known, else the tensor."""
        array = self.known(index)
        return self.tensor(index) if array is None else plain(array.reshape(-1))


class Reader:
    """A reader of nodes into the graph that is being built.

    Args:
        file: the file, for errors.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = file
        self._calling: list[tuple[str, str]] = []  # domains and names of functions

    @property
    def graph(self) -> Any:
        """The graph that is being built."""
        return scopes().graphs[-1]

    def recorded(self, value: Any) -> Any:
        """A value that was computed while the graph is read, such as zeros, as a constant of the graph."""
        return self.graph.constant(value.numpy(), "Const") if type(value) is Tensor else value

    def in_order(self, body: Around, wanted: Iterable[str]) -> Iterator[Any]:
        """The messages of the nodes that some values need and that are not read yet, each behind those it needs.

        Raises:
            FormatError: a value is made by no node, or needs itself.
        """
        open_nodes: set[int] = set()
        stack: list[tuple[str, Any]] = [(reference, None) for reference in reversed([*wanted])]
        while stack:
            reference, node = stack.pop()
            if node is not None:
                open_nodes.discard(id(node))
                if body.unread(reference, self.file) is not None:
                    yield node
            elif (node := body.unread(reference, self.file)) is not None:
                if id(node) in open_nodes:
                    actual = f"{reference!r} among its own inputs"
                    raise FormatError(self.file, body.place, actual, "nodes without circles")
                open_nodes.add(id(node))
                stack.append((reference, node))
                stack += [(other, None) for other in reversed(body.needs(node))]

    @property
    def is_in_function(self) -> bool:
        """Whether the nodes of a function are being read."""
        return bool(self._calling)

    @contextmanager
    def calling(self, name: str, domain: str = "") -> Iterator[None]:
        """Read the nodes of a function of a name, and of a domain, in the block.

        Raises:
            FormatError: the function calls itself.
        """
        if (domain, name) in self._calling or len(self._calling) == DEEPEST:
            raise FormatError(self.file, f"the function {name!r}", "a function that calls itself", "none")
        self._calling.append((domain, name))
        try:
            yield
        finally:
            self._calling.pop()

    @contextmanager
    def counted(self, node: Any) -> Iterator[None]:
        """Count the operation that a node becomes; one in place of a node with others inside of it.

        Raises:
            FormatError: the file asks for too much while the node is read.
        """
        try:
            make(1)
            yield
        except PastLimit as error:
            raise error.at(self.file, f"{node.type} {node.name!r}") from None
        except MemoryError:
            raise FormatError(self.file, f"{node.type} {node.name!r}", NO_MEMORY, "smaller values") from None

    def named_results(self, title: str, results: Callable[[], Iterable[Any]]) -> list[Any]:
        """The results that a function computes for a node of a name, with constants for values that it computed."""
        with self.named(title) as named:
            named += map(self.recorded, results())
        return named

    @contextmanager
    def named(self, title: str) -> Iterator[list[Any]]:
        """Name the operations of the block after a node of this name, the one of the first result exactly like it."""
        graph, results = self.graph, list[Any]()
        with graph.at_scope(f"{graph.scope}{title}/"):
            yield results
        first: Any = results[0] if results else None
        if is_tensor(first) and first.op.graph is graph and first.op.name.startswith(f"{graph.scope}{title}/"):
            name_new(graph, first.op, unique_name(graph, title))
