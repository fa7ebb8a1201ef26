"""Matrix decompositions: Cholesky, LU, QR, eigenvalues, singular values.

All work on the last two axes.  If a decomposition does not exist, its elements are NaN on every engine, since compiled
programs cannot raise an error.  The engines fix signs that a decomposition leaves open.  The first large entry (at
least half as large as the largest) of each eigenvector and each left singular vector is positive, so that engines
agree.  R of QR keeps LAPACK's signs, on which engines agree already.

Gradients use adjoint matrices where their sources use transposed ones, and also follow the phases of complex vectors:

- Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008)
- Murray, "Differentiation of the Cholesky decomposition" (2016)
- Townsend, "Differentiating the singular value decomposition" (2016)
- Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010)
"""

from __future__ import annotations

from typing import Any, Literal

from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Inexact
from dovetail.core.op import primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.ops.linalg.products import matmul
from dovetail.ops.linalg.systems import _solve, adjoint_matrix, matrix_dims, real_dtype, square_spec, triangular_solve
from dovetail.ops.math.arithmetic import absolute, divide_no_nan
from dovetail.ops.math.compare import where
from dovetail.ops.math.complex import adjoint as conjugate
from dovetail.ops.math.complex import complex, imag, real
from dovetail.ops.math.cumulative import cumsum
from dovetail.ops.math.reduce import max
from dovetail.ops.samples import array, sample, spd
from dovetail.ops.shapes.diagonals import diagonal, eye, matrix_diag, tril, triu
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims


def _smaller(rows: Any, columns: Any) -> Any:
    return None if rows is None or columns is None else min(rows, columns)


def half_diagonal(x: Any) -> Any:
    """The lower triangle, with half the diagonal: Murray's Φ."""
    return (tril(x) + tril(x, -1)) / 2


def lower_gradient(k: Any) -> Any:
    """The gradient for a symmetric matrix of which only the lower triangle is read."""
    return half_diagonal(k + adjoint_matrix(k))


def _of_phases(vectors: Any, turning: Any) -> Any:
    """The share of the gradient that comes from the fixed phases of complex vectors.

    After a change of a vector, a turn keeps its first large entry real.

    Args:
        vectors: in columns, with phases as engines fix them (`dovetail.engines.matrices.phases`).
        turning: the gradient with respect to the angle of each vector: the change of the result if a vector turns.
    """
    sizes = absolute(vectors)
    large = sizes >= max(sizes, -2, keepdims=True) / 2
    first = large & (cumsum(cast(large, "int32"), -2) == 1)
    return complex(0, where(first, -expand_dims(turning, -2) / where(first, real(vectors), 1), 0))


def _angle_gradient(products: Any) -> Any:
    """The gradient with respect to the angles of vectors, from the products of the vectors and their gradients."""
    return imag(diagonal(products))


# -- Cholesky ---------------------------------------------------------------------------------------------------------


@primitive(
    "Cholesky",
    cost="product",
    infer=square_spec,
    samples=[sample(spd(3, 3)), sample(spd(2, 1, 2, 2)), sample(spd(1, 1))],
)
def cholesky(x: Inexact) -> Tensor:
    """The lower triangular matrix L with `L @ L.T = x`, for symmetric positive definite matrices.

    Args:
        x: of shape (..., n, n); only the lower triangle is read.

    Returns:
        L, of the same shape.  It is NaN if x is not positive definite: a compiled program cannot raise an error that
        depends on the values of a matrix.

    Source: `numpy.linalg.cholesky`.

    Example:
        >>> cholesky([[4., 0.], [2., 2.]]).numpy()
        array([[2., 0.],
               [1., 1.]], dtype=float32)
    """


@cholesky.gradient
def _(op: Any, g: Any) -> Any:
    factor = op.outputs[0]
    inside = half_diagonal(matmul(conjugate(factor), g, transpose_a=True))
    half = triangular_solve(factor, inside, adjoint=True)
    return lower_gradient(adjoint_matrix(triangular_solve(factor, adjoint_matrix(half), adjoint=True)))


# -- LU ---------------------------------------------------------------------------------------------------------------


def _lu_spec(x: RankedSpec) -> list[TensorSpec]:
    batch, rows, columns = matrix_dims(x)
    return [x, TensorSpec((*batch, _smaller(rows, columns)), ALL["int32"])]


@primitive(
    "Lu",
    cost="product",
    infer=_lu_spec,
    samples=[sample(array(3, 3)), sample(array(2, 2, 2)), sample(array(3, 2), gradient=False)],
)
def lu_factor(x: Inexact) -> tuple[Tensor, Tensor]:
    """LU decomposition with row exchanges: `P @ x = L @ U`.

    Args:
        x: of shape (..., m, n).

    Returns:
        L without its diagonal of ones, and U, in one tensor of the shape of x.  The pivots, int32: row i was exchanged
        with row `pivots[i]`, in order.

    Source: `scipy.linalg.lu_factor`.

    Example:
        >>> lu, pivots = lu_factor([[1., 2.], [2., 6.]])
        >>> lu.numpy(), pivots.numpy()
        (array([[ 2. ,  6. ],
               [ 0.5, -1. ]], dtype=float32), array([1, 1], dtype=int32))
    """


@lu_factor.gradient
def _(op: Any, g: Any, _: Any) -> Any:
    """Pᵀ L⁻ᵀ (tril(Lᵀ gL, -1) + triu(gU Uᵀ)) U⁻ᵀ, in which Pᵀ L⁻ᵀ is x⁻ᵀ Uᵀ."""
    x, lu = op.inputs[0], op.outputs[0]
    if x.shape[-2] != x.shape[-1]:
        raise op_error(NotImplementedError, "Lu", "its gradient is known for square matrices only.")
    unit, upper = (conjugate(t) for t in (tril(lu, -1) + eye(dims_of(x)[-1], dtype=x.dtype), triu(lu)))
    inside = tril(matmul(unit, tril(g, -1), transpose_a=True), -1) + triu(matmul(triu(g), upper, transpose_b=True))
    right = adjoint_matrix(triangular_solve(lu, adjoint_matrix(inside), lower=False))
    return _solve(x, matmul(upper, right, transpose_a=True), adjoint=True)


# -- QR ---------------------------------------------------------------------------------------------------------------


def _qr_spec(x: RankedSpec, mode: str = "reduced") -> list[TensorSpec]:
    batch, rows, columns = matrix_dims(x)
    inner = rows if mode == "complete" else _smaller(rows, columns)
    return [TensorSpec((*batch, rows, inner), x.dtype), TensorSpec((*batch, inner, columns), x.dtype)]


@primitive(
    "Qr",
    cost="product",
    infer=_qr_spec,
    samples=[
        sample(array(3, 2)),
        sample(array(2, 2, 3)),
        sample(array(3, 3), "complete", known=True),
        sample(array(3, 2), "complete", gradient=False),
    ],
)
def qr(x: Inexact, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Tensor, Tensor]:
    """QR decomposition `x = q @ r`: the columns of q are orthonormal, r is upper triangular.

    Args:
        x: of shape (..., m, n).
        mode: "reduced": q is (..., m, k) and r (..., k, n), with k the smaller of m and n; "complete": q is (..., m, m)
            and r (..., m, n).

    Returns:
        q and r.

    Source: `numpy.linalg.qr`.

    Example:
        >>> q, r = qr([[3., 1.], [4., 2.]])
        >>> matmul(q, r).numpy().round(5)
        array([[3., 1.],
               [4., 2.]], dtype=float32)
    """


@qr.gradient
def _(op: Any, gq: Any, gr: Any) -> Any:
    """The gradient of the first k columns, for which r is square, and of the others, which are q times r's others."""
    x, (q, r) = op.inputs[0], op.outputs
    rows, columns = x.shape[-2:]
    if op.attr("mode") == "complete" and (rows is None or columns is None or rows > columns):
        raise op_error(NotImplementedError, "Qr", "more rows than columns: only mode='reduced' has a gradient.")
    k = dims_of(q)[-1]
    square, g_square, g_rest = r[..., :k], gr[..., :k], gr[..., k:]
    gq = gq + matmul(x[..., k:], conjugate(g_rest), transpose_b=True)
    half = half_diagonal(matmul(square, adjoint_matrix(g_square)) - matmul(conjugate(gq), q, transpose_a=True))
    left = gq + matmul(q, half + adjoint_matrix(half))
    first = adjoint_matrix(triangular_solve(square, adjoint_matrix(left), lower=False))
    return concatenate([first, matmul(q, g_rest)], -1)


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _eigh_spec(x: RankedSpec, compute_v: bool = True) -> list[TensorSpec]:
    whole = square_spec(x)
    values = TensorSpec(whole.shape[:-1], real_dtype(x.dtype))  # type: ignore[index]
    return [values, whole] if compute_v else [values]


@primitive(
    "SelfAdjointEigV2",
    cost="product",
    infer=_eigh_spec,
    samples=[sample(spd(3, 3), tolerance=1e-4), sample(spd(2, 2, 2), tolerance=1e-4), sample(spd(2, 2), False)],
)
def _eigh(x: Inexact, compute_v: bool = True) -> tuple[Tensor, ...]:
    """Eigenvalues and, if wanted, eigenvectors of symmetric matrices."""


@_eigh.gradient
def _(op: Any, gw: Any, gv: Any = None) -> Any:
    w, v = op.outputs if op.attr("compute_v") else _eigh(op.inputs[0])
    adjoint = adjoint_matrix(v)
    inside = matrix_diag(gw)
    if gv is not None:
        if v.dtype.is_complex:
            gv = gv + _of_phases(v, _angle_gradient(matmul(adjoint, gv)))
        inside = inside + _reciprocal_gaps(w) * matmul(adjoint, gv)
    return lower_gradient(matmul(matmul(v, inside), adjoint))


def _reciprocal_gaps(w: Any) -> Any:
    """1 / (w_j - w_i) in row i and column j; 0 where the two are equal."""
    return divide_no_nan(1, expand_dims(w, -2) - expand_dims(w, -1))


@checked
def eigh(x: Any) -> tuple[Any, ...]:
    """Eigenvalues and eigenvectors of symmetric (or Hermitian) matrices.

    Args:
        x: of shape (..., n, n); only the lower triangle is read.

    Returns:
        The eigenvalues, ascending, of shape (..., n), and the eigenvectors, as columns, of shape (..., n, n).

    Source: `numpy.linalg.eigh`.

    Example:
        >>> w, v = eigh([[2., 0.], [0., 1.]])
        >>> w.numpy(), v.numpy()
        (array([1., 2.], dtype=float32), array([[0., 1.],
               [1., 0.]], dtype=float32))
    """
    return _eigh(x)


@checked
def eigvalsh(x: Any) -> Any:
    """Eigenvalues of symmetric (or Hermitian) matrices, ascending.

    Source: `numpy.linalg.eigvalsh`.

    Example:
        >>> eigvalsh([[2., 0.], [0., 1.]]).numpy()
        array([1., 2.], dtype=float32)
    """
    return _eigh(x, compute_v=False)[0]


def _eig_spec(x: RankedSpec) -> list[TensorSpec]:
    whole = square_spec(x)
    dtype = ALL["complex128" if x.dtype in ("float64", "complex128") else "complex64"]
    return [TensorSpec(whole.shape[:-1], dtype), TensorSpec(whole.shape, dtype)]  # type: ignore[index]


@primitive("Eig", cost="product", infer=_eig_spec, samples=[sample(spd(3, 3), tolerance=1e-4)])
def eig(x: Inexact) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices.

    Args:
        x: of shape (..., n, n).

    Returns:
        The eigenvalues, in no particular order, of shape (..., n), and the eigenvectors of length 1, as columns, of
        shape (..., n, n); both complex.

    Source: `numpy.linalg.eig`.

    Example:
        >>> eig([[0., 1.], [-1., 0.]])[0].numpy()
        array([0.+1.j, 0.-1.j], dtype=complex64)
    """


@eig.gradient
def _(op: Any, gw: Any, gv: Any) -> Any:
    x, (w, v) = op.inputs[0], op.outputs
    adjoint = adjoint_matrix(v)
    products = matmul(adjoint, gv)
    along = expand_dims(cast(real(diagonal(products)), v.dtype), -2) * v  # lengths do not change
    gv = gv - along + _of_phases(v, _angle_gradient(products))
    inside = matrix_diag(gw) + conjugate(_reciprocal_gaps(w)) * matmul(adjoint, gv)
    return cast(_solve(adjoint, matmul(inside, adjoint)), x.dtype)


# -- singular values --------------------------------------------------------------------------------------------------


def _svd_spec(x: RankedSpec, full_matrices: bool = True, compute_uv: bool = True) -> list[TensorSpec]:
    batch, rows, columns = matrix_dims(x)
    k = _smaller(rows, columns)
    shapes = [(rows, rows if full_matrices else k), (k,), (columns if full_matrices else k, columns)]
    dtypes = [x.dtype, real_dtype(x.dtype), x.dtype]
    specs = [TensorSpec((*batch, *shape), dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    return specs if compute_uv else specs[1:2]


@primitive(
    "Svd",
    cost="product",
    infer=_svd_spec,
    samples=[
        sample(array(3, 2), False, tolerance=1e-4),
        sample(array(2, 2, 3), False, tolerance=1e-4),
        sample(spd(2, 2), True, tolerance=1e-4, known=True),
        sample(array(3, 2), True, False),
    ],
)
def _svd(x: Inexact, full_matrices: bool = True, compute_uv: bool = True) -> tuple[Tensor, ...]:
    """Singular values and, if wanted, singular vectors."""


@_svd.gradient
def _(op: Any, *g: Any) -> Any:
    x, full_matrices, compute_uv = op.args
    rows, columns = x.shape[-2:]
    if not compute_uv:
        u, _, vh = _svd(x, False)
        return matmul(u * expand_dims(g[0], -2), vh)
    if full_matrices and (rows is None or rows != columns):
        raise op_error(NotImplementedError, "Svd", "not square: only full_matrices=False has a gradient.")
    (u, s, vh), (gu, gs, gvh) = op.outputs, g
    left, right = matmul(conjugate(u), gu, transpose_a=True), matmul(vh, conjugate(gvh), transpose_b=True)
    inside = matrix_diag(gs)
    if u.dtype.is_complex:
        gu = gu + _of_phases(u, _angle_gradient(left + right))
        left = matmul(conjugate(u), gu, transpose_a=True)
        inside = inside + matrix_diag(complex(0, divide_no_nan(_angle_gradient(left), s)))
    of_columns, of_rows = (expand_dims(s, axis) for axis in (-2, -1))
    turns = (left - adjoint_matrix(left)) * of_columns + (right - adjoint_matrix(right)) * of_rows
    # No gaps of squares: XLA rounds the two squares of a difference differently, so the squares of equal values differ.
    inside = inside + divide_no_nan(_reciprocal_gaps(s), of_columns + of_rows) * turns
    whole = matmul(matmul(u, inside), vh)
    if rows is None or columns is None or rows > columns:  # the part outside of the span of u
        whole = whole + matmul(divide_no_nan(gu - matmul(u, left), of_columns), vh)
    if rows is None or columns is None or rows < columns:
        whole = whole + matmul(u, divide_no_nan(gvh - matmul(conjugate(right), vh, transpose_a=True), of_rows))
    return whole


@checked
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition `x = u @ diag(s) @ vh`.

    Args:
        x: of shape (..., m, n).
        full_matrices: whether u and vh are square, (..., m, m) and (..., n, n).  Else they are only as large as needed,
            (..., m, k) and (..., k, n), with k the smaller of m and n.  Gradients need the latter, unless m = n.
        compute_uv: whether to compute u and vh, too.

    Returns:
        u, s and vh, with s in descending order, of shape (..., k); or s alone.

    Source: `numpy.linalg.svd`.

    Example:
        >>> svd([[0., 2.], [1., 0.]], compute_uv=False).numpy()
        array([2., 1.], dtype=float32)
    """
    return _svd(x, full_matrices) if compute_uv else _svd(x, False, False)[0]
