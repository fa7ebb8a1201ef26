"""Arithmetic, element by element or running along an axis.

Sections that the docstrings of its functions leave out:

Args:
    x: numbers of any shape.

Returns:
    A tensor of the shape and dtype of `x`.

Source: `tf.keras.backend.{name}`.

Modern: `keras.ops.{name}(x)`, `np.{name}(x)`.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = [
    "abs",
    "clip",
    "cos",
    "cumprod",
    "cumsum",
    "exp",
    "l2_normalize",
    "log",
    "maximum",
    "minimum",
    "pow",
    "round",
    "sign",
    "sin",
    "sqrt",
    "square",
]

# -- one tensor -------------------------------------------------------------------------------------------------------


def square(x: TensorLike) -> Any:
    """The square, elementwise.

    Example:
        >>> square([2., -3.]).numpy()
        array([4., 9.], dtype=float32)
    """
    return ops.square(x)


def abs(x: TensorLike) -> Any:
    """The absolute value, elementwise.

    Returns:
        A tensor of the shape and dtype of `x`; floats for complex numbers.

    Modern: `keras.ops.absolute(x)`, `np.abs(x)`.

    Example:
        >>> abs([1., -2.]).numpy()
        array([1., 2.], dtype=float32)
    """
    return ops.absolute(x)


def sqrt(x: TensorLike) -> Any:
    """The square root, elementwise; 0 for negative numbers.

    Differs: integers become floats; tf.keras refuses them.
    Differs: lists are taken; tf.keras refuses them.

    Modern: `keras.ops.sqrt(keras.ops.maximum(x, 0))`; without `maximum`, negative numbers give NaN.

    Example:
        >>> sqrt([4., -4.]).numpy()
        array([2., 0.], dtype=float32)
    """
    return ops.sqrt(ops.maximum(x, 0))


def exp(x: TensorLike) -> Any:
    """The exponential function, elementwise.

    Differs: integers become floats; tf.keras refuses them.

    Example:
        >>> exp([0., 1.]).numpy().round(3)
        array([1.   , 2.718], dtype=float32)
    """
    return ops.exp(x)


def log(x: TensorLike) -> Any:
    """The natural logarithm, elementwise; NaN for negative numbers.

    Differs: integers become floats; tf.keras refuses them.

    Example:
        >>> log([1., 0.]).numpy()
        array([  0., -inf], dtype=float32)
    """
    return ops.log(x)


def round(x: TensorLike) -> Any:
    """The nearest whole number, elementwise; the even one of two equally near ones.

    Example:
        >>> round([0.5, 1.5, 1.7]).numpy()
        array([0., 2., 2.], dtype=float32)
    """
    return ops.round(x)


def sign(x: TensorLike) -> Any:
    """-1, 0 or 1, by the sign, elementwise.

    Example:
        >>> sign([3., -2., 0.]).numpy()
        array([ 1., -1.,  0.], dtype=float32)
    """
    return ops.sign(x)


def sin(x: TensorLike) -> Any:
    """The sine, elementwise.

    Args:
        x: angles of any shape, in radians.

    Differs: integers become floats; tf.keras refuses them.

    Example:
        >>> sin([0., 1.]).numpy().round(3)
        array([0.   , 0.841], dtype=float32)
    """
    return ops.sin(x)


def cos(x: TensorLike) -> Any:
    """The cosine, elementwise.

    Args:
        x: angles of any shape, in radians.

    Differs: integers become floats; tf.keras refuses them.

    Example:
        >>> cos([0., 1.]).numpy().round(3)
        array([1.  , 0.54], dtype=float32)
    """
    return ops.cos(x)


# -- several tensors --------------------------------------------------------------------------------------------------


def pow(x: TensorLike, a: TensorLike) -> Any:
    """The power `x ** a`, elementwise.

    Args:
        x: numbers of any shape.
        a: the exponent: a number, or numbers that broadcast with `x`.

    Returns:
        A tensor of the broadcast shape and the dtype of `x`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.
    Differs: a negative exponent of an integer gives a truncated integer; tf.keras refuses it.

    Modern: `keras.ops.power(x, a)`, `np.power(x, a)`.

    Example:
        >>> pow([2., 3.], 2).numpy()
        array([4., 9.], dtype=float32)
    """
    return ops.square(x) if type(a) is int and a == 2 else ops.power(x, a)


def clip(x: TensorLike, min_value: TensorLike, max_value: TensorLike) -> Any:
    """The values, limited to the range from a minimum to a maximum.

    Args:
        x: numbers of any shape.
        min_value, max_value: the bounds, numbers or tensors that broadcast to the shape of `x`; None for no bound.

    Returns:
        A tensor of the shape and dtype of `x`; all elements are `min_value` if the maximum is less.

    Raises:
        ValueError: the shapes do not broadcast.

    Differs: integers may lack a bound; tf.keras refuses them.
    Differs: integers may have floats as bounds; tf.keras refuses them.

    Modern: `keras.ops.clip(x, min_value, max_value)`, `np.clip(x, min_value, max_value)`.

    Example:
        >>> clip([1., 5., 9.], 2, 6).numpy()
        array([2., 5., 6.], dtype=float32)
    """
    return ops.clip(x, min_value, max_value)


def maximum(x: TensorLike, y: TensorLike) -> Any:
    """The larger of two, elementwise.

    Args:
        x, y: numbers whose shapes broadcast; one of them may be a Python number.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.maximum(x, y)`, `np.maximum(x, y)`.

    Example:
        >>> maximum(0., [1., -2.]).numpy()
        array([1., 0.], dtype=float32)
    """
    return ops.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Any:
    """The smaller of two, elementwise.

    Args:
        x, y: numbers whose shapes broadcast; one of them may be a Python number.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.minimum(x, y)`, `np.minimum(x, y)`.

    Example:
        >>> minimum(0., [1., -2.]).numpy()
        array([ 0., -2.], dtype=float32)
    """
    return ops.minimum(x, y)


# -- along an axis ----------------------------------------------------------------------------------------------------


def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """The running sum along an axis.

    Args:
        x: numbers of rank 1 or more.
        axis: along which axis.

    Raises:
        ValueError: `x` has no such axis.

    Modern: `keras.ops.cumsum(x, axis)`, `np.cumsum(x, axis)`.

    Example:
        >>> cumsum([1., 2., 3.]).numpy()
        array([1., 3., 6.], dtype=float32)
    """
    return ops.cumsum(x, axis)


def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """The running product along an axis.

    Args:
        x: numbers of rank 1 or more.
        axis: along which axis.

    Raises:
        ValueError: `x` has no such axis.

    Modern: `keras.ops.cumprod(x, axis)`, `np.cumprod(x, axis)`.

    Example:
        >>> cumprod([2., 3., 4.]).numpy()
        array([ 2.,  6., 24.], dtype=float32)
    """
    return ops.cumprod(x, axis)


def l2_normalize(x: TensorLike, axis: Any = None) -> Any:
    """The values divided by their Euclidean length along an axis; zeros stay zeros.

    Args:
        x: floats of any shape.
        axis: the axis, several, or None for all.

    Raises:
        ValueError: `x` has no such axis.

    Differs: integers become floats; tf.keras refuses them.

    Modern: `keras.ops.normalize(x, axis)`.

    Example:
        >>> l2_normalize([3., 4.]).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    return ops.l2_normalize(x, axis)
