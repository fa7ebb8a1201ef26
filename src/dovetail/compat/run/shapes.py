"""Shapes in programs of TensorFlow 1: the dimensions of a graph's tensors have a `value` each, which may be None.

`with_dimensions` changes a syntax tree: each `.shape` that is read asks `shape` here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from dovetail.compat.source.uses import Use
from dovetail.core.tensor import Operators

HERE = "__dovetail_shape__"  # the builtin of such programs


def shape(owner: Any) -> Any:
    """The shape of a tensor or variable as TensorFlow 1 has it; the `shape` of all else."""
    return owner.get_shape() if isinstance(owner, Operators) else owner.shape


class _Shapes(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "shape" or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name(HERE, ast.Load()), [node.value], []), node)


def with_dimensions(tree: ast.Module) -> ast.Module:
    """Change a program so that each `.shape` that it reads is as TensorFlow 1 has it.

    Args:
        tree: a file's syntax tree, which is changed.

    Returns:
        The tree.  Its line numbers stay right.

    Source: Dovetail's own.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     names = {"x": tf.placeholder("float32", [None, 3]), HERE: shape}
        >>> exec(compile(with_dimensions(ast.parse("size = x.shape[0].value")), "old.py", "exec"), names)
        >>> print(names["size"])
        None
    """
    return ast.fix_missing_locations(_Shapes().visit(tree))


def has_dimensions(uses: Iterable[Use]) -> bool:
    """Whether the shapes of a program of TensorFlow 1 have dimensions; those of `tf.compat.v1` have numbers and None.

    Args:
        uses: the dotted names in the program.
    """
    names = {use.name for use in uses}
    return not any(".compat.v1" in name for name in names) or any(n.endswith("disable_v2_behavior") for n in names)
