"""Locally connected layers: convolutions with a separate kernel for each window."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.windows import data_format_of
from dovetail.core.kinds import TensorLike

__all__ = ["local_conv1d", "local_conv2d"]


def local_conv1d(
    inputs: TensorLike, kernel: TensorLike, kernel_size: Any, strides: Any, data_format: str | None = None
) -> Any:
    """Convolution over time with a separate kernel for each window.

    Args:
        inputs: sequences of shape (batch, steps, channels), or (batch, channels, steps) for "channels_first".
        kernel: (windows, size * channels, filters); the number of windows must be known.  The elements of a window are
            in the order of the layout: channels side by side, or steps for "channels_first".
        kernel_size: how many steps a window has, in a tuple.
        strides: by how many steps it moves, in a tuple.
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.

    Returns:
        A tensor of shape (batch, windows, filters), or (batch, filters, windows).

    Raises:
        ValueError: the data format is unknown, the number of windows is wrong, or the kernel has another shape.

    Source: `tf.keras.backend.local_conv1d`.

    Differs: tensors of two dtypes are promoted; tf.keras refuses them. Strides of 0, for which all its windows are the
        first, are refused.

    Modern: `np.einsum` over `np.lib.stride_tricks.sliding_window_view`.

    Example:
        >>> kernel = [[[1.], [1.]], [[0.], [10.]]]
        >>> local_conv1d([[[1.], [2.], [3.]]], kernel, (2,), (1,), "channels_last").numpy()
        array([[[ 3.],
                [30.]]], dtype=float32)
    """
    windows = K.int_shape(kernel)[0]
    return _local(1, inputs, kernel, kernel_size, strides, (windows,), data_format)


def local_conv2d(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: str | None = None,
) -> Any:
    """Convolution over images with a separate kernel for each window.

    Args:
        inputs: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for
            "channels_first".
        kernel: (windows, rows * columns * channels, filters), the windows of all rows in one.  The elements of a window
            are in the order of the layout: channels side by side, or columns for "channels_first".
        kernel_size: the numbers of rows and columns of a window.
        strides: by how much it moves along rows and columns.
        output_shape: how many windows there are along rows and columns.
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.

    Returns:
        A tensor of shape (batch, *output_shape, filters), or (batch, filters, *output_shape).

    Raises:
        ValueError: as for `local_conv1d`.

    Source: `tf.keras.backend.local_conv2d`.

    Differs: `output_shape` may be a list; tf.keras refuses it.

    Modern: `np.einsum` over `np.lib.stride_tricks.sliding_window_view`.

    Example:
        >>> x, kernel = K.ones((1, 4, 4, 2)), K.ones((9, 8, 5))
        >>> local_conv2d(x, kernel, (2, 2), (1, 1), (3, 3), "channels_last").shape
        (1, 3, 3, 5)
    """
    return _local(2, inputs, kernel, kernel_size, strides, output_shape, data_format)


def _local(rank: int, x: Any, kernel: Any, size: Any, strides: Any, counts: Any, data_format: str | None) -> Any:
    data_format = data_format_of(data_format)
    for name, numbers in (("kernel_size", size), ("strides", strides), ("output_shape", counts)):
        if len(numbers) != rank:
            raise ValueError(f"{name} must have {rank} numbers, not {numbers}.")
    if None in counts:
        raise ValueError("the first dimension of the kernel, the number of windows, must be known.")
    if K.ndim(x) not in (rank + 2, None):
        raise ValueError(f"inputs must have {rank + 2} axes, not {K.ndim(x)}.")
    return ops.local_conv(x, kernel, tuple(size), tuple(strides), tuple(counts), data_format)
