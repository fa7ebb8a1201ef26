"""Rules of products of matrices, of systems of equations and of decompositions."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.scipy import linalg as jsp

from dovetail.engines import matrices
from dovetail.engines.jax.tables import rules


@rules("MatMul")
def _(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return jnp.matmul(jnp.matrix_transpose(x) if transpose_a else x, jnp.matrix_transpose(y) if transpose_b else y)


@rules("Einsum")
def _(inputs: Any, equation: str) -> Any:
    return jnp.einsum(equation, *inputs)


def _nan_where_zero(pivots: Any, result: Any) -> Any:
    """NaN for the matrices that have a zero among their pivots."""
    return jnp.where(jnp.any(pivots == 0, -1)[..., None, None], jnp.nan, result)


@rules("MatrixSolve")
def _(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    lu, pivots = jsp.lu_factor(matrix)
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    rhs = jnp.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    lu, pivots = jnp.broadcast_to(lu, (*batch, *lu.shape[-2:])), jnp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return _nan_where_zero(jnp.diagonal(lu, axis1=-2, axis2=-1), jsp.lu_solve((lu, pivots), rhs, trans=2 * adjoint))


@rules("MatrixTriangularSolve")
def _(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    matrix, rhs = (jnp.broadcast_to(t, (*batch, *t.shape[-2:])) for t in (matrix, rhs))
    options = {"left_side": True, "lower": lower, "transpose_a": adjoint, "conjugate_a": adjoint}
    return _nan_where_zero(
        jnp.diagonal(matrix, axis1=-2, axis2=-1), lax.linalg.triangular_solve(matrix, rhs, **options)
    )


@rules("Cholesky")
def _(x: Any) -> Any:
    result = lax.linalg.cholesky(x, symmetrize_input=False)
    return jnp.where(jnp.any(jnp.isnan(result), (-2, -1), keepdims=True), jnp.nan, result)


@rules("Lu")
def _(x: Any) -> Any:
    return lax.linalg.lu(x)[:2]


# jax differentiates no determinant of 0 by 0 matrices.
rules["MatrixDeterminant"] = lambda x: jnp.linalg.det(x) if x.shape[-1] else jnp.ones(x.shape[:-2], x.dtype)
rules["LogMatrixDeterminant"] = jnp.linalg.slogdet
rules["Qr"] = jnp.linalg.qr


@rules("SelfAdjointEigV2")
def _(x: Any, compute_v: bool) -> Any:
    if not compute_v:
        return [jnp.linalg.eigvalsh(x, symmetrize_input=False)]
    return matrices.turned(jnp, *jnp.linalg.eigh(x, symmetrize_input=False))


@rules("Eig")
def _(x: Any) -> Any:
    return matrices.turned(jnp, *jnp.linalg.eig(x))


@rules("Svd")
def _(x: Any, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return [jnp.linalg.svd(x, compute_uv=False)]
    return matrices.aligned(jnp, *jnp.linalg.svd(x, full_matrices))
