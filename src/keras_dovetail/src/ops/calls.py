"""Wrappers for Keras' functions that are an op with other parameter names or with Keras' dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, promoted

Function = Callable[..., Any]


def functions(wrap: Function, names: str, **options: Any) -> dict[str, Function]:
    """Wrap the ops that a text names; `name=op` stands for an op to which Keras gives another name."""
    rows = (row.partition("=") for row in names.split())
    return {name: wrap(getattr(ops, op or name), **options) for name, _, op in rows}


def of_tensor(op: Function, prepare: Function = as_tensor) -> Function:
    """Wrap an op whose first parameter is a tensor, and whose parameters are Keras' own."""

    @wraps(op, updated=())  # an op's attributes stay its own
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return op(prepare(x), *args, **kwargs)

    return call


def unary(op: Function) -> Function:
    """Wrap an op of one tensor."""

    def call(x: Any) -> Any:
        return op(as_tensor(x))

    return call


def binary(op: Function, with_float: bool = False, on_bools: Function | None = None) -> Function:
    """Wrap an op of two tensors, which are cast to one dtype; bools may have another op."""

    def call(x1: Any, x2: Any) -> Any:
        x1, x2 = promoted(x1, x2, with_float=with_float)
        return (on_bools if on_bools and str(x1.dtype) == "bool" else op)(x1, x2)

    return call


def bitwise(op: Function) -> Function:
    """Wrap an op on the bits of two tensors of integers."""

    def call(x: Any, y: Any) -> Any:
        x, y = as_tensor(x), as_tensor(y)  # Python's integers are int32 here
        return op(*promoted(x, y))

    return call


def shift(op: Function) -> Function:
    """Wrap an op that shifts the bits of integers."""

    def call(x: Any, y: Any) -> Any:
        return op(*promoted(x, y))

    return call


def comparison(op: Function) -> Function:
    """Wrap an op of two tensors that returns bools."""

    def call(x1: Any, x2: Any) -> Any:
        return op(as_tensor(x1), as_tensor(x2))

    return call
