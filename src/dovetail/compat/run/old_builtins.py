"""Builtins of old programs: Python 2's names, and `int`, `float` and `complex` of NumPy 1's arrays.

NumPy 1 makes a number of an array with one element and any axes: `int(np.random.rand(1))`.  `with_numbers` changes a
syntax tree: each such call asks a function here.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

PYTHON_2 = {
    "basestring": str,
    "long": int,
    "raw_input": input,
    "reduce": functools.reduce,
    "unichr": chr,
    "unicode": str,
    "xrange": range,
}


def _of_one(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def number(x: Any) -> Any:
        return kind(x.item() if type(x) is np.ndarray and x.ndim and x.size == 1 else x)

    return number


_KINDS = ("int", "float", "complex")
NUMBERS = {f"__dovetail_{name}__": _of_one(getattr(builtins, name)) for name in _KINDS}


def old_builtins(trees: Iterable[ast.Module]) -> dict[str, Any]:
    """The builtins that a program gets besides Python's own.

    Args:
        trees: the syntax trees of its files.

    Returns:
        The functions that `with_numbers` needs, and Python 2's names.  A program that catches `NameError` does not get
        these names, since it may decide by them which Python runs it.

    Source: Dovetail's own.

    Example:
        >>> old_builtins([ast.parse("xrange(3)")])["xrange"]
        <class 'range'>
    """
    asks = any(isinstance(node, ast.Name) and node.id == "NameError" for tree in trees for node in ast.walk(tree))
    return NUMBERS if asks else {**PYTHON_2, **NUMBERS}


class _Numbers(ast.NodeTransformer):
    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called, takes_one = node.func, len(node.args) == 1 and not node.keywords
        if not takes_one or isinstance(node.args[0], (ast.Constant, ast.Starred)):
            return node
        if isinstance(called, ast.Name) and called.id in self._names:
            node.func = ast.copy_location(ast.Name(f"__dovetail_{called.id}__", ast.Load()), called)
        return node


def with_numbers(tree: ast.Module) -> ast.Module:
    """Change a program so that `int`, `float` and `complex` take arrays with one element, as in NumPy 1.

    Args:
        tree: a file's syntax tree, which is changed.

    Returns:
        The tree.  Its line numbers stay right.

    Source: Dovetail's own.

    Example:
        >>> names = {"x": np.array([2.5]), **NUMBERS}
        >>> exec(compile(with_numbers(ast.parse("n = int(x)")), "old.py", "exec"), names)
        >>> names["n"]
        2
    """
    return ast.fix_missing_locations(_Numbers(set(_KINDS) - _bound(tree)).visit(tree))


def _bound(tree: ast.Module) -> set[str]:
    """The names that a file binds anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
    return found
