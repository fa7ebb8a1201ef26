"""The places where a program uses TensorFlow's names, whatever the program calls the module."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path

from dovetail.compat.source.names import Project, k_name
from dovetail.compat.source.sources import Source
from dovetail.compat.source.uses import Found, Use, Walker, deep_recursion

OF_TENSORFLOW = re.compile(r"tensorflow(?:\.(?:compat\.v[12]|_api\.v[12]))*(?:\.(?P<name>[\w.]+))?")
PUBLIC_NAMES = Path(__file__).parents[1] / "tensorflow" / "public_names.txt"  # a kind and a name a line


@functools.cache
def names_of_version_1() -> frozenset[str]:
    """The public names of `tf.compat.v1` that are not names of TensorFlow 2."""
    lines = map(str.split, PUBLIC_NAMES.read_text().splitlines())
    return frozenset(name for kind, name, *mark in lines if mark and kind != "module")


def tf_name(path: str) -> str | None:
    """The name inside TensorFlow of a dotted path; "" for TensorFlow itself, None for other paths.

    K's functions also give None; `k_name` knows them.

    Example:
        >>> tf_name("tensorflow.nn.relu"), tf_name("tensorflow.compat.v1.placeholder"), tf_name("numpy.abs")
        ('nn.relu', 'placeholder', None)
    """
    found = OF_TENSORFLOW.fullmatch(path)
    return None if found is None or k_name(path) is not None else found["name"] or ""


def find(sources: Iterable[Source]) -> Found:
    """Find the uses of TensorFlow in sources that may import each other.

    Args:
        sources: the files that were read.
    """
    sources, found = list(sources), Found()
    with deep_recursion():
        project = Project(sources, ())
        for source in sources:
            finder = _Finder(source, project, found)
            finder.walk()
            used = [f"{use.name}." for use in found.uses]
            found.uses += [use for use in finder.imported if not any(n.startswith(f"{use.name}.") for n in used)]
    return found


class _Finder(Walker):
    """A visitor that collects the uses of TensorFlow in one file."""

    def __init__(self, source: Source, project: Project, found: Found):
        super().__init__(source, project)
        self.found = found
        self.imported: list[Use] = []

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for path in self.binder.imported(node):
            name = tf_name(path)
            if name and not name.endswith("*"):
                self.imported.append(Use(name, self.place(node), "imported"))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self._use(node):
            self.generic_visit(node)

    def _use(self, node: ast.expr) -> bool:
        """Record a use of one of TensorFlow's names; return whether the name is TensorFlow's or K's."""
        path = self.resolve(node)
        if path is None:
            return False
        name = tf_name(path)
        if name:
            self.found.uses.append(Use(name, self.place(node)))
        return name is not None or k_name(path) is not None
