"""The scopes of a file: the values bound to each name in each of them, as dotted names if possible.

Nothing is executed, so order does not count: a name means every value that is bound to it anywhere in its scope.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeAlias

from dovetail.compat.source.sources import import_names

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)

Bound: TypeAlias = (
    "str | tuple[ast.expr, Scope] | None"  # the dotted name of an import, an expression and its scope, or unknown
)


@dataclass(eq=False)
class Scope:
    """One scope.

    Attributes:
        parent: the scope around it; None for a file's scope.
        is_class: whether it is a class's scope, whose names the functions in it do not see.
        names: name → all values that were bound to it.
        outer: names that were declared global or nonlocal.
    """

    parent: Scope | None = None
    is_class: bool = False
    names: dict[str, list[Bound]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)

    def bind(self, name: str, value: Bound = None) -> None:
        """Add one meaning of a name."""
        scope = self
        while name in scope.outer and scope.parent is not None:
            scope = scope.parent
        scope.names.setdefault(name, []).append(value)

    def owner(self, name: str) -> Scope | None:
        """The scope that a name read here belongs to; None if nothing binds it."""
        scope: Scope | None = self
        while scope is not None and (name not in scope.names or (scope.is_class and scope is not self)):
            scope = scope.parent
        return scope


class ScopeVisitor(ast.NodeVisitor):
    """A visitor that knows the scope of the node that it visits; subclasses say the scope that a node opens.

    Attributes:
        scope: the scope.
    """

    scope: Scope

    def opened(self, node: ast.AST) -> Scope:
        """The scope that a function, class or comprehension opens."""
        raise NotImplementedError

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, SCOPES):
            super().generic_visit(node)
            return
        outside, inside = _parts(node)
        for part in outside:
            self.visit(part)
        around, self.scope = self.scope, self.opened(node)
        for part in inside:
            self.visit(part)
        self.scope = around


def _parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The parts of a function, class or comprehension: those evaluated in the scope around it, and in its own."""
    body = getattr(node, "body", None)
    if body is None:  # a comprehension
        return [], [*ast.iter_child_nodes(node)]
    inside = body if isinstance(body, list) else [body]
    own = {*inside}
    return [part for part in ast.iter_child_nodes(node) if part not in own], inside


class Binder(ScopeVisitor):
    """A visitor that fills the scope of a file and the scopes inside it.

    Attributes:
        file: the scope of the file.
        stars: the modules of `from module import *`.
        scopes: the scope that each function, class and comprehension opens.
        values: target or parameter → the expression that is bound to it, with its scope.
        attributes: attribute → the name that was assigned to it on any object, as in `self.K = K`.
    """

    def __init__(self, package: str):
        self.package = package
        self.file = self.scope = Scope()
        self.stars: list[str] = []
        self.scopes: dict[ast.AST, Scope] = {}
        self.values: dict[ast.AST, tuple[ast.expr, Scope]] = {}
        self.attributes: dict[str, tuple[ast.expr, Scope]] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            self.scope.bind(alias.asname or root, alias.name if alias.asname else root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias, path in zip(node.names, import_names(node, self.package), strict=True):
            if alias.name == "*":
                self.stars += [path] if path else []
            else:
                self.scope.bind(alias.asname or alias.name, path)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._pair(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._pair(node.target, node.value)
        self.generic_visit(node)

    visit_NamedExpr = visit_AnnAssign

    def _pair(self, target: ast.expr, value: ast.expr) -> None:
        """Note the value of each target: `a, b = x, y`."""
        match target, value:
            case (ast.Tuple(targets) | ast.List(targets), ast.Tuple(values) | ast.List(values)):
                for each, its in zip(targets, values, strict=False):
                    self._pair(each, its)
            case _:
                self.values[target] = value, self.scope

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.scope.bind(node.id, self.values.get(node))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        value = self.values.get(node)
        if value is not None and isinstance(value[0], ast.Name):
            self.attributes[node.attr] = value
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.outer.update(node.names)

    visit_Nonlocal = visit_Global

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(name := getattr(node, "name", None), str):  # of a function, a class, an exception, a pattern
            self.scope.bind(name)
        super().generic_visit(node)

    def opened(self, node: ast.AST) -> Scope:
        made = self.scopes[node] = Scope(self.scope, isinstance(node, ast.ClassDef))
        if isinstance(node, FUNCTIONS):
            self._parameters(node.args, made)
        return made

    def _parameters(self, arguments: ast.arguments, own: Scope) -> None:
        """Bind each parameter to its default value, if it has one: `def loss(x, K=K)`."""
        ordered = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip(reversed(ordered), reversed(arguments.defaults), strict=False))
        for parameter, default in [*defaults.items(), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
            if default is not None:
                self.values[parameter] = default, self.scope
        for part in ast.iter_child_nodes(arguments):
            if isinstance(part, ast.arg):
                own.bind(part.arg, self.values.get(part))
