"""Functions of square matrices: the exponential, the logarithm, and the square root, on the last two axes.

- Higham, "The scaling and squaring method for the matrix exponential revisited" (2005)
- Björck and Hammarling, "A Schur method for the square root of a matrix" (1983)
- Mathias, "A chain rule for matrix functions and applications" (1996): the gradient, from a matrix of blocks
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Inexact
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.ops.control.flow import while_loop
from dovetail.ops.control.loops import fori_loop
from dovetail.ops.linalg.decompositions import eig, qr
from dovetail.ops.linalg.linalg import euclidean_norm
from dovetail.ops.linalg.products import matmul
from dovetail.ops.linalg.systems import _solve, adjoint_matrix, per_matrix, square_spec
from dovetail.ops.math.arithmetic import divide_no_nan
from dovetail.ops.math.compare import equal, maximum, where
from dovetail.ops.math.complex import imag, real
from dovetail.ops.math.exponential import log, sqrt
from dovetail.ops.math.reduce import max
from dovetail.ops.math.rounding import ceil
from dovetail.ops.samples import array, sample, spd
from dovetail.ops.shapes.create import arange, zeros_like
from dovetail.ops.shapes.diagonals import diagonal, eye, matrix_diag, triu
from dovetail.ops.shapes.join import concatenate
from dovetail.ops.shapes.shape import cast, dims_of, expand_dims, shaped

DEGREE = 13  # of the approximation of exp by a quotient of polynomials
LARGEST = 4.0  # a norm for which it is exact to rounding, in float64
PADE = [
    math.comb(DEGREE, k) * math.factorial(2 * DEGREE - k) / math.factorial(2 * DEGREE) for k in range(DEGREE + 1)
]  # rising powers of x in its numerator
ROOTS = 8  # square roots before the logarithm's integral
POINTS = 10  # of Gauss and Legendre, for the integral


@composite(
    "MatrixExponential",
    cost="product",
    infer=square_spec,
    samples=[sample(array(3, 3)), sample(array(2, 2, 2, low=-9, high=9), tolerance=1e-4), sample(spd(1, 1))],
)
def expm(x: Inexact) -> Tensor:
    """Exponential of square matrices, the sum of `x**k / k!`.

    Args:
        x: of shape (..., n, n).

    Returns:
        A tensor of the shape and dtype of `x`.

    Source: `scipy.linalg.expm`.

    Example:
        >>> expm([[0., 1.], [0., 0.]]).numpy()
        array([[1., 1.],
               [0., 1.]], dtype=float32)
    """
    size = euclidean_norm(x, (-2, -1))
    halvings = ceil(log(maximum(size / LARGEST, 1)) / math.log(2))
    small = x * cast(per_matrix(2**-halvings), x.dtype)
    square, one = matmul(small, small), eye(dims_of(x)[-1], dtype=x.dtype)
    odd, even = (one * PADE[k] for k in (DEGREE, DEGREE - 1))
    for k in range(DEGREE - 2, 0, -2):
        odd, even = matmul(odd, square) + one * PADE[k], matmul(even, square) + one * PADE[k - 1]
    odd = matmul(small, odd)

    def squared(k: Any, power: Any) -> tuple[Any, Any]:
        return k + 1, where(per_matrix(k < halvings), matmul(power, power), power)

    first = (zeros_like(max(halvings)), _solve(even - odd, even + odd))
    return while_loop(lambda k, _: k < max(halvings), squared, first)[1]


@expm.gradient
def _(op: Any, g: Any) -> Any:
    """The block above the diagonal of the exponential of [[xᴴ, g], [0, xᴴ]]."""
    across, n = adjoint_matrix(op.inputs[0]), dims_of(g)[-1]
    lower = concatenate([zeros_like(g), across], -1)
    return expm(concatenate([concatenate([across, g], -1), lower], -2))[..., :n, n:]


def _by_diagonals(right: Any, products: Callable[[Any], Any], sums: Any, first: Any) -> Any:
    """The y with `products(y) + sums * y = right`, from the diagonal `first` up to the upper right corner.

    Args:
        products: depends, in each element, on elements of diagonals before its own.
    """
    n = dims_of(right)[-1]
    places = arange(0, n) - expand_dims(arange(0, n), 1)

    def step(k: Any, y: Any) -> Any:
        return where(equal(places, k), divide_no_nan(right - products(y), sums), y)

    return fori_loop(first, n, step, zeros_like(right))


def _pair_sums(values: Any) -> Any:
    return expand_dims(values, -1) + expand_dims(values, -2)


def _schur(x: Any) -> tuple[Any, Any]:
    """A unitary q and an upper triangular t with `x = q @ t @ qᴴ`, in complex128."""
    wide = cast(x, "complex128")
    q = qr(eig(wide)[1])[0]
    return q, triu(matmul(adjoint_matrix(q), matmul(wide, q)))


@composite(
    "MatrixSquareRoot",
    cost="product",
    infer=square_spec,
    samples=[sample(spd(3, 3), tolerance=1e-4), sample(spd(2, 2, 2), tolerance=1e-4), sample(spd(1, 1))],
)
def sqrtm(x: Inexact) -> Tensor:
    """Square root of square matrices, whose eigenvalues have real parts that are not negative.

    Args:
        x: of shape (..., n, n).

    Returns:
        A tensor of the shape and dtype of `x`.  It is NaN for a real matrix whose square root is complex.

    Source: `scipy.linalg.sqrtm`.

    Example:
        >>> sqrtm([[1., 4.], [0., 1.]]).numpy().round(5)
        array([[1., 2.],
               [0., 1.]], dtype=float32)
    """
    q, t = _schur(x)
    roots = sqrt(diagonal(t))
    strict = _by_diagonals(triu(t, 1), lambda y: matmul(y, y), _pair_sums(roots), 1)
    root = matmul(matmul(q, strict + matrix_diag(roots)), adjoint_matrix(q))
    if x.dtype.is_complex:
        return cast(root, x.dtype)
    size = euclidean_norm(root, (-2, -1), keepdims=True)
    is_real = euclidean_norm(imag(root), (-2, -1), keepdims=True) <= 1e-5 * real(size)
    return cast(where(is_real, real(root), float("nan")), x.dtype)


@sqrtm.gradient
def _(op: Any, g: Any) -> Any:
    """The y with `rootᴴ @ y + y @ rootᴴ = g`; its adjoint is found in the axes in which the root is triangular."""
    q, t = _schur(op.outputs[0])
    strict, values = triu(t, 1), diagonal(t)
    right = matmul(matmul(adjoint_matrix(q), adjoint_matrix(cast(g, "complex128"))), q)
    solution = _by_diagonals(
        right, lambda y: matmul(strict, y) + matmul(y, strict), _pair_sums(values), 1 - dims_of(right)[-1]
    )
    solution = matmul(matmul(q, adjoint_matrix(solution)), adjoint_matrix(q))
    return cast(solution if g.dtype.is_complex else real(solution), g.dtype)


@checked
def logm(x: Any) -> Any:
    """Logarithm of square matrices: the inverse of `expm`, whose eigenvalues have imaginary parts from -π to π.

    Args:
        x: floats or complex numbers of shape (..., n, n), without eigenvalues that are 0 or negative; complex ones may
            be negative.

    Returns:
        A tensor of the shape and dtype of `x`; NaN for a real matrix whose logarithm is complex.

    Source: `scipy.linalg.logm`.

    Example:
        >>> logm([[1., 2.], [0., 1.]]).numpy().round(5)
        array([[0., 2.],
               [0., 0.]], dtype=float32)
    """
    x = shaped(x)
    root = cast(x, "complex128" if x.dtype.is_complex else "float64")
    for _ in range(ROOTS):
        root = sqrtm(root)
    one = eye(dims_of(x)[-1], dtype=root.dtype)
    rest = root - one
    total = zeros_like(root)
    for point, weight in zip(*np.polynomial.legendre.leggauss(POINTS), strict=True):
        total = total + _solve(one + rest * ((point + 1) / 2), rest) * (weight / 2 * 2**ROOTS)
    return cast(total, x.dtype)
