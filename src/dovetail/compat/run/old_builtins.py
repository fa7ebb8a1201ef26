"""Builtins of old programs: Python 2's names, and what NumPy 1's arrays did.

NumPy 1 makes a number of an array with one element and any axes: `int(np.random.rand(1))`.  Its arrays have methods
that NumPy 2's lack: `x.tostring()`.  `with_arrays` changes a syntax tree: each such call asks a function here.
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


def _set_item(x: np.ndarray, *args: Any) -> None:
    *place, value = args
    if len(place) == 1 and isinstance(place[0], (int, np.integer)):
        x.flat[place[0]] = value
    else:
        x[place[0] if len(place) == 1 else tuple(place) or ...] = value


_KINDS = ("int", "float", "complex")
_METHODS: dict[str, Callable[..., Any]] = {  # of arrays and their numbers, until NumPy 2
    "itemset": _set_item,
    "newbyteorder": lambda x, new_order="S": x.view(x.dtype.newbyteorder(new_order)),
    "ptp": np.ptp,
    "tostring": lambda x, order="C": x.tobytes(order),
}


def _method(name: str) -> Callable[[Any], Any]:
    def found(x: Any) -> Any:
        is_old = isinstance(x, (np.ndarray, np.generic)) and not hasattr(x, name)
        return functools.partial(_METHODS[name], x) if is_old else getattr(x, name)

    return found


ARRAYS = {
    **{f"__dovetail_{name}__": _of_one(getattr(builtins, name)) for name in _KINDS},
    **{f"__dovetail_{name}__": _method(name) for name in _METHODS},
}


def old_builtins(trees: Iterable[ast.Module]) -> dict[str, Any]:
    """The builtins that a program gets besides Python's own.

    Args:
        trees: the syntax trees of its files.

    Returns:
        The functions that `with_arrays` needs, and Python 2's names.  A program that catches `NameError` does not get
        these names, since it may decide by them which Python runs it.

    Source: Dovetail's own.

    Example:
        >>> old_builtins([ast.parse("xrange(3)")])["xrange"]
        <class 'range'>
    """
    asks = any(isinstance(node, ast.Name) and node.id == "NameError" for tree in trees for node in ast.walk(tree))
    return ARRAYS if asks else {**PYTHON_2, **ARRAYS}


class _Arrays(ast.NodeTransformer):
    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _METHODS:
            node.func = ast.Call(_asked(called.attr, called), [called.value], [])
            ast.copy_location(node.func, called)
        if isinstance(called, ast.Name) and called.id in self._names and _takes_one(node):
            node.func = _asked(called.id, called)
        return node


def _takes_one(call: ast.Call) -> bool:
    """Whether a call has one argument, which is no literal."""
    return len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], (ast.Constant, ast.Starred))


def _asked(name: str, place: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name(f"__dovetail_{name}__", ast.Load()), place)


def with_arrays(tree: ast.Module) -> ast.Module:
    """Change a program so that arrays have NumPy 1's methods, and those of one element are numbers for `int`.

    Args:
        tree: a file's syntax tree, which is changed.

    Returns:
        The tree.  Its line numbers stay right.

    Source: Dovetail's own.

    Example:
        >>> names = {"x": np.array([2.5]), **ARRAYS}
        >>> exec(compile(with_arrays(ast.parse("n = int(x), len(x.tostring())")), "old.py", "exec"), names)
        >>> names["n"]
        (2, 8)
    """
    return ast.fix_missing_locations(_Arrays(set(_KINDS) - _bound(tree)).visit(tree))


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
