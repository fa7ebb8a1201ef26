"""Comparisons, element by element.

Sections that the docstrings of its functions leave out:

Args:
    x, y: tensors whose shapes broadcast.

Returns:
    A bool tensor of the broadcast shape.

Raises:
    ValueError: the shapes do not broadcast.

Source: `tf.keras.backend.{name}`.

Differs: tensors of two dtypes are promoted; tf.keras refuses them.

Modern: `keras.ops.{name}(x, y)`, `np.{name}(x, y)`.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]


def equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x == y`, elementwise; NaN equals nothing.

    Example:
        >>> equal([1, 3], 3).numpy()
        array([False,  True])
    """
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x != y`, elementwise; true for NaN.

    Example:
        >>> not_equal([1, 3], 3).numpy()
        array([ True, False])
    """
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x > y`, elementwise; false for NaN.

    Example:
        >>> greater([1, 3], 2).numpy()
        array([False,  True])
    """
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x >= y`, elementwise; false for NaN.

    Example:
        >>> greater_equal([1, 3], 3).numpy()
        array([False,  True])
    """
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x < y`, elementwise; false for NaN.

    Example:
        >>> less([1, 3], 2).numpy()
        array([ True, False])
    """
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """Whether `x <= y`, elementwise; false for NaN.

    Example:
        >>> less_equal([1, 3], 1).numpy()
        array([ True, False])
    """
    return ops.less_equal(x, y)
