"""Pooling: the maximum or the mean of each window that slides over images or volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.integers import in_integers
from dovetail.core.base.windows import PADDINGS, data_format_of
from dovetail.core.kinds import TensorLike

__all__ = ["pool2d", "pool3d"]

MODES = ("max", "avg")


def pool2d(
    x: TensorLike,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The maximum or the mean of each window of images.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "channels_first".
        pool_size: the numbers of rows and columns of a window.
        strides: by how much the window moves along rows and columns; by 1, not by its size, if not given.
        padding: "valid" (none), or "same" (the size of the images, divided by the strides); means leave padding out.
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.
        pool_mode: "max" or "avg".

    Returns:
        A tensor of the layout and dtype of `x`; means of integers are floats.

    Raises:
        ValueError: an option is unknown, sizes or strides are not two positive integers, `x` has not four axes, or a
            window does not fit.

    Source: `tf.keras.backend.pool2d`.

    Differs: the maximum of a window with a NaN is NaN, and the maximum of minus infinities is that; tf.keras leaves
        NaN out, and gives a finite number.
    Differs: means of integers are floats; tf.keras refuses them.
    Differs: sizes may be lists; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.max_pool(x, pool_size, strides, padding)`, `keras.ops.average_pool`.

    Example:
        >>> x = K.reshape(K.arange(8), (1, 2, 4, 1))
        >>> pool2d(x, (2, 2), (2, 2), data_format="channels_last").numpy()[0, :, :, 0]
        array([[5, 7]], dtype=int32)
    """
    return _pool(2, x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: TensorLike,
    pool_size: Sequence[Any],
    strides: Sequence[Any] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """The maximum or the mean of each window of volumes.

    Args:
        x: volumes of shape (batch, depth, rows, columns, channels), or (batch, channels, depth, rows, columns) for
            "channels_first".
        pool_size, strides: three numbers each, as for `pool2d`.
        padding, data_format, pool_mode: as for `pool2d`.

    Returns:
        A tensor of the layout and dtype of `x`; means of integers are floats.

    Raises:
        ValueError: as for `pool2d`.

    Source: `tf.keras.backend.pool3d`.

    Differs: dtypes other than float32 are taken; tf.keras refuses them on the CPU.
    Differs: sizes may be lists; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.max_pool(x, pool_size, strides, padding)`, `keras.ops.average_pool`.

    Example:
        >>> pool3d(K.ones((1, 4, 4, 4, 2)), (2, 2, 2), padding="same", data_format="channels_last").shape
        (1, 4, 4, 4, 2)
    """
    return _pool(3, x, pool_size, strides, padding, data_format, pool_mode)


def _pool(rank: int, x: Any, size: Any, strides: Any, padding: str, data_format: str | None, mode: str) -> Any:
    for name, numbers in (("pool_size", size), ("strides", strides)):
        if len(numbers) != rank:
            raise ValueError(f"{name} must have {rank} numbers, not {numbers}.")
    if padding not in PADDINGS:
        raise ValueError(f"the padding must be one of {', '.join(PADDINGS)}, not {padding!r}.")
    if mode not in MODES:
        raise ValueError(f"the pool_mode must be one of {', '.join(MODES)}, not {mode!r}.")
    if K.ndim(x) not in (rank + 2, None):
        raise ValueError(f"x must have {rank + 2} axes, not {K.ndim(x)}.")
    window = tuple(size), tuple(strides), padding, data_format_of(data_format)
    if mode == "avg":
        return ops.average_pool(x, *window)
    return in_integers(lambda x: ops.max_pool(x, *window), x)
