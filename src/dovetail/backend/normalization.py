"""Batch normalization: with the statistics of the batch, while training, or with averages of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.integers import as_floats
from dovetail.core.dtypes import as_dtype
from dovetail.core.kinds import TensorLike
from dovetail.core.values.shapes import normalize_axes
from dovetail.ops.shapes.shape import dims_of

__all__ = ["batch_normalization", "normalize_batch_in_training"]


def normalize_batch_in_training(
    x: TensorLike, gamma: TensorLike, beta: TensorLike, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> Any:
    """Normalization with the mean and the variance of the batch itself.

    Args:
        x: floats.
        gamma, beta: the factor and the offset of the normalized values: a number for each element of the axes that are
            not reduced; None for 1 and 0.
        reduction_axes: the axes over which mean and variance are taken.
        epsilon: added to the variance, so that it is not 0.

    Returns:
        The normalized values, in the shape and dtype of `x`; the mean; the variance.  For images with channels last
        (rank 4 and the axes [0, 1, 2]), this is the sample variance, with the divisor n - 1.

    Raises:
        ValueError: `x` has no such axes, or `gamma` or `beta` have another number of elements.

    Source: `tf.keras.backend.normalize_batch_in_training`.

    Differs: axes may be negative or one int, integers become floats, and dtypes are promoted; tf.keras refuses them.

    Modern: `keras.ops.moments(x, reduction_axes)`, then `keras.ops.batch_normalization`.

    Example:
        >>> y, mean, variance = K.normalize_batch_in_training([[1.], [3.]], None, None, [0], epsilon=0.)
        >>> y.numpy().tolist(), mean.numpy(), variance.numpy()
        ([[-1.0], [1.0]], array([2.], dtype=float32), array([1.], dtype=float32))
    """
    x = as_floats(x)
    rank = K.ndim(x)
    listed = [reduction_axes] if isinstance(reduction_axes, int) else [int(axis) for axis in reduction_axes]
    axes = normalize_axes(listed, rank)
    images = rank == 4 and listed == [0, 1, 2]
    wide = ops.cast(x, "float32") if images and as_dtype(K.dtype(x)).itemsize < 4 else x
    mean, variance = ops.moments(wide, axes)
    statistics = [mean, variance, beta, gamma]
    if axes != tuple(range(rank - 1)):
        inner = [1 if axis in axes else dim for axis, dim in enumerate(dims_of(x))]
        statistics = [None if s is None else ops.reshape(s, inner) for s in statistics]
    y = _normalized(x, statistics, epsilon)
    return y, mean, ops.multiply(variance, _unbiasing(wide)) if images else variance


def _unbiasing(x: Any) -> Any:
    """The factor n / (n - 1) for the variance of the n numbers of each channel."""
    count: Any = 1
    for dim in dims_of(x)[:-1]:
        count = dim * count
    return ops.divide(ops.cast(count, K.dtype(x)), ops.cast(ops.maximum(count - 1, 1), K.dtype(x)))


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Any:
    """Normalization with a given mean and variance.

    The result is `(x - mean) / sqrt(var + epsilon) * gamma + beta`.

    Args:
        x: floats.
        mean, var: they broadcast with `x`; for `x` of rank 4, a number for each channel, in any shape.
        beta, gamma: the offset and the factor, with shapes like `mean`; None for 0 and 1.
        axis: for `x` of rank 4, 1 or -3 if its channels are there; any other value means that they are last.  For other
            ranks it does not count.
        epsilon: added to the variance, so that it is not 0.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: the shapes do not fit.

    Source: `tf.keras.backend.batch_normalization`.

    Differs: of images with channels first too, `beta` and `gamma` may be None, and all may have other ranks than 1;
    tf.keras refuses them on the CPU.
    Integers become floats; tf.keras truncates the factors to integers.
    Dtypes are promoted; tf.keras refuses images of other floats than float32 and float16.

    Modern: `keras.ops.batch_normalization(x, mean, var, axis, offset=beta, scale=gamma, epsilon=epsilon)`.

    Example:
        >>> K.batch_normalization([[1.], [3.]], [2.], [4.], None, None, epsilon=0.).numpy().tolist()
        [[-0.5], [0.5]]
    """
    x = as_floats(x)
    statistics = [mean, var, beta, gamma]
    if K.ndim(x) != 4:
        return _normalized(x, statistics, epsilon)
    mean, var, beta, gamma = (None if s is None else ops.reshape(s, (-1,)) for s in statistics)
    channel = 1 if axis in (1, -3) else -1
    return ops.cast(ops.batch_normalization(x, mean, var, channel, beta, gamma, epsilon), K.dtype(x))


def _normalized(x: Any, statistics: list[Any], epsilon: float) -> Any:
    """`x`, in its dtype, normalized with mean, variance, offset and scale that broadcast with it."""
    mean, variance, beta, gamma = statistics
    last = K.int_shape(x)[-1:]
    if last not in ((), (None,)) and all(K.int_shape(s) == last for s in statistics if s is not None):
        y = ops.batch_normalization(x, mean, variance, -1, beta, gamma, epsilon)
    else:
        factor = ops.rsqrt(ops.add(variance, epsilon))
        factor = factor if gamma is None else ops.multiply(factor, gamma)
        y = ops.multiply(ops.subtract(x, mean), factor)
        y = y if beta is None else ops.add(y, beta)
    return ops.cast(y, K.dtype(x))
