"""TensorFlow's names of sparse tensors: those that K has."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names.core import Kind
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.errors import op_error


class TFSparseTensor(metaclass=Kind):
    """A tensor of which only what is not zero is held.

    Source: `tf.sparse.SparseTensor`.
    """

    kinds = (SparseTensor,)

    def __new__(cls, indices: Any, values: Any, dense_shape: Any) -> Any:
        return SparseTensor(ops.cast(ops.convert(indices), "int64"), ops.convert(values), dense_shape)


value("SparseTensor sparse.SparseTensor", TFSparseTensor)


@function("sparse.to_dense sparse_tensor_to_dense", scope=True)
def to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None) -> Any:
    """A sparse tensor with its zeros.

    Source: `tf.sparse.to_dense`.
    """
    if default_value not in (None, 0):
        raise op_error(NotImplementedError, "tf.sparse.to_dense", "what is not there is 0; use tf.where for another.")
    return K.to_dense(sp_input)


@function("sparse.from_dense", scope=True)
def from_dense(tensor: Any, name: str | None = None) -> Any:
    """A tensor without its zeros.

    Source: `tf.sparse.from_dense`.
    """
    tensor = ops.convert(tensor)
    places = ops.positions(tensor)
    return SparseTensor(ops.cast(places, "int64"), ops.gather_nd(tensor, places), tensor.shape)


@function("sparse.sparse_dense_matmul sparse_tensor_dense_matmul", scope=True)
def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """The product of a sparse matrix and a dense one.

    Source: `tf.sparse.sparse_dense_matmul`.
    """
    if adjoint_a:
        problem = "adjoint_a is not offered: transpose the matrix before."
        raise op_error(NotImplementedError, "tf.sparse.sparse_dense_matmul", problem)
    return K.dot(sp_a, ops.conj(ops.matrix_transpose(b)) if adjoint_b else b)
