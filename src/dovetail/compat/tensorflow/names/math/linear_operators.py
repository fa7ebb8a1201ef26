"""TensorFlow's linear operators: a row says which matrix the given parts of one stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array import creation
from dovetail.compat.tensorflow.names.array.core import convert_to_tensor
from dovetail.compat.tensorflow.names.math import arithmetic, linalg
from dovetail.compat.tensorflow.names.math.by_type import FUNCTIONS
from dovetail.compat.tensorflow.names.math.matrix_functions import conjugate, tridiagonal
from dovetail.compat.tensorflow.table import in_v1, signature_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of
from dovetail.ops.shapes.shape import dims_of, shaped


class LinearOperator:
    """The base of linear operators, which are matrices with some of their methods.

    Attributes:
        name: its name.
        dtype: of the matrix.

    Source: `tf.linalg.LinearOperator`.
    """

    name: str
    _matrix: Any

    @property
    def dtype(self) -> Any:
        """The dtype of the matrix."""
        return as_dtype(dtype_of(self._matrix))

    @property
    def shape(self) -> Any:
        """The shape of the matrix, as far as it is known."""
        return self._matrix.shape

    def to_dense(self, name: str = "to_dense") -> Any:
        """The matrix."""
        return ops.identity(self._matrix)

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape of the matrix as a tensor."""
        return ops.shape(self._matrix)

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with a matrix."""
        return arithmetic.matmul(self._matrix, _dense(x), adjoint_a=adjoint, adjoint_b=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The product with a vector."""
        return linalg.matvec(self._matrix, x, adjoint_a=adjoint)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The solutions of equations, whose right sides are columns."""
        rhs = linalg.adjoint(_dense(rhs)) if adjoint_arg else _dense(rhs)
        return linalg.solve(self._matrix, rhs, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The solution of equations with one right side."""
        return ops.squeeze(self.solve(ops.expand_dims(rhs, -1), adjoint), -1)

    def determinant(self, name: str = "det") -> Any:
        """The determinant."""
        return ops.det(self._matrix)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithm of the determinant's absolute value."""
        return ops.slogdet(self._matrix)[1]

    def diag_part(self, name: str = "diag_part") -> Any:
        """The diagonal."""
        return ops.diagonal(self._matrix)

    def trace(self, name: str = "trace") -> Any:
        """The sum of the diagonal."""
        return linalg.trace(self._matrix)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """The sum with a matrix."""
        return ops.add(self._matrix, x)


def _dense(x: Any) -> Any:
    return x._matrix if isinstance(x, LinearOperator) else x


def _operator(kind: str, words: str, matrix: Callable[..., Any]) -> None:
    """Add a kind of operators.

    Args:
        kind: the last part of its class's name.
        words: its parameters in TensorFlow's order, and their defaults; hints as `is_square` come last.
        matrix: computes the matrix from these parameters.
    """
    parts = [word.partition("=")[0] for word in words.split()]
    hints = "is_non_singular=None is_self_adjoint=None is_positive_definite=None is_square=None"
    signature = signature_of(f"{words} {hints} name='LinearOperator{kind}'")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        built = matrix(*(given[part] for part in parts))
        vars(self).update(given, _matrix=convert_to_tensor(built))

    doc = f"A linear operator.\n\n    Source: `tf.linalg.LinearOperator{kind}`.\n    "
    members = {"__init__": __init__, "__doc__": doc, "__signature__": signature}
    made = type(f"LinearOperator{kind}", (LinearOperator,), members)
    value(f"linalg.LinearOperator{kind} contrib.linalg.LinearOperator{kind}", made)


def _eye(num_rows: Any, batch_shape: Any, dtype: Any) -> Any:
    return in_v1(creation.eye)(num_rows, batch_shape=batch_shape, dtype=dtype or "float32")


def _scaled_eye(num_rows: Any, multiplier: Any) -> Any:
    multiplier = ops.convert(multiplier)
    eye = ops.eye(num_rows, dtype=as_dtype(dtype_of(multiplier)))
    return ops.multiply(ops.expand_dims(ops.expand_dims(multiplier, -1), -1), eye)


def _low_rank(base: LinearOperator, u: Any, diag: Any, v: Any) -> Any:
    left = u if diag is None else ops.multiply(u, ops.expand_dims(diag, -2))
    return ops.add(base._matrix, ops.matmul(left, ops.conj(ops.matrix_transpose(u if v is None else v))))


def _product(operators: Any) -> Any:
    first, *rest = (_dense(x) for x in operators)
    for x in rest:
        first = ops.matmul(first, x)
    return first


def _blocks(operators: Any) -> Any:
    """A matrix of rows of blocks; blocks that a row lacks are zeros."""
    rows = [[shaped(_dense(x)) for x in row] for row in operators]
    widths = [dims_of(row[-1])[-1] for row in rows]

    def whole(row: Any) -> Any:
        *batch, height, _ = dims_of(row[0])
        empty = [ops.zeros([*batch, height, width], row[0].dtype) for width in widths[len(row) :]]
        return ops.concatenate([*row, *empty], -1)

    return ops.concatenate([whole(row) for row in rows], -2)


def _diagonal_blocks(operators: Any) -> Any:
    blocks = [shaped(_dense(x)) for x in operators]
    heights = [[*dims_of(x)[:-1]] for x in blocks]
    empty = [[ops.zeros([*height, dims_of(x)[-1]], x.dtype) for x in blocks[:k]] for k, height in enumerate(heights)]
    return _blocks([[*row, x] for row, x in zip(empty, blocks, strict=True)])


def _kronecker(operators: Any) -> Any:
    first, *rest = (shaped(_dense(x)) for x in operators)
    for x in rest:
        *batch, rows, columns = dims_of(first)
        product = first[..., :, None, :, None] * x[..., None, :, None, :]
        first = ops.reshape(product, [*batch, rows * dims_of(x)[-2], columns * dims_of(x)[-1]])
    return first


def _householder(reflection_axis: Any) -> Any:
    axis = shaped(reflection_axis)
    column, row = ops.expand_dims(axis, -1), ops.expand_dims(axis, -2)
    size = ops.real(ops.sum(axis * conjugate(axis), -1)) if axis.dtype.is_complex else ops.sum(axis * axis, -1)
    size = ops.cast(ops.expand_dims(ops.expand_dims(size, -1), -1), axis.dtype)
    return ops.eye(dims_of(axis)[-1], dtype=axis.dtype) - 2 * column * conjugate(row) / size


def _toeplitz(col: Any, row: Any) -> Any:
    col, row = shaped(col), shaped(row)
    n = dims_of(col)[-1]
    numbers = ops.arange(0, n)
    return ops.gather(
        ops.concatenate([ops.flip(row[..., 1:], -1), col], -1), ops.expand_dims(numbers, 1) - numbers + n - 1, -1
    )


def _circulant(axes: int) -> Callable[..., Any]:
    """The matrix that multiplies the spectrum of the last axes, as one axis, by numbers."""

    def matrix(spectrum: Any, input_output_dtype: Any = "complex64") -> Any:
        values = shaped(spectrum)
        values = values if values.dtype.is_complex else ops.complex(values, ops.zeros_like(values))
        sequence = FUNCTIONS[f"IFFT{'' if axes == 1 else f'{axes}D'}"](values)
        batch, sizes = dims_of(sequence)[:-axes], dims_of(sequence)[-axes:]
        for k, size in enumerate(sizes):
            numbers = ops.arange(0, size)
            places = ops.mod(ops.expand_dims(numbers, 1) - numbers, size)
            sequence = ops.gather(
                sequence, places, len(batch) + 2 * k
            )  # each axis becomes one of rows and one of columns
        pairs = [len(batch) + 2 * k + side for side in (0, 1) for k in range(axes)]
        whole = ops.transpose(sequence, [*range(len(batch)), *pairs])
        count = math.prod(sizes)
        dtype = as_dtype(input_output_dtype)
        matrices = ops.reshape(whole, [*batch, count, count])
        return ops.cast(matrices if dtype.is_complex else ops.real(matrices), dtype)

    return matrix


def _zeros(num_rows: Any, num_columns: Any, batch_shape: Any, dtype: Any) -> Any:
    columns = num_rows if num_columns is None else num_columns
    return ops.zeros([*(batch_shape or []), num_rows, columns], as_dtype(dtype or "float32"))


def _permutation(perm: Any, dtype: Any) -> Any:
    perm = shaped(perm)
    return ops.one_hot(perm, dims_of(perm)[-1], dtype=as_dtype(dtype))


value("linalg.LinearOperator contrib.linalg.LinearOperator", LinearOperator)
_operator("FullMatrix", "matrix", ops.convert)
_operator("LowerTriangular", "tril", lambda tril: ops.band_part(tril, None, 0))
_operator("Diag", "diag", ops.matrix_diag)
_operator("Identity", "num_rows batch_shape=None dtype=None", _eye)
_operator("ScaledIdentity", "num_rows multiplier", _scaled_eye)
_operator("LowRankUpdate", "base_operator u diag_update=None v=None", _low_rank)
_operator("Composition", "operators", _product)
_operator("Adjoint", "operator", lambda operator: linalg.adjoint(_dense(operator)))
_operator("Inversion", "operator", lambda operator: ops.inv(_dense(operator)))
_operator("BlockDiag", "operators", _diagonal_blocks)
_operator("BlockLowerTriangular", "operators", _blocks)
_operator("Kronecker", "operators", _kronecker)
_operator("Householder", "reflection_axis", _householder)
_operator("Permutation", "perm dtype='float32'", _permutation)
_operator("Toeplitz", "col row", _toeplitz)
_operator("Tridiag", "diagonals diagonals_format='compact'", tridiagonal)
_operator("Zeros", "num_rows num_columns=None batch_shape=None dtype=None", _zeros)
for _axes, _suffix in enumerate(("", "2D", "3D"), 1):
    _operator(f"Circulant{_suffix}", "spectrum input_output_dtype='complex64'", _circulant(_axes))
