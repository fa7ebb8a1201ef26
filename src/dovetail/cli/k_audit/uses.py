"""Where a program uses K: under any name, from any Keras, in any of the ways to import it."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dovetail.cli.k_audit.names import Project, k_name
from dovetail.cli.k_audit.scopes import SCOPES, Scope, inside, outside
from dovetail.cli.k_audit.sources import Place, Source

SESSIONS = {  # what only TensorFlow 1's graphs and sessions need
    *("ConfigProto", "GPUOptions", "Graph", "InteractiveSession", "Session", "placeholder"),
    *("get_default_graph", "get_default_session", "reset_default_graph"),
    *("global_variables_initializer", "initialize_all_variables", "variables_initializer"),
    *("disable_eager_execution", "disable_v2_behavior"),
}
DEEP = 30_000  # frames: some for each level of what Python parses, which is 6,000 at most
TAKES_A_NAME = ("getattr", "setattr", "hasattr", "delattr", "object")  # the last is unittest.mock's patch.object


@dataclass(frozen=True)
class Use:
    """One place where a program uses a function of K.

    Attributes:
        name: the function's.
        place: where.
        how: "used"; "imported", where nothing uses it after that; "replaced", where the program puts something else in
            its place; "assumed", where nothing shows that this K is Keras'.
        arguments: of a call, how many are given by position, and the names of the others; None if that is not seen.
    """

    name: str
    place: Place
    how: str = "used"
    arguments: tuple[int, tuple[str, ...]] | None = None


@dataclass
class Found:
    """What a program does with K.

    Attributes:
        uses: of functions.
        handed_on: where K as a whole is an argument or a result, so that its uses there are not seen.
        dynamic: where the name of the function is known only when the program runs: `getattr(K, name)`.
        past: where TensorFlow's sessions and graphs are used past K.
    """

    uses: list[Use] = field(default_factory=list)
    handed_on: list[Place] = field(default_factory=list)
    dynamic: list[Place] = field(default_factory=list)
    past: list[Place] = field(default_factory=list)


def find(sources: Iterable[Source], known: Collection[str]) -> Found:
    """What some sources, which import each other, do with K.

    Args:
        sources: what was read.
        known: the names of functions that K has, or had in some Keras.
    """
    sources, found = list(sources), Found()
    with deep_recursion():
        project = Project(sources, known)
        for source in sources:
            _Finder(source, project, found).run()
    return found


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Lets sums of a thousand terms be walked, which are as deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class Walker(ast.NodeVisitor):
    """Goes through one file, and knows in which scope it is."""

    def __init__(self, source: Source, project: Project):
        self.source, self.project = source, project
        self.binder = project.binders[source.path]
        self.scope = self.binder.file
        self.cell: int | None = None

    def walk(self) -> None:
        """Visits all cells of a notebook, or the file."""
        for cell, tree in self.source.parts:
            self.cell = cell
            self.visit(tree)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        return Place(self.source.path, node.lineno, self.cell)

    def resolve(self, node: ast.expr) -> str | None:
        return self.project.resolve(node, self.scope, self.binder)

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


class _Finder(Walker):
    """Finds what a file does with K."""

    def __init__(self, source: Source, project: Project, found: Found):
        super().__init__(source, project)
        self.found = found
        self.is_of_keras = "keras" in source.text.lower()
        self.imported: list[Use] = []
        self.calls: dict[ast.expr, ast.Call] = {}  # what is called → the call

    def run(self) -> None:
        before = len(self.found.uses)
        self.walk()
        used = Counter(use.name for use in self.found.uses[before:])
        self.found.uses += [use for use in self.imported if not used[use.name]]

    def use(self, path: str, node: ast.expr, how: str = "used") -> None:
        """Notes what a dotted name of K says."""
        name = k_name(path)
        if not name:
            self.found.handed_on.append(self.place(node))
        else:
            self.found.uses.append(Use(name, self.place(node), how, self.arguments(node)))

    def arguments(self, node: ast.expr) -> tuple[int, tuple[str, ...]] | None:
        """What a function is called with, if `node` is called."""
        call = self.calls.get(node)
        if call is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        names = [keyword.arg for keyword in call.keywords]
        return None if None in names else (len(call.args), tuple(name for name in names if name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for path in self.binder.imported(node):
            if k_name(path):
                self.imported.append(Use(k_name(path) or "", self.place(node), "imported"))

    def visit_Name(self, node: ast.Name) -> None:
        path = self.resolve(node) if isinstance(node.ctx, ast.Load) else None
        if path is not None and k_name(path) is not None:
            self.use(path, node)
        elif path is not None:
            self._past(path, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self.resolve(node)
        if path is not None and k_name(path):
            self.use(path, node, "used" if isinstance(node.ctx, ast.Load) else "replaced")
        elif path is not None and self._past(path, node):
            pass
        elif node.attr in self.project.known and self._may_be_k(node.value):
            self.found.uses.append(Use(node.attr, self.place(node), "assumed", self.arguments(node)))
        elif not self._is_chain_of_k(node):
            self.generic_visit(node)

    def _past(self, path: str, node: ast.expr) -> bool:
        root, _, name = path.partition(".")
        is_past = root == "tensorflow" and name.rpartition(".")[2] in SESSIONS
        if is_past:
            self.found.past.append(self.place(node))
        return is_past

    def _is_chain_of_k(self, node: ast.Attribute) -> bool:
        """Whether this is K's own `__dict__`, `__name__` or the like."""
        path = self.resolve(node.value)
        return path is not None and k_name(path) == ""

    def _may_be_k(self, node: ast.expr) -> bool:
        """Whether a name is called as K is, in a file that speaks of Keras, and nothing shows that it is another."""
        if not isinstance(node, ast.Name) or not self.is_of_keras:
            return False
        owner = self.scope.owner(node.id)
        meanings = owner.names[node.id] if owner is not None else []
        if node.id == "K":  # what is computed and called K is an array, mostly
            return all(isinstance(meaning, str) for meaning in meanings)
        return node.id == "backend" and self.resolve(node) is None

    def visit_Subscript(self, node: ast.Subscript) -> None:
        path = self.resolve(node)
        if path is not None and k_name(path):
            self.use(path, node, "used" if isinstance(node.ctx, ast.Load) else "replaced")
        elif self._is_table_of_k(node.value):
            self.found.dynamic.append(self.place(node))
            self.visit(node.slice)
        else:
            self.generic_visit(node)

    def _is_table_of_k(self, node: ast.expr) -> bool:
        match node:
            case ast.Attribute(owner, "__dict__") | ast.Call(ast.Name("vars"), [owner]):
                path = self.resolve(owner)
                return path is not None and k_name(path) == ""
        return False

    def visit_Call(self, node: ast.Call) -> None:
        """Calls, and among them those that name what they want of K: getattr, setattr, and what tests patch with."""
        self.calls[node.func] = node
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = self.resolve(node.args[0]) if node.args and function in TAKES_A_NAME else None
        if owner is None or k_name(owner) != "":
            if function == "patch" and node.args and isinstance(node.args[0], ast.Constant):
                path = str(node.args[0].value)
                if k_name(path):
                    self.use(path, node, "replaced")
            self.generic_visit(node)
            return
        match node.args[1:]:
            case [ast.Constant(str(name)), *rest]:
                if function != "hasattr":
                    self.use(f"{owner}.{name}", node, "used" if function == "getattr" else "replaced")
                self.visit_all(rest)
            case rest:
                self.found.dynamic.append(self.place(node))
                self.visit_all(rest)
        self.visit_all(node.keywords)

    def visit_Assign(self, node: ast.Assign) -> None:
        """`K = keras.backend` hands nothing on: the names are followed."""
        self.visit_all(node.targets)
        path = self.resolve(node.value)
        if path is None or k_name(path) != "":
            self.visit(node.value)

    def is_seen_outside(self, part: ast.AST) -> bool:
        return not (isinstance(part, ast.expr) and k_name(self.resolve(part) or "") == "")  # def loss(x, K=K)
