"""The backend's functions for `keras.src.backend.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

import dovetail
from dovetail import ops
from dovetail.core.values.value_kinds import is_recorded
from dovetail.interop.privates import canonicalize_axis
from keras_dovetail.src.dtypes import as_tensor, floating, promoted
from keras_dovetail.src.ops.calls import Function, functions, of_tensor


def _of_matrix(op: Function) -> Function:
    def call(a: Any) -> Any:
        return op(as_tensor(a))

    return call


globals().update(functions(_of_matrix, "det eig eigh inv") | functions(of_tensor, "pinv svd"))


def cholesky(a: Any, upper: bool = False) -> Any:
    lower = ops.cholesky(as_tensor(a))
    if not is_recorded(lower) and bool(ops.any(ops.isnan(lower))):
        raise ValueError("Cholesky decomposition failed: the input is no positive definite matrix.")
    return ops.conj(ops.matrix_transpose(lower)) if upper else lower


def cholesky_inverse(a: Any, upper: bool = False) -> Any:
    return ops.cholesky_inverse(as_tensor(a), upper)


def lu_factor(a: Any) -> Any:
    factors, pivots = ops.lu_factor(as_tensor(a))
    return factors, ops.cast(pivots, "int32")


def matrix_power(a: Any, n: int) -> Any:
    return ops.matrix_power(as_tensor(a), n)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    for each in () if axis is None else (axis,) if isinstance(axis, int) else axis:
        canonicalize_axis(each, len(x.shape))  # raises Keras' ValueError
    return ops.norm(x, ord, axis, keepdims)


def qr(x: Any, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}"
        )
    return ops.qr(as_tensor(x), mode)


def solve(a: Any, b: Any) -> Any:
    a, b = promoted(a, b)
    return ops.solve(a, b[..., None])[..., 0] if len(b.shape) == len(a.shape) - 1 else ops.solve(a, b)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    a, b = promoted(a, b)
    if len(b.shape) == len(a.shape) - 1:
        return ops.triangular_solve(a, b[..., None], lower)[..., 0]
    return ops.triangular_solve(a, b, lower)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = promoted(a, b)
    return ops.lstsq(a, b, rcond)


def matrix_rank(x: Any, tol: Any = None) -> Any:
    x = floating(x)
    if len(x.shape) < 2:
        raise ValueError(f"Expected input to have rank >= 2. Received input with shape {tuple(x.shape)}.")
    sizes = ops.svd(x, compute_uv=False)
    if tol is None:
        precision = float(np.finfo(x.dtype.numpy).eps)
        tol = ops.max(sizes, -1, keepdims=True) * (max(x.shape[-2:]) * precision)
    return ops.sum(ops.cast(sizes > tol, "int32"), -1)


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    extras: list[Any] = []

    def first(*args: Any) -> Any:
        values, aux = fun(*args)
        extras.append(aux)
        return values

    values, moved = dovetail.jvp(first if has_aux else fun, primals, tangents)
    return (values, moved, extras[-1]) if has_aux else (values, moved)
