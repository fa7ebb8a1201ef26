"""Variables: their values, assignments and parts of them."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.formats.tensorflow.rows import row


@row("ReadVariableOp: x&/-")
def _(x: Any) -> Any:
    return ops.identity(x)


@row("VarIsInitializedOp: x&/-", "IsVariableInitialized: x&/dtype")
def _(x: Any) -> Any:
    return ops.convert(True)


@row("VariableShape: x&/-; out_type>0|int32")
def _(x: Any) -> Any:
    return ops.shape(x)


@row("DisableCopyOnRead: x&/-")
def _(x: Any) -> Any:
    return []


@row("AssignVariableOp: x^/- value/dtype; validate_shape", "Assign: x^/T value/T; validate_shape use_locking")
def _(x: Any, value: Any) -> Any:
    return [value]


@row("AssignAddVariableOp: x^/- value/dtype", "AssignAdd: x^/T value/T; use_locking")
def _(x: Any, value: Any) -> Any:
    return [x + value]


@row("AssignSubVariableOp: x^/- value/dtype", "AssignSub: x^/T value/T; use_locking")
def _(x: Any, value: Any) -> Any:
    return [x - value]
