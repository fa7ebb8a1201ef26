"""The meaning of names: the values bound to each name in each scope of a file, as dotted names if possible.

Nothing is executed, so order does not count: a name means every value that is bound to it anywhere in its scope.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


class Binder(ast.NodeVisitor):
    """A visitor that fills the scope of a file and the scopes inside it.

    Attributes:
        file: the scope of the file.
        stars: the modules of `from module import *`.
        scopes: the scope that each function, class and comprehension opens.
        attributes: attribute → the name that was assigned to it on any object, as in `self.K = K`.
    """

    def __init__(self, package: str):
        self.package = package
        self.file = self.scope = Scope()
        self.stars: list[str] = []
        self.scopes: dict[ast.AST, Scope] = {}
        self.attributes: dict[str, tuple[ast.Name, Scope]] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.scope.bind(alias.asname, alias.name)
            else:
                root = alias.name.partition(".")[0]
                self.scope.bind(root, root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias, path in zip(node.names, self.imported(node), strict=True):
            if alias.name == "*":
                self.stars.append(path)
            else:
                self.scope.bind(alias.asname or alias.name, path)

    def imported(self, node: ast.ImportFrom) -> list[str]:
        """The dotted name of each imported thing; the module's name for `*`."""
        return import_names(node, self.package)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assign(node.target, node.value)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._assign(node.target, node.value)
        self.generic_visit(node)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, None if value is None else (value, self.scope))
        elif isinstance(target, ast.Attribute) and isinstance(value, ast.Name):
            self.attributes[target.attr] = (value, self.scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr] | list[None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = value.elts
            for one, its in zip(target.elts, values, strict=True):
                self._assign(one, its)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign(node.target, None)
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_withitem(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._assign(node.optional_vars, None)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.scope.bind(node.name)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.outer.update(node.names)

    visit_Nonlocal = visit_Global

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, SCOPES):
            super().generic_visit(node)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.scope.bind(node.name)
        for part in outside(node):
            self.visit(part)
        around, self.scope = self.scope, Scope(self.scope, isinstance(node, ast.ClassDef))
        self.scopes[node] = self.scope
        if isinstance(node, FUNCTIONS):
            self._parameters(node.args, around)
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                self._assign(generator.target, None)
        for part in inside(node):
            self.visit(part)
        self.scope = around

    def _parameters(self, arguments: ast.arguments, around: Scope) -> None:
        """Bind each parameter to its default value, if it has one: `def loss(x, K=K)`."""
        ordered = [*arguments.posonlyargs, *arguments.args]
        without = [None] * (len(ordered) - len(arguments.defaults))
        parameters = [*ordered, *arguments.kwonlyargs]
        defaults = [*without, *arguments.defaults, *arguments.kw_defaults]
        for parameter, default in zip(parameters, defaults, strict=True):
            self.scope.bind(parameter.arg, None if default is None else (default, around))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self.scope.bind(rest.arg)


def outside(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function, class or comprehension that are evaluated in the scope around it."""
    if isinstance(node, FUNCTIONS):
        yield from node.args.defaults
        yield from (default for default in node.args.kw_defaults if default is not None)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from node.decorator_list
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        yield from (a.annotation for a in every if a is not None and a.annotation is not None)
        if node.returns is not None:
            yield node.returns
    if isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *node.keywords]


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function, class or comprehension that are evaluated in its own scope."""
    if isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield from node.body
    else:
        yield from ast.iter_child_nodes(node)
