"""The uses of names that a reader finds, and the visitor of files that finds them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dovetail.compat.source.names import Project
from dovetail.compat.source.scopes import SCOPES, Scope, inside, outside
from dovetail.compat.source.sources import Place, Source

DEEP = 30_000  # frames: Python parses at most 6,000 levels, and each level takes several frames


@dataclass(frozen=True)
class Use:
    """One place where a program uses a name of K or of TensorFlow.

    Attributes:
        name: the name.
        place: the line.
        how: "used"; "imported", if nothing uses it after that; "replaced", if the program assigns something else to the
            name; "assumed", if nothing shows that this K is Keras'.
        arguments: the number of a call's positional arguments, and the names of the others; None if unknown.
    """

    name: str
    place: Place
    how: str = "used"
    arguments: tuple[int, tuple[str, ...]] | None = None


@dataclass
class Found:
    """The uses of K or of TensorFlow in a program.

    Attributes:
        uses: the uses of names.
        handed_on: the places where K as a whole is an argument or a result, so that its uses are not seen.
        dynamic: the places where only a run can tell the function's name: `getattr(K, name)`.
        past: the places that use TensorFlow's sessions and graphs directly, without K.
    """

    uses: list[Use] = field(default_factory=list)
    handed_on: list[Place] = field(default_factory=list)
    dynamic: list[Place] = field(default_factory=list)
    past: list[Place] = field(default_factory=list)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the recursion limit: the tree of a sum of a thousand terms is a thousand levels deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class Walker(ast.NodeVisitor):
    """A visitor of one file that keeps the current scope."""

    def __init__(self, source: Source, project: Project):
        self.source, self.project = source, project
        self.binder = project.binders[source.path]
        self.scope = self.binder.file
        self.cell: int | None = None
        self.calls: dict[ast.expr, ast.Call] = {}  # called expression → the call

    def walk(self) -> None:
        """Visit all cells of a notebook, or the file."""
        for cell, tree in self.source.parts:
            self.cell = cell
            self.visit(tree)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        return Place(self.source.path, node.lineno, self.cell)

    def resolve(self, node: ast.expr) -> str | None:
        return self.project.resolve(node, self.scope, self.binder)

    def visit_Call(self, node: ast.Call) -> None:
        self.calls[node.func] = node
        self.generic_visit(node)

    def arguments(self, node: ast.expr) -> tuple[int, tuple[str, ...]] | None:
        """The arguments of the call, if `node` is called and shows them."""
        call = self.calls.get(node)
        if call is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        names = [keyword.arg for keyword in call.keywords]
        return None if None in names else (len(call.args), tuple(name for name in names if name))

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, SCOPES):
            super().generic_visit(node)
            return
        for part in outside(node):
            if self.is_seen_outside(part):
                self.visit(part)
        around: Scope = self.scope
        self.scope = self.binder.scopes[node]
        self.visit_all(inside(node))
        self.scope = around

    def is_seen_outside(self, part: ast.AST) -> bool:
        """Whether a default of a parameter, a decorator or a base is visited."""
        return True

    def visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)
