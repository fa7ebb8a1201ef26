"""Shapes: what is known of them, and tensors in another shape or order, joined, repeated or picked from."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.table import k_error, k_function
from dovetail.dtypes import promote
from dovetail.engines import owner_of_type
from dovetail.ops import arguments
from dovetail.ops.kinds import TensorLike
from dovetail.ops.worlds import NATIVE, world_of

__all__ = [
    "count_params",
    "dtype",
    "int_shape",
    "ndim",
    "shape",
    "size",
]


# -- what is known ----------------------------------------------------------------------------------------------------


@k_function
def shape(x: TensorLike) -> Any:
    """The shape as a tensor, also where a dimension is known only when a program runs.

    Args:
        x: a tensor or variable.

    Returns:
        An int32 tensor of shape (rank,).

    Source: `tf.keras.backend.shape`.

    Modern: `keras.ops.shape(x)`, `tf.shape(x)`.

    Example:
        >>> K.shape(K.ones((2, 3))).numpy()
        array([2, 3], dtype=int32)
    """
    return ops.shape(x)


@k_function
def int_shape(x: TensorLike) -> Any:
    """The shape as far as it is known.

    Args:
        x: a tensor or variable, or what makes one.

    Returns:
        A tuple of ints, with None for dimensions known only when a program runs; None if even the rank is not known.

    Source: `tf.keras.backend.int_shape`.

    Modern: `x.shape`.

    Example:
        >>> K.int_shape(K.ones((2, 3)))
        (2, 3)
    """
    if world_of(x) is NATIVE:
        return owner_of_type(type(x)).shape(x)
    known = x.shape if hasattr(x, "shape") else np.shape(x)
    return None if known is None else tuple(known)


@k_function
def ndim(x: TensorLike) -> Any:
    """The number of axes.

    Args:
        x: a tensor or variable, or what makes one.

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


@k_function
def dtype(x: TensorLike) -> str:
    """The type of the elements, as a string.

    Args:
        x: a tensor or variable, or what makes one.

    Source: `tf.keras.backend.dtype`.

    Modern: `keras.backend.standardize_dtype(x.dtype)`.

    Example:
        >>> K.dtype(K.ones((2, 3)))
        'float32'
    """
    return str(promote([arguments.dtype_of(x)]))


@k_function
def count_params(x: TensorLike) -> Any:
    """The number of elements, as far as it is known.

    Args:
        x: a tensor or variable.

    Returns:
        An int.

    Raises:
        TypeError: a dimension is known only when a program runs.

    Source: `tf.keras.backend.count_params`.

    Modern: `math.prod(x.shape)`.

    Example:
        >>> K.count_params(K.ones((2, 3)))
        6
    """
    known = K.int_shape(x)
    if known is None or None in known:
        raise k_error(TypeError, "count_params", f"the shape {known} has dimensions that are not known; use K.size.")
    return int(np.prod(known, dtype=np.int64))


@k_function
def size(x: TensorLike, name: str | None = None) -> Any:
    """The number of elements, as a tensor.

    Args:
        x: a tensor or variable.
        name: how a graph calls the result.

    Returns:
        An int32 tensor of rank 0.

    Source: `keras.backend.size` of Keras 2.3.

    Modern: `keras.ops.size(x)`, `tf.size(x)`.

    Example:
        >>> K.size(K.ones((2, 3))).numpy()
        array(6, dtype=int32)
    """
    return ops.prod(ops.shape(x), name=name)
