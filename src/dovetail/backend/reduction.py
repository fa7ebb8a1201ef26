"""Reductions: one value from all values along some axes.

Sections that the docstrings of its functions leave out:

Args:
    x: numbers of any shape, or a list of them.
    axis: an axis, several, or None for all.
    keepdims: whether the reduced axes stay, with size 1.

Returns:
    A tensor of the reduced shape and the dtype of `x`.

Raises:
    ValueError: `x` has no such axis.

Source: `tf.keras.backend.{name}`.

Modern: `keras.ops.{name}(x, axis)`, `np.{name}(x, axis)`.
"""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def max(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest value over axes; minus infinity, or the lowest integer, over no elements.

    Example:
        >>> K.max([[1., 5.], [7., 2.]], axis=1).numpy()
        array([5., 7.], dtype=float32)
    """
    return ops.max(x, axis, keepdims)


def min(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest value over axes; infinity, or the highest integer, over no elements.

    Example:
        >>> K.min([[1., 5.], [7., 2.]], axis=1).numpy()
        array([1., 2.], dtype=float32)
    """
    return ops.min(x, axis, keepdims)


def sum(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum over axes; 0 over no elements.

    Args:
        x: numbers of any shape, or a list of them; or a sparse tensor.
        axis: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Differs: bools are numbers, as int32; tf.keras refuses them.
    Differs: sparse tensors are taken; tf.keras refuses them.

    Example:
        >>> K.sum([[1., 5.], [7., 2.]], axis=1).numpy()
        array([6., 9.], dtype=float32)
    """
    return ops.sum(x, axis, keepdims)


def prod(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The product over axes; 1 over no elements.

    Differs: bools are numbers, as int32; tf.keras refuses them.

    Example:
        >>> K.prod([[1., 5.], [7., 2.]], axis=1).numpy()
        array([ 5., 14.], dtype=float32)
    """
    return ops.prod(x, axis, keepdims)


def mean(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean over axes; NaN over no elements.

    Returns:
        A tensor of the reduced shape and the dtype of `x`: the mean of integers is truncated; bools become `floatx`.

    Differs: lists are taken; tf.keras refuses them.

    Example:
        >>> K.mean([[1., 5.], [7., 2.]], axis=1).numpy()
        array([3. , 4.5], dtype=float32)
    """
    if K.dtype(x).startswith(("int", "uint")):
        return _integer_mean(x, axis, keepdims)
    return ops.mean(x, axis, keepdims)


def _integer_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    total = ops.sum(x, axis, keepdims)
    count = ops.sum(ops.ones_like(x, "int64"), axis, keepdims)
    return ops.cast(ops.multiply(ops.sign(total), ops.floor_divide(ops.absolute(total), count)), total.dtype)


def var(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance over axes: the mean square of the distance from the mean.

    Returns:
        A tensor of the reduced shape and the dtype of `x`; bools become `floatx`.

    Differs: integers become floats; tf.keras refuses them.
    Differs: lists are taken; tf.keras refuses them.

    Example:
        >>> K.var([[1., 5.], [7., 3.]], axis=1).numpy()
        array([4., 4.], dtype=float32)
    """
    return ops.var(x, axis, keepdims)


def std(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation over axes: the square root of the variance.

    Returns:
        A tensor of the reduced shape and the dtype of `x`; bools become `floatx`.

    Differs: integers become floats; tf.keras refuses them.
    Differs: lists are taken; tf.keras refuses them.

    Example:
        >>> K.std([[1., 5.], [7., 3.]], axis=1).numpy()
        array([2., 2.], dtype=float32)
    """
    return ops.std(x, axis, keepdims)


def any(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether one or more elements are true (numbers: not 0); false over no elements.

    Args:
        x: bools or numbers of any shape, or a list of them.
        axis: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Returns:
        A bool tensor of the reduced shape.

    Example:
        >>> K.any([[0, 7], [0, 0]], axis=1).numpy()
        array([ True, False])
    """
    return ops.any(x, axis, keepdims)


def all(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true (numbers: not 0); true over no elements.

    Args:
        x: bools or numbers of any shape, or a list of them.
        axis: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Returns:
        A bool tensor of the reduced shape.

    Example:
        >>> K.all([[1, 7], [0, 1]], axis=1).numpy()
        array([ True, False])
    """
    return ops.all(x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Any:
    """`log(sum(exp(x)))` over axes, without overflow.

    Source: `keras.backend.logsumexp` of Keras 2.3.

    Modern: `keras.ops.logsumexp(x, axis)`, `scipy.special.logsumexp(x, axis)`.

    Example:
        >>> K.logsumexp([[0., 0.], [9., 9.]], axis=1).numpy().round(3)
        array([0.693, 9.693], dtype=float32)
    """
    return ops.logsumexp(x, axis, keepdims)


def argmax(x: TensorLike, axis: int | None = -1) -> Any:
    """The position of the largest value along an axis; the first of equal ones.

    Args:
        x: numbers of rank 1 or more.
        axis: along which axis; None is axis 0.

    Returns:
        An int64 tensor of the shape of `x` without the axis.

    Raises:
        ValueError: `x` has no such axis, or no elements along it.

    Differs: NaN counts as the largest, as in NumPy; tf.keras passes it over, or not, by its place.

    Example:
        >>> K.argmax([[1., 9.], [5., 4.]], axis=1).numpy()
        array([1, 0])
    """
    return ops.argmax(x, 0 if axis is None else axis)


def argmin(x: TensorLike, axis: int | None = -1) -> Any:
    """The position of the smallest value along an axis; the first of equal ones.

    Args:
        x: numbers of rank 1 or more.
        axis: along which axis; None is axis 0.

    Returns:
        An int64 tensor of the shape of `x` without the axis.

    Raises:
        ValueError: `x` has no such axis, or no elements along it.

    Differs: NaN counts as the smallest, as in NumPy; tf.keras passes it over, or not, by its place.

    Example:
        >>> K.argmin([[1., 9.], [5., 4.]], axis=1).numpy()
        array([0, 1])
    """
    return ops.argmin(x, 0 if axis is None else axis)
