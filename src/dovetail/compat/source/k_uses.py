"""The places where a program uses K: under any name, from any Keras, imported in any way."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable

from dovetail.compat.source.names import Project, k_name
from dovetail.compat.source.sources import Source
from dovetail.compat.source.uses import Found, Use, Walker, deep_recursion

SESSIONS = {  # names that only TensorFlow 1's graphs and sessions need
    *("ConfigProto", "GPUOptions", "Graph", "InteractiveSession", "Session", "placeholder"),
    *("get_default_graph", "get_default_session", "reset_default_graph"),
    *("global_variables_initializer", "initialize_all_variables", "variables_initializer"),
    *("disable_eager_execution", "disable_v2_behavior"),
}
TAKES_A_NAME = ("getattr", "setattr", "hasattr", "delattr", "object")  # the last is unittest.mock's patch.object


def find(sources: Iterable[Source], known: Collection[str]) -> Found:
    """Find the uses of K in sources that may import each other.

    Args:
        sources: the files that were read.
        known: the names of functions that K has, or had in some Keras.
    """
    sources, found = list(sources), Found()
    with deep_recursion():
        project = Project(sources, known)
        for source in sources:
            _Finder(source, project, found).run()
    return found


class _Finder(Walker):
    """A visitor that collects the uses of K in one file."""

    def __init__(self, source: Source, project: Project, found: Found):
        super().__init__(source, project)
        self.found = found
        self.is_of_keras = "keras" in source.text.lower()
        self.imported: list[Use] = []

    def run(self) -> None:
        before = len(self.found.uses)
        self.walk()
        used = Counter(use.name for use in self.found.uses[before:])
        self.found.uses += [use for use in self.imported if not used[use.name]]

    def use(self, path: str, node: ast.expr, how: str = "used") -> None:
        """Record a use of K or of one of its functions, by its dotted name."""
        name = k_name(path)
        if not name:
            self.found.handed_on.append(self.place(node))
        else:
            self.found.uses.append(Use(name, self.place(node), how, self.arguments(node)))

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
        """Whether this is an attribute of K itself, such as `__dict__` or `__name__`."""
        path = self.resolve(node.value)
        return path is not None and k_name(path) == ""

    def _may_be_k(self, node: ast.expr) -> bool:
        """Whether a name looks like K's, in a file that mentions Keras, and nothing shows that it is not."""
        if not isinstance(node, ast.Name) or not self.is_of_keras:
            return False
        owner = self.scope.owner(node.id)
        meanings = owner.names[node.id] if owner is not None else []
        if node.id == "K":  # a computed value named K is mostly an array
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
        """Visit a call; getattr, setattr and the patches of tests name a function of K as a string."""
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
        """Visit an assignment; `K = keras.backend` hands nothing on, since names are followed."""
        self.visit_all(node.targets)
        path = self.resolve(node.value)
        if path is None or k_name(path) != "":
            self.visit(node.value)

    def is_seen_outside(self, part: ast.AST) -> bool:
        return not (isinstance(part, ast.expr) and k_name(self.resolve(part) or "") == "")  # def loss(x, K=K)
