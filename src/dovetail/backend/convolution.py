"""Convolutions: plain, transposed, separable and depthwise; and biases to add to their results."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.integers import in_integers
from dovetail.core.base.windows import PADDINGS, Moves, data_format_of, moves, per_axis
from dovetail.core.kinds import TensorLike
from dovetail.ops.shapes.shape import dims_of, shaped

__all__ = [
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "depthwise_conv2d",
    "separable_conv1d",
    "separable_conv2d",
]


def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Convolution over time.

    Args:
        x: sequences of shape (batch, steps, channels), or (batch, channels, steps) for "channels_first".
        kernel: (size, channels, filters).
        strides: by how many steps the kernel moves.
        padding: "valid" (none), "same" (as many steps as before, divided by the strides), or "causal" (all of it in
            front, so that no output depends on later steps).
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.
        dilation_rate: the distance between neighbouring elements of the kernel; above 1 only if `strides` is 1.

    Returns:
        A tensor of shape (batch, new steps, filters), or (batch, filters, new steps); integers stay integers.

    Raises:
        ValueError: an option is unknown, the kernel does not fit the channels, or is longer than the sequences.

    Source: `tf.keras.backend.conv1d`.

    Differs: "causal" with "channels_first" pads the steps; tf.keras refuses it, since it pads the channels.
    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.conv(x, kernel, strides, padding)`, `tf.nn.conv1d`.

    Example:
        >>> conv1d([[[1.], [2.], [3.]]], [[[1.]], [[10.]]], padding="causal", data_format="channels_last").numpy()
        array([[[10.],
                [21.],
                [32.]]], dtype=float32)
    """
    paddings = (*PADDINGS, "causal")
    return _convolution(ops.conv, 1, x, [kernel], strides, padding, data_format, dilation_rate, paddings)


def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolution over images.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "channels_first".
        kernel: (rows, columns, channels, filters).  If the images have a multiple of its channels, their channels and
            the filters are split into groups.
        strides: by how much the kernel moves along rows and columns.
        padding: "valid" (none), or "same" (the size of the images, divided by the strides).
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.
        dilation_rate: the distance between neighbouring elements of the kernel; above 1 only if `strides` are 1.

    Returns:
        A tensor of the layout of `x`, with as many channels as there are filters; integers stay integers.

    Raises:
        ValueError: an option is unknown, the kernel does not fit the channels, or is larger than the images.

    Source: `tf.keras.backend.conv2d`.

    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.conv(x, kernel, strides, padding)`, `tf.nn.conv2d`.

    Example:
        >>> conv2d(K.ones((1, 5, 5, 2)), K.ones((3, 3, 2, 8)), padding="same", data_format="channels_last").shape
        (1, 5, 5, 8)
    """
    return _convolution(ops.conv, 2, x, [kernel], strides, padding, data_format, dilation_rate)


def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Any:
    """Convolution over volumes.

    Args:
        x: volumes of shape (batch, depth, rows, columns, channels), or (batch, channels, depth, rows, columns) for
            "channels_first".
        kernel: (depth, rows, columns, channels, filters).
        strides, padding, data_format, dilation_rate: as for `conv2d`.

    Returns:
        A tensor of the layout of `x`, with as many channels as there are filters.

    Raises:
        ValueError: an option is unknown, the kernel does not fit the channels, or is larger than the volumes.

    Source: `tf.keras.backend.conv3d`.

    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.
    Differs: kernels of fewer channels are taken, as by `conv2d`; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.conv(x, kernel, strides, padding)`, `tf.nn.conv3d`.

    Example:
        >>> conv3d(K.ones((1, 5, 5, 5, 2)), K.ones((3, 3, 3, 2, 8)), data_format="channels_last").shape
        (1, 3, 3, 3, 8)
    """
    return _convolution(ops.conv, 3, x, [kernel], strides, padding, data_format, dilation_rate)


def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolution of every channel of images with its own kernels.

    Args:
        x: images, as for `conv2d`.
        depthwise_kernel: (rows, columns, channels, multiplier): each channel gives `multiplier` channels, side by side.
        strides, padding, data_format, dilation_rate: as for `conv2d`.

    Returns:
        A tensor of the layout of `x`, with channels * multiplier channels.

    Raises:
        ValueError: an option is unknown, the kernel has another number of channels than the images, or is larger than
            they are.

    Source: `tf.keras.backend.depthwise_conv2d`.

    Differs: strides and dilation together are refused, as by `conv2d`; tf.keras gives results of wrong sizes.
    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras gives the shape of `x`.

    Modern: `keras.ops.depthwise_conv(x, depthwise_kernel, strides, padding)`, `tf.nn.depthwise_conv2d`.

    Example:
        >>> depthwise_conv2d(K.ones((1, 5, 5, 2)), K.ones((3, 3, 2, 4)), data_format="channels_last").shape
        (1, 3, 3, 8)
    """
    return _convolution(ops.depthwise_conv, 2, x, [depthwise_kernel], strides, padding, data_format, dilation_rate)


def separable_conv1d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Convolution of every channel of sequences by itself, then one that mixes the channels of each step.

    Args:
        x: sequences, as for `conv1d`.
        depthwise_kernel: (size, channels, multiplier).
        pointwise_kernel: (1, channels * multiplier, filters).
        strides, data_format, dilation_rate: as for `conv1d`.
        padding: "valid" or "same".

    Returns:
        A tensor of the layout of `x`, with as many channels as there are filters.

    Raises:
        ValueError: an option is unknown, or a kernel does not fit.

    Source: `keras.backend.separable_conv1d` of Keras 2.3.

    Modern: `keras.ops.separable_conv(x, depthwise_kernel, pointwise_kernel, strides, padding)`.

    Example:
        >>> x = K.ones((1, 5, 2))
        >>> separable_conv1d(x, K.ones((3, 2, 1)), K.ones((1, 2, 4)), data_format="channels_last").shape
        (1, 3, 4)
    """
    kernels = [depthwise_kernel, pointwise_kernel]
    return _convolution(ops.separable_conv, 1, x, kernels, strides, padding, data_format, dilation_rate)


def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolution of every channel of images by itself, then one that mixes the channels of each pixel.

    Args:
        x: images, as for `conv2d`.
        depthwise_kernel: (rows, columns, channels, multiplier).
        pointwise_kernel: (1, 1, channels * multiplier, filters).
        strides, padding, data_format, dilation_rate: as for `conv2d`.

    Returns:
        A tensor of the layout of `x`, with as many channels as there are filters.

    Raises:
        ValueError: an option is unknown, or a kernel does not fit.

    Source: `tf.keras.backend.separable_conv2d`.

    Differs: strides and dilation together are refused, as by `conv2d`; tf.keras gives results of wrong sizes.
    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.
    Differs: without elements, the result has the shape that it has with some; tf.keras has none on some processors.

    Modern: `keras.ops.separable_conv(x, depthwise_kernel, pointwise_kernel, strides, padding)`.

    Example:
        >>> x = K.ones((1, 5, 5, 2))
        >>> separable_conv2d(x, K.ones((3, 3, 2, 1)), K.ones((1, 1, 2, 4)), data_format="channels_last").shape
        (1, 3, 3, 4)
    """
    kernels = [depthwise_kernel, pointwise_kernel]
    return _convolution(ops.separable_conv, 2, x, kernels, strides, padding, data_format, dilation_rate)


# -- transposed -------------------------------------------------------------------------------------------------------


def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Transposed convolution: the gradient of a convolution, which makes images larger.

    Args:
        x: images of shape (batch, rows, columns, channels), or (batch, channels, rows, columns) for "channels_first".
        kernel: (rows, columns, filters, channels).
        output_shape: the shape of the result, in the same layout: a list, which may hold tensors and None for the
            batch, or a tensor.  A convolution with these options must turn this shape into the shape of `x`.
        strides, padding, data_format: as for `conv2d`.
        dilation_rate: the distance between neighbouring elements of the kernel, the same along rows and columns; above
            1 only if `strides` are 1.

    Returns:
        A tensor of shape `output_shape`.

    Raises:
        ValueError: an option is unknown, the dilation differs along rows and columns, or the shape does not fit.

    Source: `tf.keras.backend.conv2d_transpose`.

    Differs: tensors of two dtypes are promoted, and integers of all sizes are taken; tf.keras refuses them.

    Modern: `keras.ops.conv_transpose(x, kernel, strides, padding)`, `tf.nn.conv2d_transpose`.

    Example:
        >>> x, kernel = K.ones((1, 4, 4, 2)), K.ones((3, 3, 5, 2))
        >>> conv2d_transpose(x, kernel, (None, 8, 8, 5), (2, 2), "same", "channels_last").shape
        (1, 8, 8, 5)
    """
    rates = per_axis(dilation_rate, 2)
    if rates[0] != rates[1]:
        raise ValueError(f"the dilation_rate must be the same along rows and columns, not {dilation_rate}.")
    return _transposed(2, x, kernel, output_shape, strides, padding, data_format, rates)


def conv3d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Any,
    strides: Any = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """Transposed convolution: the gradient of a convolution, which makes volumes larger.

    Args:
        x: volumes, as for `conv3d`.
        kernel: (depth, rows, columns, filters, channels).
        output_shape, strides, padding, data_format: as for `conv2d_transpose`.

    Returns:
        A tensor of shape `output_shape`.

    Raises:
        ValueError: an option is unknown, or the shape does not fit.

    Source: `keras.backend.conv3d_transpose` of Keras 2.3.

    Modern: `keras.ops.conv_transpose(x, kernel, strides, padding)`, `tf.nn.conv3d_transpose`.

    Example:
        >>> x, kernel = K.ones((1, 2, 2, 2, 1)), K.ones((2, 2, 2, 3, 1))
        >>> conv3d_transpose(x, kernel, (1, 3, 3, 3, 3), data_format="channels_last").shape
        (1, 3, 3, 3, 3)
    """
    return _transposed(3, x, kernel, output_shape, strides, padding, data_format, 1)


# -- bias -------------------------------------------------------------------------------------------------------------


def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """A bias added to each channel, or to each channel of each position.

    Args:
        x: numbers of shape (batch, …, channels), or (batch, channels, …) for "channels_first".
        bias: (channels,), or a number for each element of a sample, of shape (…, channels).  This is its shape also for
            "channels_first", which takes its elements, in the same order, as if of shape (channels, …).
        data_format: "channels_last" or "channels_first"; `image_data_format` if not given.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        ValueError: the data format is unknown, or the bias has neither one axis nor one less than `x`.

    Source: `tf.keras.backend.bias_add`.

    Differs: tensors of two dtypes are promoted, and a bias may be a list; tf.keras refuses them.

    Modern: `x + bias`, `tf.nn.bias_add`.

    Example:
        >>> bias_add([[1., 2.]], [10., 20.]).numpy()
        array([[11., 22.]], dtype=float32)
    """
    data_format = data_format_of(data_format)
    rank, axes = K.ndim(x), K.ndim(bias)
    if axes == 1:
        return ops.bias_add(x, bias, data_format)
    if axes != rank - 1 or axes == 0:
        raise ValueError(f"the bias must have 1 or {rank - 1} axes, not {axes}.")
    *places, channels = dims_of(shaped(bias))
    shape = (1, channels, *places) if data_format == "channels_first" else (1, *places, channels)
    return ops.add(x, ops.reshape(bias, shape))


# -- shared helpers ---------------------------------------------------------------------------------------------------


def _convolution(
    convolve: Callable[..., Any],
    rank: int,
    x: Any,
    kernels: list[Any],
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
    paddings: Collection[str] = PADDINGS,
) -> Any:
    window = _window(rank, strides, padding, data_format, dilation_rate, paddings)
    return in_integers(lambda x, *kernels: convolve(x, *kernels, *window), x, *kernels)


def _transposed(
    rank: int,
    x: Any,
    kernel: Any,
    output_shape: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
) -> Any:
    strides, padding, layout, rates = _window(rank, strides, padding, data_format, dilation_rate)
    if isinstance(output_shape, (list, tuple)):
        if len(output_shape) != rank + 2 or None in output_shape[1:]:
            raise ValueError(f"the output_shape must have {rank + 2} numbers, of which only the first may be None.")
        batch = output_shape[0]
        known = not (batch is None or (isinstance(batch, int) and batch == -1))
        output_shape = [batch if known else dims_of(shaped(x))[0], *output_shape[1:]]
    return in_integers(
        lambda x, kernel: ops.conv_transpose(x, kernel, strides, padding, None, layout, rates, output_shape), x, kernel
    )


def _window(
    rank: int,
    strides: Any,
    padding: str,
    data_format: str | None,
    dilation_rate: Any,
    paddings: Collection[str] = PADDINGS,
) -> Moves:
    """The options in the order of `ops.conv`."""
    if padding not in paddings:
        raise ValueError(f"the padding must be one of {', '.join(paddings)}, not {padding!r}.")
    window = moves(rank, strides, padding, data_format, dilation_rate)
    if builtins.max(window.strides) > 1 and builtins.max(window.dilations) > 1:
        raise ValueError(
            f"the strides {window.strides} and the dilation_rate {window.dilations} must not both be above 1."
        )
    return window
