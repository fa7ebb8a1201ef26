"""Gradients of lookups: the rows of a variable that a step changes, as for TensorFlow's `IndexedSlices`.

Gradients are dense here.  The gradient of a variable, in which a program only looks rows up, is 0 in the other rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.values.value_kinds import static_shape
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of


def in_rows(rows: Any, new: Any, old: Any) -> Any:
    """The next value of a variable or a slot in some rows, and its old value in the others.

    Args:
        rows: the result of `rows_of`.
        new, old: the values, of the shape of the variable.
    """
    if rows is None:
        return new
    return ops.where(ops.reshape(rows, (-1, *[1] * (len(static_shape(new)) - 1))), new, old)


def of_same_rows(gradient: Any, changed: Any) -> Any:
    """A gradient that was made of another one, with zeros in the same rows."""
    if isinstance(gradient, GraphTensor) and isinstance(changed, GraphTensor) and changed is not gradient:
        vars(changed)["_same_rows_as"] = gradient
    return changed


def keeping_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of a gradient, its argument `t`, whose result has zeros in the same rows."""

    @functools.wraps(function)
    def kept(*args: Any, **kwargs: Any) -> Any:
        return of_same_rows(args[0] if args else kwargs.get("t"), function(*args, **kwargs))

    return kept


def dense(values: Any, indices: Any, variable: Any) -> Any:
    """The gradient of a variable that has these values in its rows at these indices."""
    return ops.tensor_scatter_add(ops.zeros_like(variable), ops.expand_dims(indices, -1), values)


def _rows_at(whole: Any, places: Any) -> Any:
    """Whether each row of a tensor is at one of some places; None if these are places of smaller parts."""
    if (static_shape(places) or (0,))[-1] != 1:
        return None
    places = ops.reshape(places, (-1, 1))
    ones = ops.ones_like(ops.reshape(places, (-1,)), "int32")
    return ops.greater(ops.tensor_scatter_add(ops.zeros(dims_of(whole)[:1], "int32"), places, ones), 0)


def rows_of(gradient: Any) -> Any:
    """Whether each row of a gradient was looked up, a tensor of truth values; None if it is not of lookups alone."""
    if not isinstance(gradient, GraphTensor):
        return None
    if (other := getattr(gradient, "_same_rows_as", None)) is not None:
        return rows_of(other)
    op = gradient.op
    if op.type == "TensorScatterAdd" and op.inputs[0].op.type == "ZerosLike":
        return _rows_at(op.inputs[0], op.inputs[1])
    if op.type == "Identity":
        return rows_of(op.inputs[0])
    if op.type == "AddV2":
        parts = [rows_of(part) for part in op.inputs]
        return None if any(part is None for part in parts) else ops.logical_or(*parts)
    if op.type == "StridedSlice" and op.args[3] == (1,):  # of a table in parts
        rows = rows_of(op.inputs[0])
        return None if rows is None else OPS["StridedSlice"](rows, *op.args[1:])
    return None
