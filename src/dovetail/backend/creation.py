"""New values: variables, constants, tensors filled with one number, and ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import logits, sparse
from dovetail.backend.checks import require_dimensions
from dovetail.backend.symbolic import in_default_graph
from dovetail.core.dtypes import as_dtype
from dovetail.core.kinds import TensorLike
from dovetail.core.values import host
from dovetail.core.values.creations import of_trace, once
from dovetail.core.values.value_kinds import is_tensor, kind_of, require_numbers
from dovetail.core.values.variable import Variable

__all__ = [
    "arange",
    "cast",
    "cast_to_floatx",
    "constant",
    "eye",
    "identity",
    "ones",
    "ones_like",
    "variable",
    "zeros",
    "zeros_like",
]


def variable(
    value: TensorLike, dtype: Any = None, name: str | None = None, constraint: Callable[[Any], Any] | None = None
) -> Any:
    """A variable with a first value.

    Args:
        value: the first value, of any shape: a number, nested lists, an array, a tensor or another variable; or a
            sparse matrix of SciPy.
        dtype: its type; `floatx` if not given, also for integers.
        name: its name in graphs and messages.
        constraint: a function that optimizers apply to the value after they change it; kept as an attribute.

    Returns:
        A Variable of the shape of `value`; for a sparse matrix an immutable `SparseTensor` of the matrix's dtype.

    Raises:
        TypeError: the value has no type that can be cast to `dtype`.
        ValueError: the value is a graph tensor, which has no value before its graph runs.

    Source: `tf.keras.backend.variable`.

    Differs: a tensor of another dtype is cast; tf.keras refuses it.
    The elements of a matrix of SciPy are put in row-major order, and those for one place added.

    Modern: `keras.Variable(value)`, `tf.Variable(value)`.

    Example:
        >>> v = variable([[1, 2], [3, 4]], name="v")
        >>> v.shape, v.dtype
        ((2, 2), 'float32')
    """
    _require_numbers(value)
    if hasattr(value, "tocoo"):
        return sparse.from_scipy(value)
    if kind_of(value).is_symbolic and not in_default_graph(value):
        raise ValueError(f"{value!r} has no value before its graph runs; give an array.")
    made = once(lambda: Variable(value, dtype or K.floatx(), name, constraint=constraint))
    made.symbolic = True
    return made


def constant(
    value: TensorLike, dtype: Any = None, shape: int | Sequence[Any] | None = None, name: str | None = None
) -> Any:
    """A tensor of known numbers.

    Args:
        value: a number, nested lists, or an array.
        dtype: the type of the result; `floatx` if not given, also for integers.
        shape: the shape of the result; `value` has as many elements, or one, which is repeated.
        name: accepted for old programs; a constant has no name before a graph uses it.

    Returns:
        A tensor.

    Raises:
        TypeError: the number of elements does not fit the shape.

    Source: `tf.keras.backend.constant`.

    Modern: `keras.ops.convert_to_tensor(value, dtype)`, `np.asarray(value, dtype)`.

    Example:
        >>> constant([1, 2, 3, 4], shape=(2, 2)).numpy()
        array([[1., 2.],
               [3., 4.]], dtype=float32)
        >>> constant(0.5, shape=(2,)).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    _require_numbers(value)
    tensor = ops.convert(value, dtype or K.floatx())
    if shape is None:
        return tensor
    require_dimensions(shape)
    count, wanted = ops.size(tensor), int(np.prod(host.host_array(shape), dtype=np.int64))
    if count not in (1, wanted):
        raise TypeError(
            f"a shape of {wanted} elements cannot be made of {count}; give {wanted}, or one, which is repeated."
        )
    return ops.reshape(tensor, shape) if count == wanted else ops.full(shape, ops.reshape(tensor, ()))


def _require_numbers(value: Any) -> None:
    if value is None or isinstance(value, str):
        kind = ValueError if value is None else TypeError
        raise kind(f"the value must be a number, numbers in lists, an array or a tensor, not {value!r}.")


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros.

    Args:
        shape: its shape; dimensions may be tensors.
        dtype: its type; `floatx` if not given.
        name: its name in graphs and messages.

    Returns:
        A Variable; a tensor while a function is traced, or if a dimension is 0 or known only when a program runs.

    Raises:
        TypeError: `dtype` is no dtype, or the shape has no integers.
        ValueError: a dimension is negative.

    Source: `tf.keras.backend.zeros`.

    Modern: `keras.ops.zeros(shape, dtype)`, `np.zeros(shape, dtype)`.

    Example:
        >>> zeros((2, 3)).numpy()
        array([[0., 0., 0.],
               [0., 0., 0.]], dtype=float32)
    """
    return _filled(shape, 0, dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones.

    Args:
        shape: its shape; dimensions may be tensors.
        dtype: its type; `floatx` if not given.
        name: its name in graphs and messages.

    Returns:
        A Variable; a tensor while a function is traced, or if a dimension is 0 or known only when a program runs.

    Raises:
        TypeError: `dtype` is no dtype, or the shape has no integers.
        ValueError: a dimension is negative.

    Source: `tf.keras.backend.ones`.

    Modern: `keras.ops.ones(shape, dtype)`, `np.ones(shape, dtype)`.

    Example:
        >>> ones((2,), dtype="int32").numpy()
        array([1, 1], dtype=int32)
    """
    return _filled(shape, 1, dtype, name)


def _filled(shape: Any, value: int, dtype: Any, name: str | None) -> Any:
    require_dimensions(shape)
    dtype = as_dtype(dtype or K.floatx())
    try:
        dims = tuple(map(index, [shape] if isinstance(shape, int) else shape))
    except TypeError:  # in a trace, a dimension may be known only when the program runs
        return ops.full(shape, value, dtype, name=name)
    if 0 in dims or of_trace() is not None:
        return ops.full(dims, value, dtype, name=name)
    return K.variable(np.full(dims, value, dtype.numpy), dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable that is an identity matrix.

    Args:
        size: the number of rows, and of columns.
        dtype: its type; `floatx` if not given.
        name: its name in graphs and messages.

    Returns:
        A Variable of shape (size, size); a tensor while a function is traced.

    Source: `tf.keras.backend.eye`.

    Modern: `keras.ops.eye(size)`, `np.eye(size)`.

    Example:
        >>> eye(2).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    dtype = as_dtype(dtype or K.floatx())
    if of_trace() is not None:
        return ops.eye(index(size), dtype=dtype)
    return K.variable(np.eye(index(size), dtype=dtype.numpy), dtype, name)


def zeros_like(x: TensorLike, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros in the shape of another tensor.

    Args:
        x: a tensor or variable of any shape and dtype.
        dtype: the type of the result; the type of `x` if not given.
        name: the name of the result in a graph.

    Returns:
        A tensor of the shape of `x`.

    Source: `tf.keras.backend.zeros_like`.

    Modern: `keras.ops.zeros_like(x)`, `np.zeros_like(x)`.

    Example:
        >>> zeros_like(constant([[1, 2]])).numpy()
        array([[0., 0.]], dtype=float32)
    """
    return ops.zeros_like(x, dtype, name=name)


def ones_like(x: TensorLike, dtype: Any = None, name: str | None = None) -> Any:
    """Ones in the shape of another tensor.

    Args:
        x: a tensor or variable of any shape and dtype.
        dtype: the type of the result; the type of `x` if not given.
        name: the name of the result in a graph.

    Returns:
        A tensor of the shape of `x`.

    Source: `tf.keras.backend.ones_like`.

    Modern: `keras.ops.ones_like(x)`, `np.ones_like(x)`.

    Example:
        >>> ones_like(constant([[1, 2]])).numpy()
        array([[1., 1.]], dtype=float32)
    """
    return ops.ones_like(x, dtype, name=name)


def arange(start: TensorLike, stop: TensorLike = None, step: TensorLike = 1, dtype: Any = "int32") -> Any:
    """Evenly spaced numbers `start + i * step`, up to `stop`, which is not included.

    Args:
        start: the first number; given alone it is `stop`, and the numbers begin at 0.  Like the others, it may be a
            scalar tensor.
        stop: the end.
        step: the distance; it may be negative, not 0.
        dtype: the type of the result; with "int32", float arguments still give floats.

    Returns:
        A tensor of rank 1.

    Raises:
        ValueError: the step is 0.

    Source: `tf.keras.backend.arange`.

    Differs: there are no numbers between a start and a stop that lies the other way, as in NumPy; tf.keras refuses
    that, except for a negative stop alone.

    Modern: `keras.ops.arange(start, stop, step)`, `np.arange(start, stop, step)`.

    Example:
        >>> arange(3).numpy(), arange(0, 2, 0.5).numpy()
        (array([0, 1, 2], dtype=int32), array([0. , 0.5, 1. , 1.5], dtype=float32))
    """
    if stop is None and isinstance(start, (int, float)) and start < 0:
        start = 0
    numbers = ops.arange(start, stop, step, dtype if as_dtype(dtype) == "float64" else None)
    return numbers if as_dtype(dtype) == "int32" else K.cast(numbers, dtype)


def cast(x: TensorLike, dtype: Any) -> Any:
    """The values in another dtype.

    Args:
        x: a tensor or variable of any shape and dtype.
        dtype: the name of a dtype, or a dtype of NumPy, TensorFlow, PyTorch or JAX.

    Returns:
        A tensor of the shape of `x`; `x` itself if it is a tensor of that dtype.

    Raises:
        TypeError: `dtype` is no dtype.

    Source: `tf.keras.backend.cast`.

    Modern: `keras.ops.cast(x, dtype)`, `np.asarray(x).astype(dtype)`.

    Example:
        >>> cast([1.7, -1.7], "int32").numpy()
        array([ 1, -1], dtype=int32)
    """
    return ops.cast(ops.convert(x) if type(x) is float else x, dtype)


def cast_to_floatx(x: TensorLike) -> Any:
    """The values in the default float type.

    Args:
        x: a tensor or variable, an array, or a value that converts to one.

    Returns:
        A tensor for a tensor or variable, a NumPy array for other values.

    Source: `tf.keras.backend.cast_to_floatx`.

    Modern: `keras.ops.cast(x, keras.config.floatx())`.

    Example:
        >>> cast_to_floatx(np.array([1, 2]))
        array([1., 2.], dtype=float32)
    """
    if not is_tensor(x):
        if isinstance(x, str):
            raise ValueError(f"text is not read as a number: {x!r}.")
        require_numbers(x)
        return host.from_host(lambda v, dtype: np.asarray(v, dtype.numpy), x, as_dtype(K.floatx()))
    return K.cast(x, K.floatx())


def identity(x: TensorLike, name: str | None = None) -> Any:
    """A tensor with the same contents.

    Args:
        x: a tensor or variable.
        name: the name of the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Source: `keras.backend.identity` of Keras 2.3.

    Modern: `keras.ops.copy(x)`, `tf.identity(x)`.

    Example:
        >>> identity(variable([1, 2])).numpy()
        array([1., 2.], dtype=float32)
    """
    output = ops.identity(x, name=name)
    logits.pass_on(x, output)
    return output
