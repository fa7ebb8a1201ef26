"""Printing the values of tensors while programs run."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = ["print_tensor"]


def print_tensor(x: TensorLike, message: str = "", summarize: int | None = 3) -> Any:
    """Print a tensor each time that it is computed.

    Args:
        x: a tensor or variable.
        message: the text before it.
        summarize: how many elements to print at the start and at the end of each axis: 3 if None, all if -1.

    Returns:
        The same value.  In a graph only this result prints, so use it instead of `x`.

    Source: `tf.keras.backend.print_tensor`.

    Modern: `tf.print(message, x, summarize=summarize)`.

    Example:
        >>> y = print_tensor([1., 2., 3.], "y is")
        y is [1 2 3]
    """
    return ops.print_tensor(x, message, 3 if summarize is None else summarize)
