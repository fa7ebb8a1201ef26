"""TensorFlow's names of sparse tensors: those that K has."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.names.core import Kind
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.value_kinds import is_tensor


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
    dense = K.to_dense(sp_input)
    if default_value is None or (not is_tensor(default_value) and default_value == 0):
        return dense
    there = SparseTensor(sp_input.indices, ops.ones_like(sp_input.values), sp_input.dims)
    return ops.where(ops.equal(K.to_dense(there), 0), ops.cast(default_value, dense.dtype), dense)


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
    if adjoint_a:  # entries in row-major order, as K expects them
        dense = ops.conj(ops.matrix_transpose(K.to_dense(sp_a)))
        return ops.matmul(dense, ops.conj(ops.matrix_transpose(b)) if adjoint_b else b)
    return K.dot(sp_a, ops.conj(ops.matrix_transpose(b)) if adjoint_b else b)
