"""Python's operators by name; no Keras had these functions, but programs call them.

Sections that the docstrings of its functions leave out:

Args:
    x, y: numbers whose shapes broadcast; promoted to a common dtype.

Raises:
    ValueError: the shapes do not broadcast.

Source: `keras.ops.{name}`.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = ["add", "divide", "multiply", "subtract"]


def add(x: TensorLike, y: TensorLike) -> Any:
    """The sum, elementwise; `x + y`.

    Modern: `keras.ops.add(x, y)`, `x + y`.

    Example:
        >>> add([1., 2.], 3.).numpy()
        array([4., 5.], dtype=float32)
    """
    return ops.add(x, y)


def subtract(x: TensorLike, y: TensorLike) -> Any:
    """The difference, elementwise; `x - y`.

    Modern: `keras.ops.subtract(x, y)`, `x - y`.

    Example:
        >>> subtract([1., 2.], 3.).numpy()
        array([-2., -1.], dtype=float32)
    """
    return ops.subtract(x, y)


def multiply(x: TensorLike, y: TensorLike) -> Any:
    """The product, elementwise; `x * y`.  `K.dot` multiplies matrices.

    Modern: `keras.ops.multiply(x, y)`, `x * y`.

    Example:
        >>> multiply([1., 2.], 3.).numpy()
        array([3., 6.], dtype=float32)
    """
    return ops.multiply(x, y)


def divide(x: TensorLike, y: TensorLike) -> Any:
    """The quotient, elementwise; `x / y`, also of integers a float.

    Modern: `keras.ops.divide(x, y)`, `x / y`.

    Example:
        >>> divide([1., 2.], 4.).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """
    return ops.divide(x, y)
