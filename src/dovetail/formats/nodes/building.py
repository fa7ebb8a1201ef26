"""The graph that is being built while the nodes of a file are read, and the names of its operations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.base.read_limits import NO_MEMORY, PastLimit, make
from dovetail.core.base.scopes import scopes
from dovetail.core.tensor import Tensor
from dovetail.formats.nodes.constants import is_tensor
from dovetail.graph.naming import name_new, unique_name


class Building:
    """What readers of all formats do with the graph that is being built.

    Attributes:
        file: the file, for errors.
    """

    file: str | os.PathLike[str]

    @property
    def graph(self) -> Any:
        """The graph that is being built."""
        return scopes().graphs[-1]

    def recorded(self, value: Any) -> Any:
        """A value that was computed while the graph is read, such as zeros, as a constant of the graph."""
        return self.graph.constant(value.numpy(), "Const") if type(value) is Tensor else value

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

    @contextmanager
    def named(self, title: str) -> Iterator[list[Any]]:
        """Name the operations of the block after a node of this name, the one of the first result exactly like it."""
        graph, results = self.graph, list[Any]()
        with graph.at_scope(f"{graph.scope}{title}/"):
            yield results
        first: Any = results[0] if results else None
        if is_tensor(first) and first.op.graph is graph and first.op.name.startswith(f"{graph.scope}{title}/"):
            name_new(graph, first.op, unique_name(graph, title))
