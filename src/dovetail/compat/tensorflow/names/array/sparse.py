"""TensorFlow's names for the sparse tensors of K."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import feeding
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import Kind, convert_to_tensor
from dovetail.compat.tensorflow.names.graph.graph import placeholder
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.strings.moved import by_numbers
from dovetail.compat.tensorflow.names.strings.tensors import in_graph
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text
from dovetail.compat.tensorflow.table import constant_value, function, in_v1, of_rank
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import given_shape
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor
from dovetail.execute.feeds import flat_feeds

_dense = of_type("SparseToDense")


class TFSparseTensor(metaclass=Kind):
    """A tensor that stores only its nonzero elements.

    Source: `tf.sparse.SparseTensor`.
    """

    kinds = (SparseTensor,)

    @staticmethod
    def from_value(sparse_tensor_value: Any) -> Any:
        """The sparse tensor with the arrays of a `SparseTensorValue`; a sparse tensor stays."""
        given = _with_tensors(sparse_tensor_value)
        if not isinstance(given, SparseTensor):
            raise op_error(TypeError, "tf.SparseTensor.from_value", "it needs a tf.SparseTensorValue.", repr(given))
        return given

    def __new__(cls, indices: Any, values: Any, dense_shape: Any) -> Any:
        elements = in_graph(values) if is_text(values) else of_rank(ops.convert(values), 1)
        return SparseTensor(of_rank(ops.cast(ops.convert(indices), "int64"), 2), elements, dense_shape)


class SparseTensorValue(NamedTuple):
    """The parts of a sparse tensor as arrays, as sessions take them in feeds and return them.

    Source: `tf.compat.v1.SparseTensorValue`.
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensorSpec:
    """The shape and the dtype of sparse tensors.

    Source: `tf.SparseTensorSpec`.

    Example:
        >>> spec = SparseTensorSpec((2, None), "float32")
        >>> spec.shape, spec.dtype, spec.is_compatible_with(K.SparseTensor([[0, 1]], np.float32([1.0]), (2, 3)))
        ((2, None), 'float32', True)
    """

    def __init__(self, shape: Any = None, dtype: Any = "float32") -> None:
        self.shape, self.dtype = given_shape(shape), as_dtype(dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a sparse tensor, or another spec, may have this shape, and has this dtype."""
        if not isinstance(spec_or_value, (SparseTensor, SparseTensorSpec)):
            return False
        return spec_or_value.dtype == self.dtype and self.shape.is_compatible_with(spec_or_value.shape)

    def __eq__(self, other: object) -> bool:
        is_spec = isinstance(other, SparseTensorSpec)
        return is_spec and (self.shape, self.dtype) == (other.shape, other.dtype)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape}, {self.dtype!r})"


value("SparseTensor sparse.SparseTensor", TFSparseTensor)
value("SparseTensorSpec", SparseTensorSpec)
value("SparseTensorValue", SparseTensorValue)


@function("sparse_placeholder sparse.placeholder", "v1")
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A placeholder for a sparse tensor; without a shape, for a matrix of any size, or for strings with any axes.

    Source: `tf.compat.v1.sparse_placeholder`.
    """
    if is_text(None, dtype):
        rank = None if shape is None else len(shape)
        with graph_mode.open_graph().name_scope(name or "SparsePlaceholder"):
            values = placeholder(STRING, [None], "values")
            indices, extent = placeholder("int64", [None, rank], "indices"), placeholder("int64", [rank], "shape")
            return SparseTensor(indices, values, extent)
    known = constant_value(shape) if is_tensor(shape) else shape
    dims = (None, None) if known is None else tuple(known)
    return feeding.sparse_placeholder(graph_mode.open_graph(), dims, dtype, name)


def fed_parts(feeds: Any) -> dict[Any, Any]:
    """The feeds, with the parts of sparse placeholders instead of the placeholders."""
    flat: dict[Any, Any] = {}
    for key, given in flat_feeds(feeds).items():
        if isinstance(key, SparseTensor):
            if is_text(key.values):
                flat |= zip((key.indices, key.values, key.dims), given, strict=True)
                continue
            if type(given) in (tuple, SparseTensorValue):
                indices, values, shape = map(np.asarray, given)
                given = SparseTensor(indices, values, shape.tolist())
            flat |= zip(feeding.sources(key), feeding.given(key, given), strict=True)
        else:
            flat[key] = given
    return flat


class SparseFetch:
    """A sparse tensor among the fetches of a run.

    Attributes:
        tensors: its parts that a run computes.
    """

    def __init__(self, tensor: SparseTensor) -> None:
        self._dims = tensor.dims
        sizes = tensor.dims if isinstance(tensor.dims, tuple) else [tensor.dims]
        self.tensors = [tensor.indices, tensor.values, *filter(is_tensor, sizes)]

    def written(self, found: list[Any]) -> SparseTensorValue:
        """The parts as arrays."""
        indices, values, *others = found
        if not isinstance(self._dims, tuple):
            return SparseTensorValue(indices, values, others[0].astype("int64"))
        left = iter(others)
        dims = [next(left) if is_tensor(dim) else dim for dim in self._dims]
        return SparseTensorValue(indices, values, np.array(dims, "int64"))


def takes_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of sparse tensors take `SparseTensorValue`, too, alone or in a list.

    Source: `tensorflow.python.ops.sparse_ops._convert_to_sparse_tensor`.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_with_tensors, args), **{key: _with_tensors(given) for key, given in kwargs.items()})

    return call


def _with_tensors(given: Any) -> Any:
    if isinstance(given, SparseTensorValue):
        indices, values, shape = map(np.asarray, given)
        return TFSparseTensor(indices, values, shape.tolist())
    return [_with_tensors(each) for each in given] if type(given) in (list, tuple) else given


@function("sparse.to_dense sparse_tensor_to_dense", scope=True)
@takes_values
def to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None) -> Any:
    """A sparse tensor with its zeros.

    Source: `tf.sparse.to_dense`.
    """
    dense = K.to_dense(sp_input)
    if default_value is None or (not is_tensor(default_value) and default_value == 0):
        return dense
    there = SparseTensor(sp_input.indices, ops.ones_like(sp_input.values), sp_input.dims)
    return ops.where(ops.equal(K.to_dense(there), 0), ops.cast(default_value, dense.dtype), dense)


@function("sparse_to_dense", "v1", scope=True, around=by_numbers("sparse_values default_value"))
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """A tensor with some values at places, and one value at all others.

    Args:
        sparse_indices: the places: (values, axes); or (values,), or one number, for a tensor with one axis.
        output_shape: the shape of the result.
        sparse_values: a value for each place, or one for all.

    Source: `tf.compat.v1.sparse_to_dense`.
    """
    places, values = ops.convert(sparse_indices), ops.convert(sparse_values)
    return _dense(places, output_shape, values, ops.cast(default_value, values.dtype))


@function("sparse.from_dense", scope=True)
def from_dense(tensor: Any, name: str | None = None) -> Any:
    """A tensor without its zeros.

    Source: `tf.sparse.from_dense`.
    """
    tensor = ops.convert(tensor)
    places = ops.positions(tensor)
    return SparseTensor(ops.cast(places, "int64"), ops.gather_nd(tensor, places), tensor.shape)


@function("sparse.sparse_dense_matmul sparse_tensor_dense_matmul", scope=True)
@takes_values
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


@function("convert_to_tensor_or_sparse_tensor contrib.framework.convert_to_tensor_or_sparse_tensor", "v1")
def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A value as a tensor; a sparse tensor stays one.

    Raises:
        RuntimeError: a sparse tensor has another dtype.

    Source: `tf.compat.v1.convert_to_tensor_or_sparse_tensor`.
    """
    given = _with_tensors(value)
    if not isinstance(given, SparseTensor):
        return in_v1(convert_to_tensor)(value, dtype, name=name)
    if dtype is not None and as_dtype(dtype) != given.dtype:
        problem = f"its values are {given.dtype}, not {dtype}: convert them by tf.cast."
        raise op_error(RuntimeError, "tf.convert_to_tensor_or_sparse_tensor", problem)
    return given
