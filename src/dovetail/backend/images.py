"""Images and volumes made larger by whole factors."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.config import DATA_FORMATS
from dovetail.core.kinds import TensorLike
from dovetail.ops.image.resize import INTERPOLATIONS
from dovetail.ops.shapes.shape import dims_of, shaped

__all__ = ["resize_images", "resize_volumes"]


def resize_images(
    x: TensorLike, height_factor: Any, width_factor: Any, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Images with more rows and columns.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "channels_first".
        height_factor, width_factor: how many times as many rows and columns, positive integers.
        data_format: "channels_last" or "channels_first".
        interpolation: "nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".

    Returns:
        A tensor of the layout of `x`; of its dtype with "nearest", otherwise float32.

    Raises:
        ValueError: the data format or the interpolation is unknown, a factor is not a positive integer, `x` has not
            four axes, or its images have no pixels.

    Source: `tf.keras.backend.resize_images`.

    Differs: a factor that is no integer is refused; tf.keras cuts its fraction off.
    Differs: images without channels are taken; tf.keras refuses them.

    Modern: `keras.ops.image.resize(x, size, interpolation)`, `tf.image.resize`.

    Example:
        >>> resize_images([[[[1.], [2.]]]], 1, 2, "channels_last", "bilinear").numpy().reshape(-1)
        array([1.  , 1.25, 1.75, 2.  ], dtype=float32)
    """
    _check(4, x, data_format, (height_factor, width_factor))
    if interpolation not in INTERPOLATIONS:
        choices = ", ".join(INTERPOLATIONS)
        raise ValueError(f"interpolation must be one of {choices}; got {interpolation!r}.")
    x = shaped(x)
    if interpolation != "nearest":
        x = ops.cast(x, "float32")
    dims = dims_of(x)
    first = 1 if data_format == "channels_last" else 2
    size = [dims[first] * int(height_factor), dims[first + 1] * int(width_factor)]
    return ops.resize(x, size, interpolation, data_format=data_format)


def resize_volumes(x: TensorLike, depth_factor: Any, height_factor: Any, width_factor: Any, data_format: str) -> Any:
    """Volumes in which each element is repeated along depth, rows and columns.

    Args:
        x: volumes of shape (batch, depth, rows, columns, channels), or (batch, channels, depth, rows, columns) for
            "channels_first".
        depth_factor, height_factor, width_factor: how many times, positive integers.
        data_format: "channels_last" or "channels_first".

    Returns:
        A tensor of the layout and dtype of `x`.

    Raises:
        ValueError: the data format is unknown, a factor is not a positive integer, or `x` has not five axes.

    Source: `tf.keras.backend.resize_volumes`.

    Modern: `keras.ops.repeat` along each axis, `np.repeat`.

    Example:
        >>> resize_volumes(K.ones((1, 2, 2, 2, 3)), 2, 1, 3, "channels_last").shape
        (1, 4, 2, 6, 3)
    """
    factors = depth_factor, height_factor, width_factor
    _check(5, x, data_format, factors)
    first = 1 if data_format == "channels_last" else 2
    for axis, factor in enumerate(factors, first):
        x = K.repeat_elements(x, int(factor), axis)
    return x


def _check(rank: int, x: Any, data_format: Any, factors: tuple[Any, ...]) -> None:
    if data_format not in DATA_FORMATS:
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', not {data_format!r}.")
    if any(factor != int(factor) or factor < 1 for factor in factors):
        raise ValueError(f"the factors must be positive integers, not {factors}.")
    if K.ndim(x) not in (rank, None):
        raise ValueError(f"x must have {rank} axes, not {K.ndim(x)}.")
