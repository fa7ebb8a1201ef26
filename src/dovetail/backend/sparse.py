"""Sparse tensors: the elements that are not zero, and their positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.values import known_value, own
from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.table import OPS
from dovetail.core.base.tensor_shape import TensorShape, shape_of
from dovetail.core.op import Op
from dovetail.core.tensor import Operators, Tensor
from dovetail.core.values.shapes import fits, normalize_axes, normalize_axis
from dovetail.core.values.value_kinds import ValueKind, dtype_of, is_recorded, register, seen
from dovetail.edit.graph import GraphTensor
from dovetail.graph.shape_values import ShapeValues
from dovetail.ops.shapes.shape import dims_of, shaped

__all__ = ["SparseTensor", "is_sparse", "to_dense"]


@dataclass(eq=False, init=False)
class SparseTensor:
    """A tensor that keeps only some elements; all others are 0.  Its parts stay as they are.

    It is a structure of tensors, so functions that take structures take it, such as `dovetail.function`.  Layers of
    Keras take it as one tensor.  `K.to_dense`, `K.dot`, `K.concatenate`, `K.gather`, `K.sum` and `K.cast` take it.  So
    do the functions of one tensor that keep 0: `K.abs`, `K.square`, `K.sign`, `K.sin`, `K.tanh`, `K.identity` and
    `K.stop_gradient`.  For numbers and tensors `y` that broadcast to its shape, `s * y` and `s / y` are sparse.

    Args:
        indices: the positions of the elements, int64 of shape (count, rank), in row-major order.
        values: the elements, (count,).
        dense_shape: the shape of the whole tensor: ints, or an integer tensor of shape (rank,).

    Attributes:
        indices, values, dense_shape: the arguments; the shape as an int64 tensor.
        dims: the dimensions of the whole tensor, ints or scalar tensors; of unknown rank, one tensor of them.

    Raises:
        ValueError: the parts do not fit each other.

    Source: `tf.SparseTensor`.

    Example:
        >>> s = K.SparseTensor([[0, 0], [1, 2]], [5., 6.], (2, 3))
        >>> K.to_dense(s).numpy()
        array([[5., 0., 0.],
               [0., 0., 6.]])
        >>> import scipy.sparse
        >>> s = K.variable(scipy.sparse.eye(2))
        >>> s.indices.numpy().tolist(), s.values.numpy().tolist(), s.shape
        ([[0, 0], [1, 1]], [1.0, 1.0], (2, 2))
    """

    indices: Any
    values: Any
    dims: Any

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        if isinstance(indices, (list, tuple)):
            indices = np.array(indices, "int64") if indices else np.zeros((0, len(dense_shape)), "int64")
        values = np.array(values) if isinstance(values, (list, tuple)) else values
        for name, part in (("indices", indices), ("values", values), ("dims", _as_dims(dense_shape))):
            object.__setattr__(self, name, part)
        if not self._fits():
            given = f"indices={describe(indices)}, values={describe(values)}, dense_shape={self.dims}"
            problem = (
                "it needs indices (how many, rank), values (how many,), and a dense_shape of as many ints as axes."
            )
            raise op_error(ValueError, "SparseTensor", problem, given)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a further attribute, as programs for Keras do on their tensors."""
        if name in self.__dataclass_fields__:
            raise op_error(AttributeError, "SparseTensor", f"its {name} cannot change; make another SparseTensor.")
        object.__setattr__(self, name, value)

    def _fits(self) -> bool:
        shapes = (getattr(seen(part), "shape", None) for part in (self.indices, self.values))
        indices, values = (None if getattr(shape, "rank", 0) is None else shape for shape in shapes)
        rank = len(self.dims) if isinstance(self.dims, tuple) else None
        return fits(indices, (None, rank)) and fits(values, (None if indices is None else indices[0],))

    @property
    def dense_shape(self) -> Any:
        if not isinstance(self.dims, tuple):
            return ops.cast(self.dims, "int64")
        known = all(isinstance(dim, int) for dim in self.dims)
        return ops.convert(np.array(self.dims, "int64")) if known else ops.cast(ops.stack(self.dims), "int64")

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole tensor, with None for dimensions that are not known."""
        return shape_of(map(_known_dim, self.dims) if isinstance(self.dims, tuple) else None)

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return dtype_of(self.values)

    @property
    def op(self) -> Any:
        """The operation that makes the values, in a graph."""
        return self.values.op

    @property
    def graph(self) -> Any:
        return self.values.graph

    @property
    def name(self) -> str:
        return self.values.name

    get_shape, set_shape, _keras_shape = Operators.get_shape, Operators.set_shape, Operators.__dict__["_keras_shape"]
    _shape_with, arrays_follow = Operators._shape_with, False
    eval = GraphTensor.eval
    __neg__, __abs__, __truediv__ = Operators.__neg__, Operators.__abs__, Operators.__truediv__
    __mul__, __rmul__ = Operators.__mul__, Operators.__rmul__
    __add__, __radd__ = Operators.__add__, Operators.__radd__  # these raise a helpful error

    def __matmul__(self, y: Any) -> Any:
        return K.dot(self, y)

    def with_values(self, new_values: Any) -> SparseTensor:
        """Another tensor with elements at the same places.

        Source: `tf.SparseTensor.with_values`.
        """
        return SparseTensor(self.indices, new_values, self.dims)


def _as_dims(dense_shape: Any) -> Any:
    """A shape as ints and scalar tensors; one of unknown length as it is."""
    if isinstance(dense_shape, (list, tuple)):
        return tuple(int(dim) if isinstance(dim, (np.integer, Tensor)) else dim for dim in dense_shape)
    known = known_value(dense_shape)
    if known is not None:
        return tuple(known.tolist())
    (rank,) = K.int_shape(dense_shape) or (None,)  # a placeholder's shape may be unknown
    return dense_shape if rank is None else tuple(dense_shape[i] for i in range(rank))


def _known_dim(dim: Any) -> int | None:
    if type(dim) is GraphTensor:
        known = ShapeValues().ints(dim)
        return None if known is None else known[0]
    return int(dim) if isinstance(dim, (int, np.integer, np.ndarray, Tensor)) else None  # a function may have given it


def as_sparse(tensor: Any) -> SparseTensor:
    """Convert a sparse tensor of another library to Dovetail's; Dovetail's own stay as they are."""
    if type(tensor) is SparseTensor:
        return tensor
    return SparseTensor(tensor.indices, tensor.values, tensor.dense_shape)


def values_of(tensor: Any) -> Any:
    """The elements of a sparse tensor; any other value unchanged."""
    return tensor.values if type(tensor) is SparseTensor else tensor


def is_sparse(tensor: Any) -> bool:
    """Whether a tensor is sparse, Dovetail's or TensorFlow's.

    Args:
        tensor: anything.

    Source: `tf.keras.backend.is_sparse`.

    Modern: `isinstance(x, tf.SparseTensor)`.

    Example:
        >>> import scipy.sparse
        >>> K.is_sparse(K.variable(scipy.sparse.eye(2))), K.is_sparse(K.eye(2))
        (True, False)
    """
    return hasattr(type(tensor), "dense_shape")


def to_dense(tensor: Any) -> Any:
    """A sparse tensor as a dense one; other values stay as they are.

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
        return own(tensor)
    s = as_sparse(tensor)
    return ops.scatter_nd(s.indices, s.values, s.dims)


def from_scipy(matrix: Any) -> SparseTensor:
    """Convert a SciPy matrix, in its own dtype; elements with equal positions are added up."""
    matrix = matrix.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    coordinates = matrix.tocoo()
    indices = np.stack([coordinates.row, coordinates.col], 1).astype("int64")
    return SparseTensor(ops.convert(indices), ops.convert(coordinates.data), coordinates.shape)


# -- in other functions -----------------------------------------------------------------------------------------------


def sparse_dot(x: Any, y: Any) -> Any:
    """The product of a sparse matrix and a matrix.

    Raises:
        ValueError: one is no matrix, or the inner dimensions differ.
    """
    x, y = as_sparse(x), K.to_dense(y)
    inner, outer = K.int_shape(x), K.int_shape(y)
    if not fits(inner, (None, None)) or not fits(outer, (inner[1], None)):
        raise ValueError(
            f"a sparse matrix (n, k) is multiplied with a matrix (k, m), not the shape {inner} with {outer}."
        )
    parts = ops.multiply(ops.expand_dims(x.values, 1), ops.gather(y, x.indices[:, 1]))
    return ops.scatter_nd(x.indices[:, :1], parts, [x.dims[0], dims_of(shaped(y))[1]])


def sparse_concatenate(tensors: Sequence[Any], axis: int) -> SparseTensor:
    """Sparse tensors joined along an axis, in row-major order.

    Raises:
        IndexError: there is no such axis.
        ValueError: the other dimensions differ.
    """
    tensors = list(map(as_sparse, tensors))
    shapes = [K.int_shape(t) for t in tensors]
    rank = len(shapes[0])
    axis = normalize_axis(axis, rank)
    others = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    if not all(fits(other, others[0]) for other in others):
        raise ValueError(f"the shapes must be equal except along axis {axis}, but they are {shapes}.")
    along = [t.dims[axis] for t in tensors]
    starts = [sum(along[:i]) for i in range(len(along))]
    dims = [sum(along) if i == axis else dim for i, dim in enumerate(tensors[0].dims)]
    moved = [t.indices + [start * (i == axis) for i in range(rank)] for t, start in zip(tensors, starts, strict=True)]
    indices = ops.concatenate(moved)
    place: Any = 0
    for i, dim in enumerate(dims):
        place = place * ops.cast(dim, "int64") + indices[:, i]
    order = ops.argsort(place)
    values = ops.gather(ops.concatenate([t.values for t in tensors]), order)
    return SparseTensor(ops.gather(indices, order), values, dims)


# -- in ops -----------------------------------------------------------------------------------------------------------


def _sum(x: SparseTensor, axis: Any, keepdims: bool) -> Any:
    axes = normalize_axes(axis, len(x.dims))
    rest = [i for i in range(len(x.dims)) if i not in axes]
    values = ops.cast(x.values, "int32") if x.dtype == "bool" else x.values
    if rest:
        total = ops.scatter_nd(ops.gather(x.indices, rest, axis=1), values, [x.dims[i] for i in rest])
    else:
        total = ops.sum(values)
    return ops.expand_dims(total, axes) if keepdims else total


def _gather(x: SparseTensor, positions: Any, axis: int) -> Any:
    """Dense slices along the first axis; the rest of the tensor stays sparse."""
    if axis != 0:
        raise op_error(
            ValueError, "GatherV2", "of a sparse tensor it takes slices of the first axis; give K.to_dense of it."
        )
    rows, *rest = x.dims
    positions = shaped(positions)
    wanted = ops.reshape(
        ops.gather(ops.arange(rows), positions), (-1,)
    )  # counted from the first; raises an error if one is out of range
    count = ops.shape(wanted)[0]
    place = ops.tensor_scatter_max(ops.full([rows], -1), ops.expand_dims(wanted, 1), ops.arange(count))
    target = ops.gather(place, x.indices[:, 0])
    is_wanted = ops.greater_equal(target, 0)
    into = ops.cast(ops.expand_dims(ops.where(is_wanted, target, count), 1), "int64")  # one more row, for the rest
    slices = ops.scatter_nd(ops.concatenate([into, x.indices[:, 1:]], 1), x.values, [count + 1, *rest])
    return ops.reshape(ops.gather(slices, ops.gather(place, wanted)), [*dims_of(positions), *rest])


def _scaled(op: Op) -> Callable[[Any, Any], SparseTensor]:
    """The function that multiplies or divides a sparse tensor by a dense one that broadcasts to its shape."""

    def apply(x: Any, y: Any) -> SparseTensor:
        if type(x) is not SparseTensor and op.name == "Mul":
            x, y = y, x
        if type(x) is not SparseTensor or type(y) is SparseTensor:
            raise _none_of_its_arguments(op)
        y = shaped(y)
        shape, whole = K.int_shape(y), x.shape
        if shape is None or not _reaches(shape, whole):
            problem = (
                f"the other side of a sparse tensor must broadcast to its shape {whole}, not have the shape {shape}."
            )
            raise op_error(ValueError, op.name, problem)
        first = len(whole) - len(shape)
        places = [
            x.indices[:, first + i] * (dim != 1 if isinstance(dim, int) else ops.cast(ops.not_equal(dim, 1), "int64"))
            for i, dim in enumerate(dims_of(y))
        ]
        return x.with_values(op(x.values, ops.gather_nd(y, ops.stack(places, 1)) if places else y))

    return apply


def _reaches(shape: Sequence[int | None], whole: Sequence[int | None]) -> bool:
    """Whether a shape broadcasts to another one."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(a in (1, None, b) or b is None for a, b in pairs)


def _of_elements(op: Op) -> Callable[..., SparseTensor]:
    """The function that applies an op to a sparse tensor's elements; the op gives 0 for 0."""
    return lambda x, *static: x.with_values(op(x.values, *static))


_KEEP_ZERO = ("Abs", "Cast", "Identity", "Neg", "Print", "Sign", "Sin", "Square", "StopGradient", "Tanh")
_TAKES: dict[str, Callable[..., Any]] = {
    **{name: _of_elements(OPS[name]) for name in _KEEP_ZERO},
    **{name: _scaled(OPS[name]) for name in ("Mul", "RealDiv")},
    "GatherV2": _gather,
    "Shape": lambda x: ops.cast(x.dense_shape, "int32"),
    "Sum": _sum,
}


def _none_of_its_arguments(op: Op) -> Exception:
    return op_error(ValueError, op.name, "it does not take sparse tensors; convert with K.to_dense first.")


class _Sparse(ValueKind):
    rank = 8
    is_sparse = True

    def is_recorded(self, value: Any) -> bool:
        return is_recorded(value.values)

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        if op.name not in _TAKES or not any(type(value) is SparseTensor for value in values[:2]):
            raise _none_of_its_arguments(op)
        return _TAKES[op.name](*values)


register(SparseTensor, _Sparse())
