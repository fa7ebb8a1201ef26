"""Shapes in programs of TensorFlow 1, as they print and compare them, also of unknown rank.

The dimensions of a graph's tensors have a `value` each, which may be None; in programs of `tf.compat.v1` they are
numbers and None.  `with_shapes` changes a syntax tree: each `.shape` that is read asks a function here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from dovetail.compat.source.uses import Use
from dovetail.compat.tf_graph.old_shapes import printed_shape
from dovetail.core.tensor import Operators


def _old(owner: Any) -> Any:
    """The shape of a tensor or variable as TensorFlow 1 has it; the `shape` of all else."""
    return owner.get_shape() if isinstance(owner, Operators) else owner.shape


def _new(owner: Any) -> Any:
    """The shape of a tensor or variable as `tf.compat.v1` has it; the `shape` of all else."""
    shape = owner.shape
    return printed_shape(shape) if isinstance(owner, Operators) else shape


READERS = {"__dovetail_old_shape__": _old, "__dovetail_new_shape__": _new}  # the builtins of such programs


class _Shapes(ast.NodeTransformer):
    def __init__(self, reader: str) -> None:
        self._reader = reader

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "shape" or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name(self._reader, ast.Load()), [node.value], []), node)


def with_shapes(tree: ast.Module, reader: str = "__dovetail_old_shape__") -> ast.Module:
    """Change a program so that each `.shape` that it reads is as TensorFlow 1 has it.

    Args:
        tree: a file's syntax tree, which is changed.
        reader: the name of the function in `READERS` that is asked.

    Returns:
        The tree.  Its line numbers stay right.

    Source: Dovetail's own.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     names = {"x": tf.placeholder("float32", [None, 3]), **READERS}
        >>> exec(compile(with_shapes(ast.parse("size = x.shape[0].value")), "old.py", "exec"), names)
        >>> print(names["size"])
        None
    """
    return ast.fix_missing_locations(_Shapes(reader).visit(tree))


def reader_of(uses: Iterable[Use]) -> str:
    """The name in `READERS` for a program of TensorFlow 1, by the dotted names in it."""
    names = {use.name for use in uses}
    is_new = any(".compat.v1" in name for name in names) and not any(n.endswith("disable_v2_behavior") for n in names)
    return "__dovetail_new_shape__" if is_new else "__dovetail_old_shape__"
