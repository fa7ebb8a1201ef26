"""Shapes: a tensor's shape, size and dtype, and the same elements in another shape or order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.checks import require_dimensions
from dovetail.backend.values import own
from dovetail.core.dtypes import promote
from dovetail.core.kinds import TensorLike
from dovetail.core.values.value_kinds import dtype_of, static_shape
from dovetail.ops.shapes.shape import dims_of, shaped

__all__ = [
    "batch_flatten",
    "count_params",
    "dtype",
    "expand_dims",
    "flatten",
    "int_shape",
    "ndim",
    "pattern_broadcast",
    "permute_dimensions",
    "reshape",
    "reverse",
    "shape",
    "size",
    "squeeze",
    "transpose",
]


# -- shape, size and dtype --------------------------------------------------------------------------------------------


def shape(x: TensorLike) -> Any:
    """The shape as a tensor, even if a dimension is known only when a program runs.

    Args:
        x: a tensor or variable.

    Returns:
        An int32 tensor of shape (rank,); for JAX's own arrays a NumPy array, since an array that `jax.jit` traces could
        not be a shape.

    Source: `tf.keras.backend.shape`.

    Modern: `keras.ops.shape(x)`, `tf.shape(x)`.

    Example:
        >>> K.shape(K.ones((2, 3))).numpy()
        array([2, 3], dtype=int32)
    """
    return ops.shape(x)


def int_shape(x: TensorLike) -> Any:
    """The shape as far as it is known.

    Args:
        x: a tensor or variable, or a value that converts to one.

    Returns:
        A tuple of ints, with None for dimensions known only when a program runs; None if even the rank is not known.

    Source: `tf.keras.backend.int_shape`.

    Modern: `x.shape`.

    Example:
        >>> K.int_shape(K.ones((2, 3)))
        (2, 3)
    """
    known = static_shape(x)
    return None if known is None else tuple(known)


def ndim(x: TensorLike) -> Any:
    """The number of axes.

    Args:
        x: a tensor or variable, or a value that converts to one.

    Returns:
        An int; None if it is not known.

    Source: `tf.keras.backend.ndim`.

    Modern: `len(x.shape)`.

    Example:
        >>> K.ndim(K.ones((2, 3)))
        2
    """
    known = K.int_shape(x)
    return None if known is None else len(known)


def dtype(x: TensorLike) -> str:
    """The type of the elements, as a string.

    Args:
        x: a tensor or variable, or a value that converts to one.

    Source: `tf.keras.backend.dtype`.

    Modern: `keras.backend.standardize_dtype(x.dtype)`.

    Example:
        >>> K.dtype(K.ones((2, 3)))
        'float32'
    """
    return str(promote([dtype_of(x)]))


def count_params(x: TensorLike) -> Any:
    """The number of elements, as far as it is known.

    Args:
        x: a tensor or variable.

    Returns:
        An int.

    Raises:
        TypeError: a dimension is known only when a program runs.

    Source: `tf.keras.backend.count_params`.

    Differs: for a scalar, 1 is an int, not 1.0.

    Modern: `math.prod(x.shape)`.

    Example:
        >>> K.count_params(K.ones((2, 3)))
        6
    """
    known = K.int_shape(x)
    if known is None or None in known:
        raise TypeError(f"the shape {known} has dimensions that are not known; use K.size.")
    return int(np.prod(known, dtype=np.int64))


def size(x: TensorLike, name: str | None = None) -> Any:
    """The number of elements, as a tensor.

    Args:
        x: a tensor or variable.
        name: the name of the result in a graph.

    Returns:
        An int32 tensor of rank 0.

    Source: `keras.backend.size` of Keras 2.3.

    Modern: `keras.ops.size(x)`, `tf.size(x)`.

    Example:
        >>> K.size(K.ones((2, 3))).numpy()
        array(6, dtype=int32)
    """
    return ops.prod(ops.shape(x), name=name)


# -- another shape ----------------------------------------------------------------------------------------------------


def reshape(x: TensorLike, shape: Any) -> Any:
    """The same elements, in row-major order, in another shape.

    Args:
        x: any tensor.
        shape: the new shape: a tensor, or a sequence of numbers and scalar tensors; one may be -1.  An array may be of
            whole floats.

    Returns:
        A tensor of the new shape and the dtype of `x`.

    Raises:
        ValueError: the numbers of elements differ.

    Source: `tf.keras.backend.reshape`.

    Modern: `keras.ops.reshape(x, shape)`, `np.reshape(x, shape)`.

    Example:
        >>> K.reshape([1, 2, 3, 4], (2, -1)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    if isinstance(shape, np.ndarray) and not (shape % 1).any():
        shape = shape.astype(int)
    require_dimensions(shape)
    return ops.reshape(x, shape)


def flatten(x: TensorLike) -> Any:
    """All elements along one axis, in row-major order.

    Args:
        x: any tensor.

    Returns:
        A tensor of rank 1 and the dtype of `x`.

    Source: `tf.keras.backend.flatten`.

    Modern: `keras.ops.ravel(x)`, `np.ravel(x)`.

    Example:
        >>> K.flatten([[1, 2], [3, 4]]).numpy()
        array([1, 2, 3, 4], dtype=int32)
    """
    return ops.reshape(x, (-1,))


def batch_flatten(x: TensorLike) -> Any:
    """The elements of each sample along one axis: all axes but the first become one.

    Args:
        x: a tensor of shape (batch, …).

    Returns:
        A tensor of shape (batch, elements of a sample) and the dtype of `x`.

    Source: `tf.keras.backend.batch_flatten`.

    Differs: there are as many samples as before where they have no elements; tf.keras finds another number.

    Modern: `keras.ops.reshape(x, (x.shape[0], -1))`.

    Example:
        >>> K.batch_flatten(K.ones((2, 3, 4))).shape
        (2, 12)
    """
    rows, *others = dims_of(shaped(x)) or [1]
    return ops.reshape(x, (rows, math.prod(others)))


def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """A new axis of size 1.

    Args:
        x: any tensor.
        axis: the position of the new axis in the result.

    Returns:
        A tensor of one more axis and the dtype of `x`.

    Raises:
        ValueError: the result has no such axis.

    Source: `tf.keras.backend.expand_dims`.

    Modern: `keras.ops.expand_dims(x, axis)`, `np.expand_dims(x, axis)`.

    Example:
        >>> K.expand_dims([1, 2], 0).numpy()
        array([[1, 2]], dtype=int32)
    """
    return ops.expand_dims(x, axis)


def squeeze(x: TensorLike, axis: int) -> Any:
    """The tensor without an axis of size 1.

    Args:
        x: any tensor.
        axis: the axis to remove.

    Returns:
        A tensor of one axis less and the dtype of `x`.

    Raises:
        ValueError: there is no such axis, or its size is not 1.

    Source: `tf.keras.backend.squeeze`.

    Modern: `keras.ops.squeeze(x, axis)`, `np.squeeze(x, axis)`.

    Example:
        >>> K.squeeze([[1, 2]], 0).numpy()
        array([1, 2], dtype=int32)
    """
    return ops.squeeze(x, axis)


def pattern_broadcast(x: TensorLike, broadcastable: Any) -> Any:
    """The tensor itself, after a check that the axes that should broadcast have the size 1.

    Args:
        x: any tensor.
        broadcastable: a bool for each axis.

    Returns:
        `x`.

    Raises:
        ValueError: there are more or fewer axes, or one that should broadcast has another size.

    Source: `keras.backend.pattern_broadcast` of Keras 2.3 on Theano; other backends need no declaration.

    Modern: none is needed; axes of size 1 broadcast.

    Example:
        >>> K.pattern_broadcast(K.ones((2, 1)), (False, True)).shape
        (2, 1)
    """
    known = K.int_shape(x)
    if known is not None:
        if len(known) != len(broadcastable):
            raise ValueError(f"there must be a bool for each of the {len(known)} axes, not {len(broadcastable)}.")
        wrong = [
            i
            for i, (dim, is_one) in enumerate(zip(known, broadcastable, strict=True))
            if is_one and dim not in (1, None)
        ]
        if wrong:
            raise ValueError(f"axis {wrong[0]} should broadcast, so its size must be 1, but it is {known[wrong[0]]}.")
    return own(x)


# -- another order ----------------------------------------------------------------------------------------------------


def permute_dimensions(x: TensorLike, pattern: Any) -> Any:
    """The axes in another order.

    Args:
        x: any tensor.
        pattern: for each axis of the result, its axis in `x`.

    Returns:
        A tensor of the same rank and dtype.

    Raises:
        ValueError: the pattern does not name each axis once.

    Source: `tf.keras.backend.permute_dimensions`.

    Modern: `keras.ops.transpose(x, pattern)`, `np.transpose(x, pattern)`.

    Example:
        >>> K.permute_dimensions(K.ones((2, 3, 4)), (0, 2, 1)).shape
        (2, 4, 3)
    """
    return ops.transpose(x, pattern)


def transpose(x: TensorLike) -> Any:
    """The axes in the reverse order.

    Args:
        x: any tensor.

    Returns:
        A tensor of the same rank and dtype.

    Source: `tf.keras.backend.transpose`.

    Modern: `keras.ops.transpose(x)`, `np.transpose(x)`.

    Example:
        >>> K.transpose([[1, 2, 3]]).shape
        (3, 1)
    """
    return ops.transpose(x)


def reverse(x: TensorLike, axes: Any) -> Any:
    """The elements along some axes in the reverse order.

    Args:
        x: any tensor.
        axes: an axis, or several.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: there is no such axis, or one is named twice.

    Source: `tf.keras.backend.reverse`.

    Modern: `keras.ops.flip(x, axes)`, `np.flip(x, axes)`.

    Example:
        >>> K.reverse([[1, 2], [3, 4]], 0).numpy()
        array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return ops.flip(x, axes)
