"""Parts of syntax trees, and new nodes in their places, for what changes programs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeVar

from dovetail.compat.source.scopes import FUNCTIONS

Node = TypeVar("Node", bound=ast.AST)


def at(place: ast.AST, node: Node) -> Node:
    """A new node, with its parts, at the place of another one."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The parts of a function that belong to no function or class inside it.

    Example:
        >>> tree = ast.parse("x = 1\\ndef f(y): return z")
        >>> [part.id for part in own(tree.body) if isinstance(part, ast.Name)]
        ['x']
    """
    for node in nodes:
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from own(ast.iter_child_nodes(node))
