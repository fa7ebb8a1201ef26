"""Locally connected layers: convolutions in which every window has a kernel of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail.core.base.windows import (
    DataFormat,
    PerAxis,
    data_format_of,
    join_shape,
    output_sizes,
    per_axis,
    split_shape,
)
from dovetail.core.calls.check_arguments import checked
from dovetail.core.kinds import Number
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import shapes
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.linalg.products import matmul
from dovetail.ops.nn.pool import sliding_windows
from dovetail.ops.samples import array, ints, sample
from dovetail.ops.shapes.shape import dims_of, reorder, reshape, shaped
from dovetail.ops.shapes.slicing import along


def _reach(size: Any, strides: Any, counts: Any) -> list[int]:
    """The length of each axis that `counts` windows cover."""
    return [(n - 1) * stride + k for n, stride, k in zip(counts, strides, size, strict=True)]


def _local_spec(
    x: RankedSpec, kernel: RankedSpec, size: Any, strides: Any, counts: Any, data_format: str
) -> TensorSpec:
    rank = len(size)
    if len(x.shape) != rank + 2:
        raise ValueError(f"the input must have rank {rank + 2} for {rank} spatial axes, but its shape is {x.shape}.")
    batch, sizes, channels = split_shape(x.shape, data_format)
    most = output_sizes(sizes, size, strides, (1,) * rank, "valid")
    if any(None not in (n, limit) and not 1 <= n <= limit for n, limit in zip(counts, most, strict=True)):
        raise ValueError(
            f"there are {tuple(most)} windows of size {size} in {tuple(sizes)}, so output_shape cannot be {counts}."
        )
    features = None if channels is None else channels * math.prod(size)
    wanted = (math.prod(counts), features)
    if len(kernel.shape) != 3 or not shapes.fits(kernel.shape[:2], wanted):
        raise ValueError(f"the kernel must have the shape ({wanted[0]}, {wanted[1]}, filters), not {kernel.shape}.")
    return TensorSpec(join_shape(batch, counts, kernel.shape[2], data_format), x.dtype)


@composite(
    "LocalConv",
    cost="convolution",
    infer=_local_spec,
    samples=[
        sample(array(2, 5, 3), array(4, 6, 2), (2,), (1,), (4,), "channels_last"),
        sample(array(2, 2, 5, 4), array(4, 12, 3), (3, 2), (2, 2), (2, 2), "channels_first"),
        sample(array(1, 6, 3, 2), array(4, 4, 1), (2, 1), (2, 2), (2, 2), "channels_last"),
        sample(ints(2, 5, 1), ints(4, 2, 2), (2,), (1,), (4,), "channels_last"),
    ],
)
def _local_conv(
    x: Number, kernel: Number, size: PerAxis, strides: PerAxis, counts: PerAxis, data_format: DataFormat
) -> Tensor:
    """The windows as a batch of matrices, times the kernels."""
    rank = len(size)
    first = 1 if data_format == "channels_last" else 2
    for axis, reach in enumerate(_reach(size, strides, counts), first):
        if x.shape[axis] != reach:
            x = along(x, axis, 0, reach)
    if data_format == "channels_first":
        x = reorder(x, [0, *range(2, rank + 2), 1])
    patches = sliding_windows(x, size, strides, (1,) * rank, "valid")
    dims, channels = dims_of(patches), 2 * rank + 1
    positions, inside = range(1, rank + 1), [*range(rank + 1, channels)]
    features = [*inside, channels] if data_format == "channels_last" else [channels, *inside]
    shape = (math.prod(counts), dims[0], math.prod(size) * dims[channels])
    patches = reshape(reorder(patches, [*positions, 0, *features]), shape)
    outputs = reshape(matmul(patches, kernel), (*counts, dims[0], dims_of(kernel)[2]))
    return reorder(outputs, [rank, *join_shape(rank, range(rank), rank + 1, data_format)[1:]])


@checked
def local_conv(
    x: Any,
    kernel: Any,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int] = 1,
    output_shape: int | Sequence[int] | None = None,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """A convolution in which every window has a kernel of its own, over one or more spatial axes, without padding.

    Args:
        x: the input, (batch, spatial..., channels), or (batch, channels, spatial...) if channels come first.
        kernel: (windows, elements of a window, filters), the windows of all axes in one.  The elements of a window are
            in the order of the data format: the elements of a pixel side by side, or the elements of a channel.
        kernel_size: the size of a window along each axis.
        strides: by how much it moves, for all axes or each.
        output_shape: the number of windows along each axis; as many as fit, if it is not given.
        data_format: "channels_last" or "channels_first"; `config.image_data_format()` if not given.
        name: the name of the node in a graph.

    Returns:
        (batch, windows..., filters), or (batch, filters, windows...).

    Raises:
        ValueError: there are fewer windows, or the kernel has another shape.

    Source: `tf.keras.backend.local_conv1d`, `keras.layers.LocallyConnected1D` of Keras 2.

    Example:
        >>> local_conv([[[1.], [2.], [3.]]], [[[1.], [1.]], [[0.], [10.]]], (2,), data_format="channels_last").numpy()
        array([[[ 3.],
                [30.]]], dtype=float32)
    """
    x, kernel = shaped(x), shaped(kernel)
    rank = len(static_shape(x)) - 2
    if rank < 1:
        raise ValueError(f"the input must have a batch, spatial axes and channels, but its shape is {static_shape(x)}.")
    size, strides = per_axis(kernel_size, rank), per_axis(strides, rank)
    data_format = data_format_of(data_format)
    counts: Any = output_shape
    if counts is None:
        counts = output_sizes(split_shape(static_shape(x), data_format)[1], size, strides, (1,) * rank, "valid")
        if None in counts:
            raise ValueError(f"the output_shape must be given for an input of the shape {static_shape(x)}.")
    return _local_conv(x, kernel, size, strides, per_axis(counts, rank), data_format, name=name)
