"""Padding: borders of zeros around sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.kinds import TensorLike

__all__ = ["spatial_2d_padding", "spatial_3d_padding", "temporal_padding"]


def temporal_padding(x: TensorLike, padding: Sequence[Any] = (1, 1)) -> Any:
    """Zeros before and after each sequence.

    Args:
        x: a tensor of shape (batch, time, features).
        padding: how many steps before and after.

    Returns:
        A tensor of shape (batch, padding[0] + time + padding[1], features) and the dtype of `x`.

    Raises:
        ValueError: `x` has not three axes, or `padding` is not a pair of numbers that are 0 or more.

    Source: `tf.keras.backend.temporal_padding`.

    Modern: `keras.ops.pad(x, ((0, 0), padding, (0, 0)))`, `np.pad`.

    Example:
        >>> temporal_padding([[[1], [2]]], (1, 2)).numpy().tolist()
        [[[0], [1], [2], [0], [0]]]
    """
    return _padded(x, (padding,), "channels_last", 1)


def spatial_2d_padding(x: TensorLike, padding: Sequence[Any] = ((1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """Zeros around each image.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "channels_first".
        padding: how many rows above and below, how many columns left and right.
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.

    Returns:
        A tensor of the dtype of `x` with more rows and columns.

    Raises:
        ValueError: `x` has not four axes, `padding` is not two pairs of numbers that are 0 or more, or `data_format` is
            unknown.

    Source: `tf.keras.backend.spatial_2d_padding`.

    Modern: `keras.ops.pad(x, ((0, 0), *padding, (0, 0)))`, `np.pad`.

    Example:
        >>> spatial_2d_padding([[[[5]]]], ((0, 1), (1, 0)), "channels_last").numpy()[0, :, :, 0]
        array([[0, 5],
               [0, 0]], dtype=int32)
    """
    return _padded(x, padding, data_format, 2)


def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Any] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around each volume.

    Args:
        x: volumes of shape (batch, depth, rows, columns, channels), or (batch, channels, depth, rows, columns) for
            "channels_first".
        padding: how many before and after along depth, rows and columns.
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.

    Returns:
        A tensor of the dtype of `x`, larger along depth, rows and columns.

    Raises:
        ValueError: `x` has not five axes, `padding` is not three pairs of numbers that are 0 or more, or `data_format`
            is unknown.

    Source: `tf.keras.backend.spatial_3d_padding`.

    Modern: `keras.ops.pad(x, ((0, 0), *padding, (0, 0)))`, `np.pad`.

    Example:
        >>> spatial_3d_padding([[[[[5.]]]]]).shape
        (1, 3, 3, 3, 1)
    """
    return _padded(x, padding, data_format, 3)


def _padded(x: Any, padding: Any, data_format: str | None, axes: int) -> Any:
    if len(padding) != axes or any(len(pair) != 2 for pair in padding):
        pairs = "a pair of numbers" if axes == 1 else f"{axes} pairs of numbers"
        raise ValueError(f"the padding must be {pairs}, not {padding}.")
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', not {data_format!r}.")
    if K.ndim(x) not in (axes + 2, None):
        raise ValueError(f"x must have the rank {axes + 2}, not {K.ndim(x)}.")
    first = (data_format or K.image_data_format()) == "channels_first"
    spaces = [tuple(pair) for pair in padding]
    return ops.pad(x, [(0, 0), (0, 0), *spaces] if first else [(0, 0), *spaces, (0, 0)])
