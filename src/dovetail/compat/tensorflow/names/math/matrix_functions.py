"""TensorFlow's names for functions of matrices, for their factors, and for matrices with few diagonals."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.ops.shapes.shape import dims_of, shaped

_lu, _tridiagonal_solve, _tridiagonal_matmul = map(of_type, ("Lu", "TridiagonalSolve", "TridiagonalMatMul"))

row("linalg.expm", ops.expm, "input:x")
row("linalg.logm", ops.logm, "input:x")


class Lu(NamedTuple):
    """The result of `tf.linalg.lu`."""

    lu: Any
    p: Any


@function("linalg.lu", scope=True)
def lu(input: Any, output_idx_type: Any = "int32", name: str | None = None) -> Lu:
    """The factors of matrices in one, and the order of their rows.

    Source: `tf.linalg.lu`.
    """
    factors, order = _lu(input)
    return Lu(factors, ops.cast(order, as_dtype(output_idx_type)))


def _inverse_order(perm: Any) -> Any:
    return ops.expand_dims(ops.argsort(perm, -1), -1)


def _reconstructed(lower_upper: Any, perm: Any) -> Any:
    lower_upper = shaped(lower_upper)
    unit = ops.tril(lower_upper, -1) + ops.eye(dims_of(lower_upper)[-1], dtype=lower_upper.dtype)
    return ops.take_along_axis(ops.matmul(unit, ops.triu(lower_upper)), _inverse_order(perm), -2)


def _solved(lower_upper: Any, perm: Any, rhs: Any) -> Any:
    lower_upper, rhs = shaped(lower_upper), shaped(rhs)
    unit = ops.tril(lower_upper, -1) + ops.eye(dims_of(lower_upper)[-1], dtype=lower_upper.dtype)
    rhs = ops.broadcast_to(rhs, [*dims_of(lower_upper)[:-1], dims_of(rhs)[-1]])
    first = ops.triangular_solve(unit, ops.take_along_axis(rhs, ops.expand_dims(perm, -1), -2))
    return ops.triangular_solve(lower_upper, first, lower=False)


def _lu_inverse(lower_upper: Any, perm: Any) -> Any:
    lower_upper = shaped(lower_upper)
    return _solved(lower_upper, perm, ops.eye(dims_of(lower_upper)[-1], dtype=lower_upper.dtype))


row("linalg.lu_reconstruct", _reconstructed, "lower_upper perm validate_args")
row("linalg.lu_solve", _solved, "lower_upper perm rhs validate_args")
row("linalg.lu_matrix_inverse", _lu_inverse, "lower_upper perm validate_args")
row("linalg.eig eig", lambda tensor: tuple(ops.eig(tensor)), "tensor")
row("linalg.eigvals eigvals", lambda tensor: ops.eig(tensor)[0], "tensor")


def _rank(a: Any, tol: Any = None) -> Any:
    return ops.matrix_rank(a) if tol is None else ops.sum(ops.cast(ops.svd(a, compute_uv=False) > tol, "int32"), -1)


row("linalg.matrix_rank", _rank, "a tol validate_args")


# -- few diagonals ----------------------------------------------------------------------------------------------------


def diagonals_of(diagonals: Any, format: str) -> list[Any]:
    """The diagonal above the main one, the main one, and the one below, all of its length.

    Args:
        format: "compact" for a tensor (…, 3, n), "sequence" for three tensors, "matrix" for whole matrices.

    Raises:
        ValueError: another format.
    """
    if format == "compact":
        whole = shaped(diagonals)
        return [whole[..., k, :] for k in range(3)]
    if format not in ("sequence", "matrix"):
        raise op_error(ValueError, "tf.linalg", f"a format {format!r}: write 'compact', 'sequence' or 'matrix'.")
    if format == "matrix":
        whole = shaped(diagonals)
        diagonals = [ops.diagonal(whole, k) for k in (1, 0, -1)]
    above, main, below = (shaped(one) for one in diagonals)
    missing = dims_of(main)[-1] - dims_of(above)[-1]  # 0 or 1
    others = [(0, 0)] * (len(main.shape) - 1)
    return [ops.pad(above, [*others, (0, missing)]), main, ops.pad(below, [*others, (missing, 0)])]


@function("linalg.tridiagonal_solve", scope=True, defers=True)
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Any:
    """The solutions of equations with tridiagonal matrices, which are made whole.

    Source: `tf.linalg.tridiagonal_solve`.
    """
    if perturb_singular:
        raise op_error(
            NotImplementedError, "tf.linalg.tridiagonal_solve", "perturb_singular: a singular matrix is NaN."
        )
    bands, rhs = ops.stack(diagonals_of(diagonals, diagonals_format), -2), shaped(rhs)
    rhs = ops.conj(rhs) if conjugate_rhs else rhs
    is_vector = len(rhs.shape) == len(bands.shape) - 1
    if is_vector:
        return ops.squeeze(_tridiagonal_solve(bands, ops.expand_dims(rhs, -1)), -1)
    return _tridiagonal_solve(bands, ops.matrix_transpose(rhs) if transpose_rhs else rhs)


def _multiplied(diagonals: Any, rhs: Any, diagonals_format: str = "compact") -> Any:
    rows = [ops.expand_dims(one, -2) for one in diagonals_of(diagonals, diagonals_format)]
    return _tridiagonal_matmul(*rows, shaped(rhs))


row("linalg.tridiagonal_matmul", _multiplied, "diagonals rhs diagonals_format")


@function("linalg.eigh_tridiagonal", scope=True)
def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues of a Hermitian tridiagonal matrix, ascending, and its eigenvectors as columns.

    Source: `tf.linalg.eigh_tridiagonal`.
    """
    if select not in ("a", "i", "v"):
        raise op_error(ValueError, "tf.linalg.eigh_tridiagonal", f"select={select!r}: write 'a', 'i' or 'v'.")
    matrix = ops.matrix_diag(shaped(alpha)) + ops.matrix_diag(conjugate(shaped(beta)), -1)
    values, vectors = (ops.eigvalsh(matrix), None) if eigvals_only else ops.eigh(matrix)
    if select == "i":
        low, high = (int(bound) for bound in select_range)
        values, vectors = values[low : high + 1], None if eigvals_only else vectors[:, low : high + 1]
    elif select == "v":
        low, high = select_range
        inside = ops.logical_and(values > low, values <= high)
        values = ops.boolean_mask(values, inside)
        vectors = None if eigvals_only else ops.boolean_mask(vectors, inside, axis=1)
    return values if eigvals_only else (values, vectors)


def conjugate(x: Any) -> Any:
    return ops.conj(x) if x.dtype.is_complex else x


class ConjugateGradient(NamedTuple):
    """The last state of `tf.linalg.experimental.conjugate_gradient`."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


@function("linalg.experimental.conjugate_gradient", scope=True)
def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str | None = "conjugate_gradient",
) -> ConjugateGradient:
    """The solution of equations with a positive definite operator, by products with it alone.

    Source: `tf.linalg.experimental.conjugate_gradient`.
    """
    rhs = shaped(rhs)
    start = ops.zeros_like(rhs) if x is None else shaped(x)
    rest = rhs if x is None else rhs - operator.matvec(start)
    prepared = preconditioner.matvec if preconditioner is not None else ops.identity

    def product(a: Any, b: Any) -> Any:
        return ops.sum(conjugate(a) * b, -1)

    def size(a: Any) -> Any:
        return ops.norm(a, axis=-1)

    limit = tol * size(rhs)

    def is_on(*state: Any) -> Any:
        return ops.logical_and(state[0] < max_iter, ops.any(size(state[2]) > limit))

    def step(i: Any, x: Any, r: Any, p: Any, gamma: Any) -> Any:
        image = operator.matvec(p)
        length = ops.expand_dims(gamma / product(p, image), -1)
        x, r = x + length * p, r - length * image
        q = prepared(r)
        after = product(r, q)
        return i + 1, x, r, q + ops.expand_dims(after / gamma, -1) * p, after

    first = prepared(rest)
    count = ops.convert(0)
    return ConjugateGradient(*ops.while_loop(is_on, step, (count, start, rest, first, product(rest, first))))


def tridiagonal(diagonals: Any, format: str) -> Any:
    """Whole matrices with three diagonals."""
    above, main, below = diagonals_of(diagonals, format)
    return ops.matrix_diag(above[..., :-1], 1) + ops.matrix_diag(main) + ops.matrix_diag(below[..., 1:], -1)
