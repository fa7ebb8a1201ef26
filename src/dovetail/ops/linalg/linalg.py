"""Linear algebra made of products, systems and decompositions: norms, determinants, powers, rank, least squares."""

from __future__ import annotations

import math
from typing import Any

from dovetail.core.base.errors import op_error
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Axes
from dovetail.core.kinds import Inexact
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import normalize_axis, reduced_shape
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.control.flow import cond
from dovetail.ops.linalg.decompositions import svd
from dovetail.ops.linalg.products import matmul, matrix_transpose, matvec
from dovetail.ops.linalg.systems import (
    SQUARE,
    adjoint_matrix,
    inv,
    matrix_dims,
    per_matrix,
    real_dtype,
    slogdet,
    slogdet_spec,
    square_spec,
    triangular_solve,
)
from dovetail.ops.math.arithmetic import absolute, divide_no_nan, power, sign
from dovetail.ops.math.compare import equal, greater, maximum, not_equal, where
from dovetail.ops.math.complex import adjoint
from dovetail.ops.math.exponential import exp, log, sqrt
from dovetail.ops.math.reduce import any, max, min, others_product, restore_axes, sum
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.create import zeros_like
from dovetail.ops.shapes.diagonals import diagonal, eye, matrix_diag
from dovetail.ops.shapes.shape import broadcast_to, cast, dims_of, expand_dims, shape_of, shaped, squeeze, transpose

# -- norms ------------------------------------------------------------------------------------------------------------


def _norm_spec(x: TensorSpec, axis: Any = None, keepdims: bool = False) -> TensorSpec:
    return TensorSpec(reduced_shape(x.shape, axis, keepdims), real_dtype(x.dtype))


@composite(
    "EuclideanNorm",
    cost="product",
    infer=_norm_spec,
    samples=[sample(array(2, 3)), sample(array(2, 3, 2), (0, -1), True), sample(array(0, 2), 0, gradient=False)],
)
def euclidean_norm(x: Inexact, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Square root of the sum of squares over axes; its gradient at zero is zero.

    Args:
        x: of any shape.
        axis: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Source: `tf.raw_ops.EuclideanNorm`.

    Example:
        >>> float(euclidean_norm([3., 4.]))
        5.0
    """
    size = absolute(x)
    return sqrt(sum(size * size, axis, keepdims))


@euclidean_norm.gradient
def _(op: Any, g: Any) -> Any:
    x, axis, keepdims = op.args
    g, norm = (restore_axes(t, x, axis, keepdims) for t in (g, op.outputs[0]))
    return cast(divide_no_nan(g, norm), x.dtype) * x


@checked
def norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    """Norm of vectors or matrices.

    Args:
        x: floats.
        ord: for vectors any number: p of the p-norm.  inf and -inf give the largest and smallest absolute value, 0
            gives the number of elements that are not zero.  For matrices "fro" (Frobenius), "nuc" (sum of the singular
            values), 2 and -2 (the largest and smallest of them).  Also 1 and -1 (the largest and smallest column sum),
            inf and -inf (row sums).  None: the square root of the sum of all squares.
        axis: an axis for vectors, two for matrices; None for all axes of x, which are one or two unless `ord` is None.
        keepdims: whether these axes stay, with size 1.

    Raises:
        ValueError: there is no such norm.

    Source: `numpy.linalg.norm`.

    Example:
        >>> float(norm([[3., 0.], [4., 0.]])), norm([[3., 0.], [4., 1.]], 1, axis=0).numpy()
        (5.0, array([7., 1.], dtype=float32))
    """
    if ord is None:
        return euclidean_norm(x, axis, keepdims)
    x = shaped(x)
    axes = range(len(static_shape(x))) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = tuple(normalize_axis(a, len(static_shape(x))) for a in axes)
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2 and ord in _MATRIX_NORMS:
        return _MATRIX_NORMS[ord](x, axes, keepdims)
    raise op_error(ValueError, "Norm", f"there is no norm {ord!r} over {len(axes)} axes.")


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord == 2:
        return euclidean_norm(x, axis, keepdims)
    if ord == 0:
        return sum(cast(not_equal(x, 0), real_dtype(x.dtype)), axis, keepdims)
    sizes = absolute(x)
    if math.isinf(ord):
        return (max if ord > 0 else min)(sizes, axis, keepdims)
    return sum(sizes, axis, keepdims) if ord == 1 else _p_norm(x, ord, axis, keepdims)


@composite(
    "PNorm",
    cost="product",
    infer=lambda x, p, axis, keepdims: _norm_spec(x, axis, keepdims),
    samples=[sample(array(2, 3, low=0.5), 3, 1, False), sample(array(3, 2, low=0.5), -1.5, 0, True)],
)
def _p_norm(x: Inexact, p: float, axis: int, keepdims: bool) -> Tensor:
    """`sum(|x| ** p) ** (1 / p)` along an axis; its derivatives by elements that are 0 are 0."""
    return power(sum(power(absolute(x), p), axis, keepdims), 1 / p)


@_p_norm.gradient
def _(op: Any, g: Any) -> Any:
    x, p, axis, keepdims = op.args
    g, norm = (restore_axes(t, x, axis, keepdims) for t in (g, op.outputs[0]))
    sizes = absolute(x)
    zero = equal(sizes, 0) | equal(norm, 0)
    slope = power(where(zero, 1, sizes) / where(zero, 1, norm), p - 1)
    return cast(where(zero, 0, g * slope), x.dtype) * sign(x)


def _of_sums(reduce: Any, summed: int) -> Any:
    """The largest or smallest sum of absolute values along one of the two axes."""

    def compute(x: Any, axes: tuple[int, int], keepdims: bool) -> Any:
        result = reduce(sum(absolute(x), axes[summed], True), axes[1 - summed], True)
        return result if keepdims else squeeze(result, axes)

    return compute


def _of_singular_values(reduce: Any) -> Any:
    def compute(x: Any, axes: tuple[int, int], keepdims: bool) -> Any:
        others = [i for i in range(len(x.shape)) if i not in axes]
        values = svd(transpose(x, [*others, *axes]), compute_uv=False)
        result = reduce(absolute(values), -1)  # the derivative of `absolute` at 0 is 0
        return expand_dims(result, axes) if keepdims else result

    return compute


_MATRIX_NORMS: dict[Any, Any] = {
    "fro": euclidean_norm,
    "nuc": _of_singular_values(sum),
    2: _of_singular_values(max),
    -2: _of_singular_values(min),
    1: _of_sums(max, 0),
    -1: _of_sums(min, 0),
    math.inf: _of_sums(max, 1),
    -math.inf: _of_sums(min, 1),
}


# -- by singular values -----------------------------------------------------------------------------------------------


def _pinv_spec(x: RankedSpec, rcond: Any = None) -> TensorSpec:
    batch, rows, columns = matrix_dims(x)
    return TensorSpec((*batch, columns, rows), x.dtype)


@composite(
    "Pinv",
    cost="product",
    infer=_pinv_spec,
    samples=[sample(array(3, 2)), sample(array(2, 2, 3)), sample(array(2, 2), 1e-3)],
)
def pinv(x: Inexact, rcond: float | None = None) -> Tensor:
    """Pseudo-inverse (Moore and Penrose).

    Args:
        x: of shape (..., m, n).
        rcond: singular values up to this part of the largest count as zero; the larger of m and n times the dtype's
            epsilon if not given.

    Returns:
        A tensor of shape (..., n, m).

    Source: `numpy.linalg.pinv`, with the default `rcond` of `matrix_rank`.

    Example:
        >>> pinv([[2.], [0.]]).numpy()
        array([[0.5, 0. ]], dtype=float32)
    """
    u, s, vh = svd(x, full_matrices=False)
    counts = _is_not_zero(s, x, rcond)
    inverse = where(counts, 1 / where(counts, s, 1), 0)
    return matmul(adjoint_matrix(vh) * expand_dims(inverse, -2), adjoint(u), transpose_b=True)


@pinv.gradient
def _(op: Any, g: Any) -> Any:
    """Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems" (1973)."""
    x, p = op.inputs[0], op.outputs[0]
    gt, pt = adjoint_matrix(g), adjoint_matrix(p)
    rows = gt - matmul(x, matmul(p, gt))
    columns = gt - matmul(matmul(gt, p), x)
    return matmul(rows, matmul(p, pt)) + matmul(matmul(pt, p), columns) - matmul(matmul(pt, g), pt)


def _is_not_zero(s: Any, x: Any, rcond: Any) -> Any:
    """Whether each singular value counts as different from zero."""
    if rcond is None:
        *_, rows, columns = dims_of(x)
        rcond = cast(maximum(rows, columns), s.dtype) * s.dtype.eps
    return greater(s, rcond * max(s, -1, keepdims=True))


@checked
def matrix_rank(x: Any, rtol: Any = None) -> Any:
    """The number of singular values that are larger than `rtol` times the largest.

    Args:
        x: of shape (..., m, n).
        rtol: the larger of m and n times the dtype's epsilon if not given.

    Returns:
        An int32 tensor of shape (...).

    Source: `numpy.linalg.matrix_rank`.

    Example:
        >>> int(matrix_rank([[1., 2.], [2., 4.]]))
        1
    """
    x = shaped(x)
    s = svd(x, compute_uv=False)
    return sum(cast(_is_not_zero(s, x, rtol), "int32"), -1)


@checked
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The shortest x that minimizes the sum of squares of `a @ x - b`.

    Args:
        a: of shape (..., m, n).
        b: a vector of shape (m,), or right-hand sides of shape (..., m, k).
        rcond: as for `pinv`.

    Returns:
        x, of shape (n,) or (..., n, k).

    Source: the first result of `numpy.linalg.lstsq`.

    Example:
        >>> lstsq([[1.], [1.]], [1., 3.]).numpy().round(4)
        array([2.], dtype=float32)
    """
    b = shaped(b)
    return (matvec if len(static_shape(b)) == 1 else matmul)(pinv(a, rcond), b)


# -- determinants ---------------------------------------------------------------------------------------------------


def _det_spec(x: RankedSpec) -> TensorSpec:
    return slogdet_spec(x)[0]


@composite("MatrixDeterminant", cost="product", infer=_det_spec, samples=SQUARE)
def det(x: Inexact) -> Tensor:
    """Determinant of square matrices.

    The first two derivatives hold for each matrix.  Higher derivatives hold for a singular or nearly singular matrix
    only if its singular values differ.

    Source: `numpy.linalg.det`.

    Example:
        >>> float(det([[2., 0.], [0., 4.]]))
        8.0
    """
    sign, logarithm = slogdet(x)
    return sign * exp(logarithm)


@det.gradient
def _(op: Any, g: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    singular = per_matrix(_is_nearly_singular(x, y))
    inverse = inv(where(singular, eye(dims_of(x)[-1], dtype=x.dtype), x))
    cofactors = cond(any(singular), lambda: _cofactors(x), lambda: zeros_like(x))
    return per_matrix(g) * adjoint(where(singular, cofactors, per_matrix(y) * matrix_transpose(inverse)))


def _is_nearly_singular(x: Any, determinant: Any) -> Any:
    """Whether a determinant is so far below its bound that the inverse is imprecise, or does not exist."""
    size = absolute(determinant)
    n = cast(dims_of(x)[-1], size.dtype)
    largest = n * (log(euclidean_norm(x, (-2, -1))) - log(n) / 2)  # in logarithms; Hadamard's inequality
    return log(size) <= largest + math.log(1000 * size.dtype.eps)


@composite("Cofactors", cost="product", infer=square_spec, samples=SQUARE)
def _cofactors(x: Inexact) -> Tensor:
    """The derivatives of the determinant by each element, also if it is 0."""
    u, s, vh = svd(x, full_matrices=False)
    return per_matrix(det(u) * det(vh)) * matmul(adjoint(u) * expand_dims(others_product(s), -2), adjoint(vh))


@_cofactors.gradient
def _(op: Any, g: Any) -> Any:
    """Differentiate in the axes of the singular vectors, where x is diagonal: by products of all values except two."""
    u, s, vh = svd(op.inputs[0], full_matrices=False)
    one = equal(eye(dims_of(s)[-1], dtype=s.dtype), 1)
    pairs = cast(where(one, 0, others_product(where(one, 1, expand_dims(s, -2)))), g.dtype)
    inside = per_matrix(adjoint(det(u) * det(vh))) * matmul(matmul(u, g, transpose_a=True), vh, transpose_b=True)
    inside = matrix_diag(matvec(pairs, diagonal(inside))) - matrix_transpose(pairs * inside)
    return matmul(matmul(u, inside), vh)


# -- powers and inverses ----------------------------------------------------------------------------------------------


@checked
def matrix_power(x: Any, n: int) -> Any:
    """Square matrices to an integer power, by repeated squaring; negative powers are powers of the inverse.

    Source: `numpy.linalg.matrix_power`.

    Example:
        >>> matrix_power([[1, 1], [0, 1]], 3).numpy()
        array([[1, 3],
               [0, 1]], dtype=int32)
    """
    if n < 0:
        return matrix_power(inv(x), -n)
    x = shaped(x)
    result = broadcast_to(eye(dims_of(x)[-1], dtype=dtype_of(x)), shape_of(x)) if n == 0 else None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return result


@checked
def cholesky_inverse(x: Any, upper: bool = False) -> Any:
    """The inverse of the matrix of which `x` is the Cholesky factor.

    Args:
        x: lower triangular matrices L of L @ L.T, or upper ones U of U.T @ U.
        upper: whether the matrices are upper triangular.

    Source: `torch.cholesky_inverse`.

    Example:
        >>> cholesky_inverse([[2., 0.], [0., 1.]]).numpy()
        array([[0.25, 0.  ],
               [0.  , 1.  ]], dtype=float32)
    """
    x = shaped(x)
    whole = triangular_solve(x, eye(dims_of(x)[-1], dtype=dtype_of(x)), not upper)
    return matmul(whole, whole, not upper, upper)
