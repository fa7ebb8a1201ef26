"""TensorFlow's names of matrices in compressed rows, which are sparse tensors here."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.sparse import from_dense, sparse_dense_matmul
from dovetail.compat.tensorflow.table import function

_PRIVATE = "python.ops.linalg.sparse.sparse"


class CSRSparseMatrix:
    """A sparse matrix, or a batch of them.

    Args:
        value: a sparse tensor, or a dense one.
        indices: the places of the elements that are kept of a dense one; by default, of those that are not 0.

    Attributes:
        dtype, shape: of the whole matrix.

    Source: `tensorflow.python.ops.linalg.sparse.sparse.CSRSparseMatrix`.
    """

    def __init__(self, value: Any, indices: Any = None, name: str | None = None) -> None:
        if not K.is_sparse(value):
            dense = ops.convert(value)
            kept = None if indices is None else SparseTensor(indices, ops.gather_nd(dense, indices), dense.shape)
            value = from_dense(dense) if kept is None else kept
        self._sparse = value
        self.dtype, self.shape = value.dtype, value.shape

    def to_sparse_tensor(self) -> Any:
        """The sparse tensor."""
        return self._sparse

    def to_dense(self) -> Any:
        """The matrix with its zeros."""
        return K.to_dense(self._sparse)

    def get_shape(self) -> Any:
        """The shape."""
        return self.shape


@function(f"{_PRIVATE}.matmul")
def csr_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Any:
    """The product of matrices, of which at least one is sparse; it is sparse if both are.

    Source: `tensorflow.python.ops.linalg.sparse.sparse.matmul`.
    """
    turned_a, turned_b = transpose_a or adjoint_a, transpose_b or adjoint_b
    is_sparse = isinstance(a, CSRSparseMatrix), isinstance(b, CSRSparseMatrix)
    if is_sparse == (True, False) and not (turned_a or turned_b) and len(a.shape) == 2:
        return sparse_dense_matmul(a.to_sparse_tensor(), b)
    dense = [
        _turned(x.to_dense() if isinstance(x, CSRSparseMatrix) else ops.convert(x), turns, is_adjoint)
        for x, turns, is_adjoint in ((a, turned_a, adjoint_a), (b, turned_b, adjoint_b))
    ]
    product = ops.matmul(*dense)
    return CSRSparseMatrix(product) if all(is_sparse) else product


def _turned(x: Any, turns: bool, is_adjoint: bool) -> Any:
    turned = ops.matrix_transpose(x) if turns else x
    return ops.conj(turned) if is_adjoint else turned


value(f"{_PRIVATE}.CSRSparseMatrix", CSRSparseMatrix)
