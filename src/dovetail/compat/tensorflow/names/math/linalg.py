"""TensorFlow's names for linear algebra."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, constant_value, function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of
from dovetail.formats.tensorflow.ops.diagonals import banded, diagonals_of, of_diagonals, with_diagonals
from dovetail.ops.shapes.shape import dims_of


@function("linalg.band_part matrix_band_part", scope=True)
def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
    """Matrices with zeros outside of a band; a negative number keeps that side whole.

    Source: `tf.linalg.band_part`.
    """
    return banded(ops.convert(input), num_lower, num_upper)


def _ints(numbers: Any) -> Any:
    """Integers as a list if they are known, else as a tensor."""
    known = constant_value(numbers)
    return ops.convert(numbers, "int32") if known is None else np.reshape(known, -1).tolist()


@function("linalg.diag", scope=True)
def diag(
    diagonal: Any,
    name: str | None = None,
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices with vectors on a diagonal, or on several, of which each has a row.

    Source: `tf.linalg.diag`.
    """
    diagonal = ops.convert(diagonal)
    padding = ops.cast(padding_value, diagonal.dtype)
    return of_diagonals(diagonal, _ints(k), _ints(num_rows), _ints(num_cols), padding, align)


row("matrix_diag", ops.matrix_diag, "diagonal:x")
row("matrix_diag_part", ops.diagonal, "input:x")


@function("diag linalg.tensor_diag", scope=True, defers=True)
def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """A tensor with twice the axes, zero except on its diagonal.

    Source: `tf.linalg.tensor_diag`.
    """
    dims = dims_of(ops.convert(diagonal))
    return ops.reshape(ops.matrix_diag(ops.reshape(diagonal, (-1,))), [*dims, *dims])


@function("linalg.diag_part", scope=True)
def diag_part(
    input: Any, name: str | None = None, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """A diagonal of matrices, or several as rows of one length.

    Source: `tf.linalg.diag_part`.
    """
    input = ops.convert(input)
    return diagonals_of(input, _ints(k), ops.cast(padding_value, input.dtype), align)


@function("diag_part linalg.tensor_diag_part", scope=True, defers=True)
def tensor_diag_part(input: Any, name: str | None = None) -> Any:
    """The diagonal of a tensor whose first half of axes equals the second half.

    Source: `tf.linalg.tensor_diag_part`.
    """
    dims = dims_of(ops.convert(input))
    half = dims[: len(dims) // 2]
    count = half[0] if len(half) == 1 else ops.prod(ops.stack(half))
    return ops.reshape(ops.diagonal(ops.reshape(input, [count, count])), half)


@function("linalg.set_diag matrix_set_diag", scope=True, defers=True)
def set_diag(input: Any, diagonal: Any, name: str | None = None, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with another diagonal, or with several.

    Source: `tf.linalg.set_diag`.
    """
    input = ops.convert(input)
    return with_diagonals(input, ops.convert(diagonal, input.dtype), align, _ints(k))


def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    return ops.inv(_adjoint(input) if adjoint else input, name=name)


def _adjoint(x: Any) -> Any:
    return ops.conj(ops.matrix_transpose(x))


row("linalg.inv matrix_inverse", _inverse, "input adjoint")
row("linalg.det matrix_determinant", ops.det, "input:x")
row("linalg.cholesky cholesky", ops.cholesky, "input:x")
row("linalg.matrix_transpose matrix_transpose", ops.matrix_transpose, "a:x")
adjoint = row("linalg.adjoint", lambda matrix: _adjoint(matrix), "matrix")
trace = row("linalg.trace trace", lambda x: ops.trace(x, 0, -2, -1), "x")
row("linalg.pinv", ops.pinv, "a:x rcond")


class LogDeterminant(NamedTuple):
    """The result of `tf.linalg.slogdet`."""

    sign: Any
    log_abs_determinant: Any


@function("linalg.slogdet", scope=True)
def slogdet(input: Any, name: str | None = None) -> LogDeterminant:
    """The sign of the determinant, and the logarithm of its absolute value.

    Source: `tf.linalg.slogdet`.
    """
    return LogDeterminant(*ops.slogdet(input))


@function("linalg.logdet", scope=True)
def logdet(matrix: Any, name: str | None = None) -> Any:
    """The logarithm of the determinant of positive definite matrices.

    Source: `tf.linalg.logdet`.
    """
    return ops.multiply(2.0, ops.sum(ops.log(ops.real(ops.diagonal(ops.cholesky(matrix)))), -1))


class Qr(NamedTuple):
    """The result of `tf.linalg.qr`."""

    q: Any
    r: Any


@function("linalg.qr qr", scope=True)
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Orthogonal and upper triangular factors.

    Source: `tf.linalg.qr`.
    """
    return Qr(*ops.qr(input, "complete" if full_matrices else "reduced"))


@function("linalg.svd svd", scope=True)
def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values, and with them the left and the right singular vectors as columns.

    Source: `tf.linalg.svd`.
    """
    if not compute_uv:
        return ops.svd(tensor, full_matrices, False)
    u, s, v = ops.svd(tensor, full_matrices)
    return s, u, _adjoint(v)


@function("linalg.eigh self_adjoint_eig", scope=True)
def eigh(tensor: Any, name: str | None = None) -> Any:
    """Eigenvalues of Hermitian matrices, ascending, and eigenvectors as columns.

    Source: `tf.linalg.eigh`.
    """
    return tuple(ops.eigh(tensor))


@function("linalg.eigvalsh self_adjoint_eigvals", scope=True)
def eigvalsh(tensor: Any, name: str | None = None) -> Any:
    """Eigenvalues of Hermitian matrices, ascending.

    Source: `tf.linalg.eigvalsh`.
    """
    return ops.eigvalsh(tensor)


def _solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    matrix, rhs = alike_values([matrix, rhs])
    return ops.solve(_adjoint(matrix) if adjoint else matrix, rhs)


solve = row("linalg.solve matrix_solve", _solve, "matrix rhs adjoint")


@function("linalg.triangular_solve matrix_triangular_solve")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Any:
    """The solutions of equations with triangular matrices.

    Source: `tf.linalg.triangular_solve`.
    """
    matrix, rhs = alike_values([matrix, rhs])
    return ops.triangular_solve(matrix, rhs, lower, adjoint, name=name)


@function("linalg.lstsq matrix_solve_ls", scope=True)
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None) -> Any:
    """The least-squares solutions of equations.

    Args:
        fast: whether the matrices are of full rank; else the smallest solution is found, without `l2_regularizer`.

    Source: `tf.linalg.lstsq`.
    """
    if not fast:
        return ops.matmul(ops.pinv(matrix), rhs)
    rows, columns = ops.convert(matrix).shape[-2:]
    if rows is None or columns is None:
        raise op_error(ValueError, "tf.linalg.lstsq", "the shape of the matrices must be known.")
    across = _adjoint(matrix)
    eye = ops.multiply(ops.eye(min(rows, columns), dtype=as_dtype(dtype_of(ops.convert(matrix)))), l2_regularizer)
    if rows >= columns:
        return ops.solve(ops.add(ops.matmul(across, matrix), eye), ops.matmul(across, rhs))
    return ops.matmul(across, ops.solve(ops.add(ops.matmul(matrix, across), eye), rhs))


@function("linalg.matvec", scope=True)
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The product of matrices and vectors.

    Source: `tf.linalg.matvec`.
    """
    a, b = alike_values([a, b])
    a = ops.conj(a) if adjoint_a else a
    return ops.squeeze(ops.matmul(a, ops.expand_dims(b, -1), transpose_a or adjoint_a), -1)
