"""All dotted names that a program reads from the modules that it imports, with the arguments of their calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from dovetail.compat.source.names import Project
from dovetail.compat.source.sources import Source
from dovetail.compat.source.uses import Use, Walker, deep_recursion


def find(sources: Iterable[Source]) -> list[Use]:
    """Find the dotted names in sources that may import each other, file by file.

    Args:
        sources: the files that were read.

    Returns:
        The uses.  The name of an unknown function, or of an attribute of an unknown value, begins with a dot: ".fit".

    Example:
        >>> tree = ast.parse("import tensorflow as tf\\ntf.nn.relu(x, name='y').mean()")
        >>> [use.name for use in find([Source("a.py", ("a",), "", ((None, tree),))])]
        ['tensorflow', '.mean', 'tensorflow.nn.relu']
    """
    sources, found = list(sources), []
    with deep_recursion():
        project = Project(sources, ())
        for source in sources:
            finder = _Finder(source, project)
            finder.walk()
            found += finder.found
    return found


class _Finder(Walker):
    """A visitor that collects the dotted names in one file."""

    def __init__(self, source: Source, project: Project) -> None:
        super().__init__(source, project)
        self.found: list[Use] = []

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [Use(alias.name, self.place(node), "imported") for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found += [Use(path, self.place(node), "imported") for path in self.binder.imported(node)]

    def visit_Name(self, node: ast.Name) -> None:
        path = self.resolve(node)
        if path is not None or node in self.calls:
            self.found.append(Use(path or f".{node.id}", self.place(node), "used", self.arguments(node)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self.resolve(node)
        how = "used" if isinstance(node.ctx, ast.Load) else "replaced"
        self.found.append(Use(path or f".{node.attr}", self.place(node), how, self.arguments(node)))
        if path is None:
            self.generic_visit(node)
