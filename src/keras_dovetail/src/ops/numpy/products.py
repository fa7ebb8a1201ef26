"""Products of matrices and of vectors."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating_as_wide, name_of, promoted, result_type
from keras_dovetail.src.ops.calls import binary, functions

globals().update(functions(binary, "dot inner outer vdot"))


def _multiplied(*xs: Any) -> list[Any]:
    """Tensors of one dtype; products of int8 are int32, since they would not fit."""
    xs = tuple(map(as_tensor, xs))
    dtype = "int32" if all(name_of(x) == "int8" for x in xs) else result_type(*xs)
    return [as_tensor(x, dtype) for x in xs]


def matmul(x1: Any, x2: Any) -> Any:
    x1, x2 = _multiplied(x1, x2)
    if name_of(x1) == "bool":
        return ops.cast(matmul(ops.cast(x1, "int32"), ops.cast(x2, "int32")), "bool")
    if len(x1.shape) == len(x2.shape) == 1:
        return ops.dot(x1, x2)
    if len(x1.shape) == 1:
        return ops.squeeze(ops.matmul(x1[None, :], x2), -2)
    if len(x2.shape) == 1:
        return ops.squeeze(ops.matmul(x1, x2[:, None]), -1)
    return ops.matmul(x1, x2)


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    return ops.einsum(subscripts, *_multiplied(*operands))


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    x1, x2 = promoted(x1, x2)
    return ops.tensordot(x1, x2, axes)


def cross(x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = promoted(x1, x2)
    a, b = (ops.unstack(x, axis=at) for x, at in ((x1, axisa), (x2, axisb)))
    if not {len(a), len(b)} <= {2, 3}:
        raise ValueError(f"cross: the vectors must have 2 or 3 numbers, but they have {len(a)} and {len(b)}.")
    last = a[0] * b[1] - a[1] * b[0]
    if len(a) == len(b) == 2:
        return last
    a, b = (v if len(v) == 3 else [*v, ops.zeros_like(v[0])] for v in (a, b))
    return ops.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], last], axisc)


def slogdet(x: Any) -> Any:
    return tuple(ops.slogdet(as_tensor(x)))


def cov(x: Any) -> Any:
    x = floating_as_wide(x)
    if len(x.shape) > 2:
        raise ValueError(f"Input tensor must have at most 2 dimensions. Received: x.shape={tuple(x.shape)}")
    rows = ops.reshape(x, (1, -1)) if len(x.shape) < 2 else x
    covariance = _products_of_deviations(rows) / (ops.cast(ops.shape(rows)[1], x.dtype) - 1)
    return covariance[0, 0] if rows.shape[0] == 1 else covariance


def _products_of_deviations(rows: Any) -> Any:
    """The product of each row with each row, after their means are subtracted."""
    centred = rows - ops.mean(rows, 1, keepdims=True)
    return ops.matmul(centred, ops.conj(centred), transpose_b=True)


def corrcoef(x: Any) -> Any:
    x = floating_as_wide(x)
    if len(x.shape) == 1:
        return ops.ones_like(x[0])
    products = _products_of_deviations(x)
    scale = ops.sqrt(ops.diagonal(products))
    return ops.clip(products / scale[:, None] / scale[None, :], -1, 1)


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Any:
    dtype = result_type(*promoted(x1, x2))
    dtype = "float64" if dtype == "int64" else dtype if "float" in dtype else "float32"
    x1, x2 = as_tensor(x1, dtype), as_tensor(x2, dtype)
    swapped = x1.shape[0] < x2.shape[0]
    if swapped:
        x1, x2 = x2, x1
    longer, shorter = x1.shape[0], x2.shape[0]
    before, length = {  # how many windows begin before the longer vector, and how many there are
        "valid": (0, longer - shorter + 1), "same": (shorter // 2, longer), "full": (shorter - 1, longer + shorter - 1),
    }[mode]  # fmt: skip
    windows = ops.arange(length)[:, None] + ops.arange(shorter)[None, :]
    padded = ops.pad(x1, [[before, length + shorter - 1 - longer - before]])
    products = ops.matmul(ops.take(padded, windows), x2[:, None])[:, 0]
    return ops.flip(products) if swapped else products
