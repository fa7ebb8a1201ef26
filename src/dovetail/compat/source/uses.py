"""The uses of names in programs: of everything that they import, and of one library alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dovetail.compat.source.names import Project, functions_of_k, k_name, keras_name, of_sessions, tf_name
from dovetail.compat.source.scopes import Scope, ScopeVisitor
from dovetail.compat.source.sources import Place, Source, import_names, starts

DEEP = 30_000  # frames: Python parses at most 6,000 levels, and each level takes several frames
OPEN = "asked", "starred"  # uses of names that a library need not have
BY_STRING = {  # function → its use of the name that its second argument is, in the first argument
    "getattr": "used",
    "setattr": "replaced",
    "delattr": "replaced",
    "hasattr": "asked",
    "object": "replaced",  # of unittest.mock.patch
}


@dataclass(frozen=True)
class Use:
    """One place where a program uses a name.

    A name is used in one of these ways.

    - "used": the program reads or calls it.
    - "imported": the program imports it.
    - "replaced": the program assigns something else to it.
    - "asked": the program asks for it, and it may be absent.
    - "starred": it may come from the module, of which the program imports `*`.
    - "assumed": it is a name of K, but nothing shows that this K is Keras'.
    - "dynamic": only a run can tell the name in it, as in `getattr(K, name)`.
    - "handed on": K as a whole is an argument or a result, so its uses there are not seen.
    - "past": it is of TensorFlow's sessions and graphs, without K.

    Attributes:
        name: the dotted name; from `of_k` and the like, the name inside of that library.  The name of an unknown
            function, or of an attribute of an unknown value, begins with a dot: ".fit".
        place: the line.
        how: the way.
        arguments: the number of a call's positional arguments, and the names of the others; None if unknown.
    """

    name: str
    place: Place
    how: str = "used"
    arguments: tuple[int, tuple[str, ...]] | None = None


def find(sources: Iterable[Source]) -> list[Use]:
    """Find the dotted names in sources that may import each other, file by file.

    Args:
        sources: the files that were read.

    Example:
        >>> tree = ast.parse("import tensorflow as tf\\ntf.nn.relu(x, name='y').mean()")
        >>> [use.name for use in find([Source("a.py", ("a",), "", ((None, tree),))])]
        ['tensorflow', '.mean', 'tensorflow.nn.relu']
    """
    sources = list(sources)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)  # the tree of a sum of a thousand terms is a thousand levels deep
    try:
        project = Project(sources)
        return [use for source in sources for use in _Finder(source, project).walk()]
    finally:
        sys.setrecursionlimit(limit)


def of_tensorflow(uses: Iterable[Use]) -> list[Use]:
    """The uses of TensorFlow's names among all uses, as names inside of it."""
    return [use for use in _inside(uses, tf_name) if use.how != "replaced"]


def of_keras(uses: Iterable[Use]) -> list[Use]:
    """The uses of the names of `keras` among all uses, but for its backend."""
    return [use for use in _inside(uses, keras_name) if use.how != "replaced"]


def of_k(uses: Iterable[Use]) -> list[Use]:
    """The uses of K's functions among all uses; those without a name tell where more of them may be."""
    uses = list(uses)
    in_k = _inside(uses, k_name)
    in_k += [replace(use, name="") for use in uses if use.how in ("handed on", "dynamic") and k_name(use.name) == ""]
    return in_k + [replace(use, name="", how="past") for use in uses if use.how == "used" and of_sessions(use.name)]


def _inside(uses: Iterable[Use], name_of: Callable[[str], str | None]) -> list[Use]:
    """The uses of names that a library should have, as names inside of it; of imports, those that nothing else uses."""
    inside = [replace(use, name=name) for use in uses if use.how not in OPEN and (name := name_of(use.name))]
    used = {(use.place.path, start) for use in inside if use.how != "imported" for start in starts(use.name)}
    return [use for use in inside if use.how != "imported" or (use.place.path, use.name) not in used]


class _Finder(ScopeVisitor):
    """A visitor that collects the dotted names in one file."""

    def __init__(self, source: Source, project: Project) -> None:
        self.source, self.project = source, project
        self.binder = project.binders[source.path]
        self.scope = self.binder.file
        self.cell: int | None = None
        self.is_of_keras = "keras" in source.text.lower()
        self.followed = {value for value, _ in self.binder.values.values()}  # expressions that are values of names
        self.calls: dict[ast.expr, ast.Call] = {}  # called expression → the call
        self.found: list[Use] = []

    def walk(self) -> list[Use]:
        """Visit all cells of a notebook, or the file."""
        for cell, tree in self.source.parts:
            self.cell = cell
            self.visit(tree)
        return self.found

    def resolve(self, node: ast.expr) -> str | None:
        return self.project.resolve(node, self.scope, self.binder)

    def use(self, name: str, node: ast.expr | ast.stmt, how: str = "used") -> None:
        """Note a use; K itself is handed on, unless it is the value of another name, which is followed."""
        if how == "used" and node not in self.followed and k_name(name) == "":
            how = "handed on"
        self.found.append(Use(name, Place(self.source.path, node.lineno, self.cell), how, self.arguments(node)))

    def arguments(self, node: ast.expr | ast.stmt) -> tuple[int, tuple[str, ...]] | None:
        """The arguments of the call, if `node` is called and shows them."""
        call = self.calls.get(node) if isinstance(node, ast.expr) else None
        if call is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        names = [keyword.arg for keyword in call.keywords]
        return None if None in names else (len(call.args), tuple(name for name in names if name))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.use(alias.name, node, "imported")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for path in filter(None, import_names(node, self.source.package)):
            self.use(path, node, "imported")

    def visit_Name(self, node: ast.Name) -> None:
        path = self.resolve(node) if isinstance(node.ctx, ast.Load) else None
        if path is not None or node in self.calls:
            self.use(path or f".{node.id}", node)
        if path is None and self.scope.owner(node.id) is None:
            for module in self.binder.stars:
                self.use(f"{module}.{node.id}", node, "starred")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self.resolve(node.value)
        if node.attr == "__dict__" and owner is not None:
            self.use(owner, node, "dynamic")
        elif self._may_be_k(node, owner):
            self.use(f"keras.backend.{node.attr}", node, "assumed")
        else:
            self._member(node, f".{node.attr}")

    def _may_be_k(self, node: ast.Attribute, owner: str | None) -> bool:
        """Whether a name looks like K's, in a file that mentions Keras, and nothing shows that it is not."""
        if not self.is_of_keras or not isinstance(node.value, ast.Name) or node.attr not in functions_of_k():
            return False
        if owner is not None:  # K of a module that was not read
            return owner.endswith(".K")
        is_bound = self.scope.owner(node.value.id) is not None  # a computed value named K is mostly an array
        return node.value.id == "backend" or (node.value.id == "K" and not is_bound)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._member(node)

    def _member(self, node: ast.Attribute | ast.Subscript, otherwise: str = "") -> None:
        """Note the use of a name in something, or else of its last part."""
        name = self.resolve(node) or otherwise
        if name:
            self.use(name, node, "used" if isinstance(node.ctx, ast.Load) else "replaced")
        if name == otherwise:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Visit a call; `getattr` and the patches of tests name something as a string."""
        self.calls[node.func] = node
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = self.resolve(node.args[0]) if node.args and function in (*BY_STRING, "vars") else None
        match node.args:
            case [_, ast.Constant(str(name)), *rest] if owner is not None:
                is_optional = function == "getattr" and rest
                self.use(f"{owner}.{name}", node, "asked" if is_optional else BY_STRING.get(function, "used"))
            case [_, *rest] if owner is not None:
                self.use(owner, node, "dynamic")
            case [ast.Constant(str(path)), *_] if function == "patch":
                self.use(path, node, "replaced")
                rest = node.args
            case _:
                self.generic_visit(node)
                return
        for part in (*rest, *node.keywords):
            self.visit(part)

    def opened(self, node: ast.AST) -> Scope:
        return self.binder.scopes[node]
