"""Sparse tensors: the elements that are not zero, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.table import k_error, k_function
from dovetail.backend.values import known_value
from dovetail.errors import op_error
from dovetail.ops.arguments import dtype_of
from dovetail.ops.infer import fits, normalize_axis
from dovetail.ops.op import Op
from dovetail.ops.shape import dims_of, shaped
from dovetail.ops.worlds import World, register_world

__all__ = ["SparseTensor", "is_sparse", "to_dense"]


class SparseTensor(NamedTuple):
    """A tensor of which only some elements are kept, all others being 0.  It does not change.

    Attributes:
        indices: where they stand, int64 of shape (how many, rank), in row-major order.
        values: the elements, (how many,).
        dense_shape: the shape of the whole, int64 of shape (rank,).

    Source: `tf.SparseTensor`.

    Example:
        >>> import scipy.sparse
        >>> s = K.variable(scipy.sparse.eye(2))
        >>> s.indices.numpy().tolist(), s.values.numpy().tolist(), s.shape
        ([[0, 0], [1, 1]], [1.0, 1.0], (2, 2))
    """

    indices: Any
    values: Any
    dense_shape: Any

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape of the whole, with None for dimensions that are not known."""
        known = known_value(self.dense_shape)
        if known is not None:
            return tuple(known.tolist())
        rank = self.indices.shape[1]
        return None if rank is None else (None,) * rank

    @property
    def dtype(self) -> Any:
        """That of the values."""
        return dtype_of(self.values)


@k_function
def is_sparse(tensor: Any) -> bool:
    """Whether a tensor is sparse: one of Dovetail's, or of TensorFlow's.

    Args:
        tensor: anything.

    Source: `tf.keras.backend.is_sparse`.

    Modern: `isinstance(x, tf.SparseTensor)`.

    Example:
        >>> import scipy.sparse
        >>> K.is_sparse(K.variable(scipy.sparse.eye(2))), K.is_sparse(K.eye(2))
        (True, False)
    """
    return hasattr(tensor, "dense_shape")


@k_function
def to_dense(tensor: Any) -> Any:
    """A sparse tensor with all its zeros; what is not sparse stays as it is.

    Args:
        tensor: a tensor, sparse or not.

    Returns:
        A tensor of the same shape and dtype.

    Source: `tf.keras.backend.to_dense`.

    Modern: `tf.sparse.to_dense(x)`.

    Example:
        >>> import scipy.sparse
        >>> K.to_dense(K.variable(scipy.sparse.eye(2))).numpy()
        array([[1., 0.],
               [0., 1.]])
    """
    if not K.is_sparse(tensor):
        return tensor
    return ops.scatter_nd(tensor.indices, tensor.values, _dims(tensor))


def _dims(tensor: Any) -> Any:
    """The shape for other ops: ints where it is known."""
    known = known_value(tensor.dense_shape)
    return tensor.dense_shape if known is None else known.tolist()


def from_scipy(matrix: Any) -> SparseTensor:
    """A matrix of SciPy's, in its own dtype; elements that are given for one place are added."""
    matrix = matrix.tocsr(copy=True)
    matrix.sum_duplicates()
    found = matrix.tocoo()
    indices = np.stack([found.row, found.col], 1).astype("int64")
    return SparseTensor(ops.convert(indices), ops.convert(found.data), ops.convert(np.array(found.shape, "int64")))


def sparse_dot(x: Any, y: Any) -> Any:
    """The product of a sparse matrix and a matrix.

    Raises:
        ValueError: one is no matrix, or the inner dimensions differ.
    """
    y = K.to_dense(y)
    inner, outer = K.int_shape(x), K.int_shape(y)
    if not len(inner) == len(outer) == 2 or not fits(inner[1:], outer[:1]):
        problem = f"a sparse matrix (n, k) is multiplied with a matrix (k, m), not the shape {inner} with {outer}."
        raise k_error(ValueError, "dot", problem)
    parts = ops.multiply(ops.expand_dims(x.values, 1), ops.gather(y, x.indices[:, 1]))
    return ops.scatter_nd(x.indices[:, :1], parts, [_dims(x)[0], dims_of(shaped(y))[1]])


def sparse_concatenate(tensors: Sequence[Any], axis: int) -> SparseTensor:
    """Sparse tensors joined along an axis, in row-major order.

    Raises:
        ValueError: there is no such axis, or the other dimensions differ.
    """
    shapes = [K.int_shape(t) for t in tensors]
    rank = len(shapes[0])
    try:
        axis = normalize_axis(axis, rank)
    except IndexError as error:
        raise k_error(ValueError, "concatenate", str(error)) from None
    others = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    if not all(fits(other, others[0]) for other in others):
        problem = f"the shapes must be equal except along axis {axis}, but they are {shapes}."
        raise k_error(ValueError, "concatenate", problem)
    along = [_dims(t)[axis] for t in tensors]
    starts = [sum(along[:i]) for i in range(len(along))]
    dims = [sum(along) if i == axis else dim for i, dim in enumerate([_dims(tensors[0])[i] for i in range(rank)])]
    moved = [t.indices + [start * (i == axis) for i in range(rank)] for t, start in zip(tensors, starts, strict=True)]
    indices = ops.concatenate(moved)
    place: Any = 0
    for i, dim in enumerate(dims):
        place = place * dim + indices[:, i]
    order = ops.argsort(place)
    values = ops.gather(ops.concatenate([t.values for t in tensors]), order)
    return SparseTensor(ops.gather(indices, order), values, ops.cast(dims, "int64"))


# -- in other ops -----------------------------------------------------------------------------------------------------

_TAKES: dict[str, Callable[..., Any]] = {
    "Shape": lambda x: ops.cast(x.dense_shape, "int32"),
    "Cast": lambda x, dtype: x._replace(values=ops.cast(x.values, dtype)),
}


def _apply(op: Op, values: list[Any], name: str | None) -> Any:
    if op.name not in _TAKES:
        raise op_error(ValueError, op.name, "a sparse tensor is none of its arguments; give K.to_dense of it.")
    return _TAKES[op.name](*values)


register_world(SparseTensor, World("sparse", 8, _apply))
