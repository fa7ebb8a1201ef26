"""Tree: the nodes of a picture in their scopes, as viewers open and close them.

An item is a node or a scope.  Item 0 is the whole picture.  A scope is the part of names before a slash, or the graph
of a loop's body or of a branch, inside the item of its operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dovetail.formats.pictures.picture import Node, Picture


class Item(NamedTuple):
    """A node or a scope.

    Attributes:
        parent: the number of the item that it is in; -1 for the whole.
        label: the last part of its name.
        node: its node; None for a scope.
    """

    parent: int
    label: str
    node: Node | None


class Edge(NamedTuple):
    """A tensor that one item makes and another takes; `output` is -1 if it only waits."""

    source: int
    output: int
    target: int


class Tree:
    """The items of a picture, and the edges between its nodes.

    Attributes:
        items: the items; an item comes after the one that it is in.
        children: per item, the numbers of the items in it, in program order.
        depths: per item, the number of items around it.
        edges: the edges between nodes.

    Example:
        >>> nodes = [Node("x", "Placeholder", "x"), *(Node(f"a/{name}", name, name) for name in ("Tanh", "Exp"))]
        >>> nodes[1].inputs = [(0, 0)]
        >>> tree = Tree(Picture("f", nodes))
        >>> [item.label for item in tree.items], tree.children, tree.edges
        (['f', 'x', 'a', 'Tanh', 'Exp'], [[1, 2], [], [3, 4], [], []], [Edge(source=1, output=0, target=3)])
    """

    def __init__(self, picture: Picture) -> None:
        self.items: list[Item] = []
        self.children: list[list[int]] = []
        self.depths: list[int] = []
        self.edges: list[Edge] = []
        self._fill(self._add(-1, picture.name, None), picture)

    def _add(self, parent: int, label: str, node: Node | None) -> int:
        number = len(self.items)
        self.items.append(Item(parent, label, node))
        self.children.append([])
        self.depths.append(0 if parent < 0 else self.depths[parent] + 1)
        if parent >= 0:
            self.children[parent].append(number)
        return number

    def _fill(self, root: int, picture: Picture) -> None:
        """Add the nodes of a picture inside an item.  A scope around one thing alone is no item."""
        counts = _counts(picture)
        scopes: dict[str, tuple[int, str]] = {"": (root, "")}
        places: list[int] = []
        for node in picture.nodes:
            scope, prefix = self._scope(node.name.rpartition("/")[0], scopes, counts)
            number = self._add(scope, node.name[len(prefix) :], node)
            places.append(number)
            for key, inner in node.inner:
                self._fill(self._add(number, key, None), inner)
        for number, node in zip(places, picture.nodes, strict=True):
            self.edges += [Edge(places[source], output, number) for source, output in node.inputs]
            self.edges += [Edge(places[source], -1, number) for source in node.waits]

    def _scope(self, name: str, scopes: dict[str, tuple[int, str]], counts: dict[str, int]) -> tuple[int, str]:
        """The item for a scope, which is added if it is new, and the beginning of the names in it."""
        entry = scopes.get(name)
        if entry is None:
            outer, prefix = self._scope(name.rpartition("/")[0], scopes, counts)
            entry = outer, prefix
            if counts[name] > 1:
                entry = self._add(outer, name[len(prefix) :], None), f"{name}/"
            scopes[name] = entry
        return entry

    def steps(self, edge: Edge) -> Iterator[tuple[int, int, int]]:
        """The pieces of an edge, one in each scope that it crosses: the scope, and where the piece begins and ends.

        A piece begins or ends at the scope itself if it comes from outside of it or leaves it.
        """
        source, target = edge.source, edge.target
        while self.depths[source] > self.depths[target]:
            parent = self.items[source].parent
            yield parent, source, parent
            source = parent
        while self.depths[target] > self.depths[source]:
            parent = self.items[target].parent
            yield parent, parent, target
            target = parent
        while (parent := self.items[source].parent) != (other := self.items[target].parent):
            yield parent, source, parent
            yield other, other, target
            source, target = parent, other
        yield parent, source, target


def _counts(picture: Picture) -> dict[str, int]:
    """The number of nodes and scopes that are right in each scope."""
    counts: dict[str, int] = {}
    for node in picture.nodes:
        scope = node.name.rpartition("/")[0]
        while scope:
            counts[scope] = counts.get(scope, 0) + 1
            if counts[scope] > 1:
                break
            scope = scope.rpartition("/")[0]
    return counts
