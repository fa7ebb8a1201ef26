"""Systems of linear equations, the inverse, and the logarithm of the determinant.

All work on the last two axes.  A singular matrix gives NaN, on every engine alike, since compiled programs cannot raise
an error; the other matrices of its batch keep their results.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import ALL, DType
from dovetail.core.kinds import Inexact
from dovetail.core.op import composite, primitive
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import Dims
from dovetail.core.values.shapes import broadcast
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.linalg.products import matmul, matrix_transpose
from dovetail.ops.math.complex import PARTS, complex, imag
from dovetail.ops.math.complex import adjoint as conjugate
from dovetail.ops.samples import array, sample, spd, triangular
from dovetail.ops.shapes.diagonals import eye, tril, triu
from dovetail.ops.shapes.shape import dims_of, expand_dims, squeeze, sum_like


def matrix_dims(x: RankedSpec, square: bool = False) -> tuple[Dims, Any, Any]:
    """The shape before the last two axes, and these two; unknown ones as None.

    Raises:
        ValueError: the rank is below 2, or the matrices are not square though they must be.
    """
    if len(x.shape) < 2:
        raise ValueError(f"needs matrices, of rank 2 or more, but the rank is {len(x.shape)}.")
    *batch, rows, columns = x.shape
    if square:
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(f"needs square matrices, but they are {rows} by {columns}.")
        rows = columns = columns if rows is None else rows
    return tuple(batch), rows, columns


def adjoint_matrix(x: Any) -> Any:
    """Exchange the last two axes, and conjugate complex numbers."""
    return matrix_transpose(conjugate(x))


def real_dtype(dtype: DType) -> DType:
    """The type of the absolute values."""
    return ALL[PARTS.get(dtype, dtype)]


def square_spec(x: RankedSpec) -> TensorSpec:
    """The spec of matrices of the same size as square ones."""
    batch, rows, columns = matrix_dims(x, square=True)
    return TensorSpec((*batch, rows, columns), x.dtype)


def solve_spec(matrix: RankedSpec, rhs: RankedSpec, *static: Any) -> TensorSpec:
    """The spec of solutions for square matrices and right-hand sides of as many rows, in batches that broadcast."""
    batch, size, _ = matrix_dims(matrix, square=True)
    other, rows, columns = matrix_dims(rhs)
    if size is not None and rows is not None and size != rows:
        raise ValueError(f"the right-hand sides must have {size} rows, as the matrices, but they have {rows}.")
    return TensorSpec((*broadcast(batch, other), rows if size is None else size, columns), rhs.dtype)  # type: ignore[misc]


@primitive(
    "MatrixTriangularSolve",
    cost="product",
    infer=solve_spec,
    samples=[
        sample(triangular(3, 3), array(3, 2)),
        sample(triangular(2, 1, 3, 3), array(2, 3, 1), adjoint=True),
        sample(spd(2, 2), array(2, 2), lower=False),
    ],
)
def triangular_solve(matrix: Inexact, rhs: Inexact, lower: bool = True, adjoint: bool = False) -> Tensor:
    """Solve `matrix @ x = rhs` for triangular matrices.

    Args:
        matrix: of shape (..., n, n); only one triangle is read.
        rhs: the right-hand sides, of shape (..., n, m).
        lower: which triangle is read.
        adjoint: whether the transposed (for complex numbers also conjugated) triangle is on the left instead.

    Returns:
        x, of shape (..., n, m); NaN for a matrix with a zero on the diagonal.

    Source: `tf.linalg.triangular_solve`.

    Example:
        >>> triangular_solve([[2., 9.], [1., 4.]], [[2.], [5.]]).numpy()
        array([[1.],
               [1.]], dtype=float32)
    """


@triangular_solve.gradient
def _(op: Any, g: Any) -> Any:
    matrix, rhs, lower, adjoint = op.args
    x = op.outputs[0]
    to_rhs = triangular_solve(matrix, g, lower, not adjoint)
    to_matrix = -(matmul(x, conjugate(to_rhs), False, True) if adjoint else matmul(to_rhs, conjugate(x), False, True))
    return sum_like(tril(to_matrix) if lower else triu(to_matrix), matrix), sum_like(to_rhs, rhs)


@primitive(
    "MatrixSolve",
    cost="product",
    infer=solve_spec,
    samples=[
        sample(spd(3, 3), array(3, 2)),
        sample(spd(2, 1, 2, 2), array(3, 2, 1), adjoint=True),
        sample(triangular(2, 2, 2), array(2, 2)),
    ],
)
def _solve(matrix: Inexact, rhs: Inexact, adjoint: bool = False) -> Tensor:
    """`solve` for right-hand sides that are matrices; `adjoint` transposes and conjugates the matrix on the left."""


@_solve.gradient
def _(op: Any, g: Any) -> Any:
    matrix, rhs, adjoint = op.args
    x = op.outputs[0]
    to_rhs = _solve(matrix, g, not adjoint)
    to_matrix = -(matmul(x, conjugate(to_rhs), False, True) if adjoint else matmul(to_rhs, conjugate(x), False, True))
    return sum_like(to_matrix, matrix), sum_like(to_rhs, rhs)


@checked
def solve(matrix: Any, rhs: Any) -> Any:
    """Solve `matrix @ x = rhs`.

    Args:
        matrix: square matrices, of shape (..., n, n).
        rhs: a vector of shape (n,), or right-hand sides of shape (..., n, m); the batch axes broadcast.

    Returns:
        x, in the shape of the right-hand sides; NaN for a singular matrix.

    Raises:
        ValueError: the matrices are not square, or the right-hand sides have another number of rows.

    Source: `numpy.linalg.solve`.

    Example:
        >>> solve([[2., 0.], [0., 4.]], [2., 8.]).numpy()
        array([1., 2.], dtype=float32)
    """
    if len(static_shape(rhs)) == 1:
        return squeeze(_solve(matrix, expand_dims(rhs, -1)), -1)
    return _solve(matrix, rhs)


@composite(
    "MatrixInverse",
    cost="product",
    infer=square_spec,
    samples=[sample(spd(3, 3)), sample(spd(2, 2, 2)), sample(triangular(1, 1))],
)
def inv(x: Inexact) -> Tensor:
    """Inverse of square matrices; NaN for a singular matrix.

    Source: `numpy.linalg.inv`.

    Example:
        >>> inv([[2., 0.], [0., 4.]]).numpy()
        array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    return _solve(x, eye(dims_of(x)[-1], dtype=x.dtype))


@inv.gradient
def _(op: Any, g: Any) -> Any:
    y = conjugate(op.outputs[0])
    return -matmul(matmul(y, g, transpose_a=True), y, transpose_b=True)


SQUARE = [sample(spd(3, 3)), sample(array(2, 2, 2)), sample(array(0, 0))]


def slogdet_spec(x: RankedSpec) -> list[TensorSpec]:
    batch, _, _ = matrix_dims(x, square=True)
    return [TensorSpec(batch, x.dtype), TensorSpec(batch, real_dtype(x.dtype))]


@primitive("LogMatrixDeterminant", cost="product", infer=slogdet_spec, samples=SQUARE)
def slogdet(x: Inexact) -> tuple[Tensor, Tensor]:
    """Sign of the determinant, and logarithm of its absolute value.

    Args:
        x: square matrices, of shape (..., n, n).

    Returns:
        The signs (for complex matrices numbers on the unit circle) and the logarithms, of shape (...); 0 and -inf for a
        singular matrix.

    Source: `numpy.linalg.slogdet`.

    Example:
        >>> sign, logarithm = slogdet([[0., 1.], [1., 0.]])
        >>> float(sign), float(logarithm)
        (-1.0, 0.0)
    """


@slogdet.gradient
def _(op: Any, turning: Any, g: Any) -> Any:
    """The gradient of sign and logarithm: a real sign is constant, a complex sign turns at a right angle to itself."""
    x, sign = op.inputs[0], op.outputs[0]
    if x.dtype.is_complex:
        g = complex(g, -imag(conjugate(turning) * sign))
    return per_matrix(g) * adjoint_matrix(inv(x))


def per_matrix(x: Any) -> Any:
    """One number for each matrix, with two axes more, so that it broadcasts against the matrices."""
    return expand_dims(x, (-2, -1))
