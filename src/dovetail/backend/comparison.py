"""Comparisons, element by element."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]


def equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x == y`, elementwise; NaN equals nothing.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.equal`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.equal(x, y)`, `np.equal(x, y)`.

    Example:
        >>> equal([1, 3], 3).numpy()
        array([False,  True])
    """
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x != y`, elementwise; true for NaN.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.not_equal`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.not_equal(x, y)`, `np.not_equal(x, y)`.

    Example:
        >>> not_equal([1, 3], 3).numpy()
        array([ True, False])
    """
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x > y`, elementwise; false for NaN.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.greater`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.greater(x, y)`, `np.greater(x, y)`.

    Example:
        >>> greater([1, 3], 2).numpy()
        array([False,  True])
    """
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x >= y`, elementwise; false for NaN.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.greater_equal`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.greater_equal(x, y)`, `np.greater_equal(x, y)`.

    Example:
        >>> greater_equal([1, 3], 3).numpy()
        array([False,  True])
    """
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x < y`, elementwise; false for NaN.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.less`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.less(x, y)`, `np.less(x, y)`.

    Example:
        >>> less([1, 3], 2).numpy()
        array([ True, False])
    """
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x <= y`, elementwise; false for NaN.

    Args:
        x, y: tensors whose shapes broadcast.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Source: `tf.keras.backend.less_equal`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.less_equal(x, y)`, `np.less_equal(x, y)`.

    Example:
        >>> less_equal([1, 3], 1).numpy()
        array([ True, False])
    """
    return ops.less_equal(x, y)
