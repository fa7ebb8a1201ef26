"""Builtins of old programs: Python 2's names, and what NumPy 1's arrays did.

NumPy 1 makes a number of an array with one element and any axes: `int(np.random.rand(1))`, `row[2] = model.predict(x)`,
`math.exp(loss)`, `"%.2f" % loss`.  Its arrays have methods that NumPy 2's lack: `x.tostring()`.  `with_arrays` changes
a syntax tree: each of these asks a function here.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

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
        return kind(x.item() if _is_one(x) else x)

    return number


def _is_one(x: Any) -> bool:
    """Whether a value is an array with axes and one element."""
    return type(x) is np.ndarray and x.ndim > 0 and x.size == 1


def _store(value: Any, target: Any, index: Any) -> None:
    """Do `target[index] = value`: an array of one element may become an element."""
    try:
        target[index] = value
    except (TypeError, ValueError):
        if not (_is_one(value) and isinstance(target, np.ndarray)):
            raise
        target[index] = value.item()


def _change(target: Any, index: Any, value: Any, name: str) -> None:
    """Do `target[index] += value`, or the like with the function of this name in `operator`."""
    _store(getattr(operator, name)(target[index], value), target, index)


class _One(np.ndarray):
    """An array of one element that is a number in a format, too."""

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())


def _text(form: str, values: Any) -> str:
    """Do `form % values`, in which arrays of one element may be numbers."""

    def shown(value: Any) -> Any:
        return value.view(_One) if _is_one(value) else value

    try:
        return form % values
    except TypeError:
        if isinstance(values, tuple):
            return form % tuple(map(shown, values))
        if isinstance(values, Mapping):
            return form % {key: shown(value) for key, value in values.items()}
        return form % shown(values)


def _set_item(x: np.ndarray, *args: Any) -> None:
    *place, value = args
    if len(place) == 1 and isinstance(place[0], (int, np.integer)):
        x.flat[place[0]] = value
    else:
        x[place[0] if len(place) == 1 else tuple(place) or ...] = value


_METHODS: dict[str, Callable[..., Any]] = {  # of arrays and their numbers, until NumPy 2
    "itemset": _set_item,
    "newbyteorder": lambda x, new_order="S": x.view(x.dtype.newbyteorder(new_order)),
    "ptp": np.ptp,
    "tostring": lambda x, order="C": x.tobytes(order),
}


def _method(x: Any, name: str) -> Any:
    """The method of this name: for an array that lacks it, the one of NumPy 1."""
    is_old = isinstance(x, (np.ndarray, np.generic)) and not hasattr(x, name)
    return functools.partial(_METHODS[name], x) if is_old else getattr(x, name)


_KINDS = ("int", "float", "complex")
ARRAYS = {
    **{f"__dovetail_{name}__": _of_one(getattr(builtins, name)) for name in _KINDS},
    "__dovetail_one__": _of_one(lambda x: x),
    "__dovetail_store__": _store,
    "__dovetail_change__": _change,
    "__dovetail_text__": _text,
    "__dovetail_method__": _method,
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
    """The changes.

    Args:
        kinds: the builtins that the file does not bind itself.
        functions: the names by which it knows functions of `math`, as "math.exp" or "exp".
    """

    def __init__(self, kinds: Iterable[str], functions: Iterable[str]) -> None:
        self._kinds, self._functions = set(kinds), set(functions)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            node.func = _call("method", node.func.value, ast.Constant(node.func.attr))
            return node
        name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        if name in self._functions or (name.startswith("math.") and "math" in self._functions):
            node.args = [each if isinstance(each, PLAIN) else _call("one", each) for each in node.args]
        elif name in self._kinds and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], PLAIN):
            return _call(name, node.args[0])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        form = node.left.value if isinstance(node.left, ast.Constant) else None
        return _call("text", node.left, node.right) if isinstance(node.op, ast.Mod) and type(form) is str else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not _is_element(target) or isinstance(node.value, ast.Constant):
            return node
        return ast.copy_location(ast.Expr(_call("store", node.value, target.value, target.slice)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        target, name = node.target, IN_PLACE.get(type(node.op))
        if name is None or not _is_element(target) or isinstance(node.value, ast.Constant):
            return node
        call = _call("change", target.value, target.slice, node.value, ast.Constant(name))
        return ast.copy_location(ast.Expr(call), node)


PLAIN = ast.Constant, ast.Starred  # arguments that stay
IN_PLACE: dict[type, str] = {ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv"}


def _is_element(target: ast.AST) -> TypeGuard[ast.Subscript]:
    """Whether a target is `x[i]` without slices."""
    return isinstance(target, ast.Subscript) and not any(isinstance(n, ast.Slice) for n in ast.walk(target.slice))


def _call(name: str, *args: ast.expr) -> ast.Call:
    call = ast.Call(ast.Name(f"__dovetail_{name}__", ast.Load()), list(args), [])
    return ast.copy_location(call, args[0])


def with_arrays(tree: ast.Module) -> ast.Module:
    """Change a program so that arrays have NumPy 1's methods, and those with one element are numbers, as there.

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
    return ast.fix_missing_locations(_Arrays(set(_KINDS) - _bound(tree), _of_math(tree)).visit(tree))


def _of_math(tree: ast.Module) -> set[str]:
    """The names by which a file knows `math` and functions of it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {"math" for alias in node.names if alias.name == "math" and not alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "math":
            names |= {alias.asname or alias.name for alias in node.names} - {"*"}
    return names


def _bound(tree: ast.Module) -> set[str]:
    """The names that a file binds anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names
