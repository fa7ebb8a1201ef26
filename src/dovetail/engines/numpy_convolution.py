"""Convolutions on NumPy, and their gradients, in blocks of windows.

All windows of an input together hold it as often as a window has elements.  So windows are taken in blocks, each of
which fits in the processor's cache: a block is laid out as rows, and one product with the kernel computes it.  A
depthwise convolution has no such product: it takes the elements of the window in turn, each for all windows of a block.

A block reads or changes one part of the input, with its padding.  Channels come last.  Halves are computed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dovetail.core.windows import Windows, split_shape
from dovetail.engines.numpy_like import wide

BLOCK, LARGEST = 1 << 22, 1 << 24  # bytes: a block takes as many as the kernel, but at least and at most these

Block: TypeAlias = tuple[slice, ...]  # of (batch, windows...)


# -- the rules --------------------------------------------------------------------------------------------------------


def convolve(x: Any, kernel: Any, *window: Any) -> Any:
    """The output of a convolution."""
    of, x = _convolution(x.shape, kernel.shape, x.dtype, *window), _last(x, window[-1])
    y = np.empty((*of.counts, of.filters), x.dtype)
    kernel = kernel.astype(of.dtype, copy=False)
    for block, part in of.blocks:
        of.apply(of.read(x, part), kernel, y[block])
    return _restored(y, window[-1])


def input_gradient(input_sizes: Any, kernel: Any, g: Any, *window: Any) -> Any:
    """The gradient by the input: each element of each window is added where it was read."""
    of, g = _convolution(tuple(input_sizes), kernel.shape, g.dtype, *window), _last(g, window[-1])
    x = np.zeros(of.shape, g.dtype)
    kernel = kernel.astype(of.dtype, copy=False)
    for block, part in of.blocks:
        found = whole = x[part.found]
        if not of.is_plain(found, part):
            whole = np.zeros((*part.sizes, of.shape[-1]), of.dtype)
        of.spread(g[block].astype(of.dtype, copy=False), kernel, whole)
        if whole is not found:
            found += whole[part.inside].astype(x.dtype, copy=False)
    return _restored(x, window[-1])


def kernel_gradient(x: Any, filter_sizes: Any, g: Any, *window: Any) -> Any:
    """The gradient by the kernel: the sum of what all windows give."""
    of = _convolution(x.shape, tuple(filter_sizes), x.dtype, *window)
    x, g = _last(x, window[-1]), _last(g, window[-1])
    kernel = np.zeros(filter_sizes, of.dtype)
    for block, part in of.blocks:
        of.gather(of.read(x, part), g[block].astype(of.dtype, copy=False), kernel)
    return kernel.astype(x.dtype, copy=False)


def _last(x: Any, data_format: str) -> Any:
    """A view with the channels last."""
    return x if data_format == "channels_last" else np.moveaxis(x, 1, -1)


def _restored(x: Any, data_format: str) -> Any:
    """The reverse of `_last`."""
    return x if data_format == "channels_last" else np.moveaxis(x, -1, 1)


# -- blocks of windows ------------------------------------------------------------------------------------------------


def _blocks(counts: Sequence[int], each: int, limit: int) -> Iterator[Block]:
    """Blocks of windows, one after the other in memory, of at most `limit` bytes where a window takes `each`."""
    if 0 in counts:
        return
    axis, each = len(counts) - 1, max(each, 1)
    while axis and each * counts[axis] <= limit:
        each *= counts[axis]
        axis -= 1
    step = max(limit // each, 1)
    for outer in product(*map(range, counts[:axis])):
        for start in range(0, counts[axis], step):
            cut = slice(start, min(start + step, counts[axis]))
            yield *(slice(i, i + 1) for i in outer), cut, *(slice(0, n) for n in counts[axis + 1 :])


class Part(NamedTuple):
    """The part of the input, with its padding, that a block covers.

    Attributes:
        sizes: its shape without the channels.
        inside: its slice without the padding.
        found: the slice of the input that lies there.
    """

    sizes: tuple[int, ...]
    inside: Block
    found: Block


class _Convolution:
    """A convolution with groups of channels: the places of its windows, and the computation of a block of them.

    Args:
        input_shape: the shape of the input in the data format.
        kernel_shape: the shape of the kernel.
        dtype: of both.
        windows: which slide over the input.
        data_format: where the channels are.

    Attributes:
        shape: of the input, channels last.
        counts: the batch size, and how many windows there are along each axis.
        filters: how many channels the output has.
        dtype: the one to compute in.
    """

    def __init__(self, input_shape: Any, kernel_shape: Any, dtype: Any, windows: Windows, data_format: str) -> None:
        batch, sizes, channels = split_shape(input_shape, data_format)
        self._windows = windows
        self.shape = batch, *sizes, channels
        self.counts = batch, *windows.count(sizes)
        self._each, self.filters = kernel_shape[-2:]
        self._groups = channels // self._each
        self._volume = windows.volume
        self.dtype = wide(dtype)

    @cached_property
    def blocks(self) -> list[tuple[Block, Part]]:
        """Blocks of windows, with the part of the input that each covers."""
        return [(block, self._part(block)) for block in _blocks(self.counts, *self._bytes())]

    def _bytes(self) -> tuple[int, int]:
        """Of a window and of a block: the larger the kernel, the more windows a product with it is worth."""
        kernel = self._volume * self._each * self.filters * self.dtype.itemsize
        each = max(self._volume * self.shape[-1], self.filters) * self.dtype.itemsize
        return each, min(max(BLOCK, kernel), LARGEST)

    def _part(self, block: Block) -> Part:
        batch, *cuts = block
        sizes, inside, found = [batch.stop - batch.start], [slice(None)], [batch]
        windows, dims = self._windows, self.shape[1:-1]
        axes = zip(cuts, windows.strides, windows.spans, windows.pads(dims), dims, strict=True)
        for cut, stride, span, (before, _), size in axes:
            start, length = cut.start * stride - before, (cut.stop - cut.start - 1) * stride + span
            low, high = (min(max(end, 0), size) for end in (start, start + length))
            sizes.append(length)
            inside.append(slice(low - start, high - start))
            found.append(slice(low, high))
        return Part(tuple(sizes), tuple(inside), tuple(found))

    def is_plain(self, found: Any, part: Part) -> bool:
        """Whether a part of the input has no padding, and is laid out to compute with it."""
        return found.shape[:-1] == part.sizes and found.dtype == self.dtype and found.strides[-1] == found.itemsize

    def read(self, x: Any, part: Part) -> Any:
        """A part of the input, with its padding."""
        found = x[part.found]
        if self.is_plain(found, part):
            return found
        padded = np.zeros((*part.sizes, x.shape[-1]), self.dtype)
        padded[part.inside] = found
        return padded

    def _grouped(self, y: Any) -> Any:
        """Output channels as matrices: (groups, windows, or elements of a group's window, channels of a group)."""
        return y.reshape(math.prod(y.shape[:-1]), self._groups, self.filters // self._groups).swapaxes(0, 1)

    def _rows(self, part: Any, counts: Sequence[int]) -> Any:
        """Windows as matrices: (groups, windows, elements of a group's window)."""
        sample, *spatial, channel = part.strides
        by = self._windows.strides, self._windows.dilations
        steps = [n * stride for each in by for n, stride in zip(each, spatial, strict=True)]
        shape = self._groups, *counts, *self._windows.size, self._each
        windows = as_strided(part, shape, (self._each * channel, sample, *steps, channel), writeable=False)
        return windows.reshape(self._groups, -1, self._volume * self._each)

    def apply(self, part: Any, kernel: Any, y: Any) -> None:
        """Writes the outputs of a block, given its part of the input."""
        np.matmul(self._rows(part, y.shape[:-1]), self._grouped(kernel), self._grouped(y))

    def spread(self, g: Any, kernel: Any, part: Any) -> None:
        """Adds to the gradient by a block's part of the input."""
        rows = self._grouped(g) @ self._grouped(kernel).mT
        shape = self._groups, *g.shape[:-1], *self._windows.size, self._each
        elements = np.moveaxis(rows.reshape(shape), 0, -2)
        total = part.reshape(*part.shape[:-1], self._groups, self._each)
        for element, at in self._windows.elements(g.shape[1:-1]):
            total[:, *at] += elements[..., *element, :, :]

    def gather(self, part: Any, g: Any, kernel: Any) -> None:
        """Adds to the gradient by the kernel, a few elements of the window at a time, so that each sum is small."""
        rows, columns, total = self._rows(part, g.shape[:-1]), self._grouped(g), self._grouped(kernel)
        step = max(BLOCK // max(columns[0, 0].nbytes, 1), 1)
        for start in range(0, rows.shape[-1], step):
            total[:, start : start + step] += rows[..., start : start + step].mT @ columns


class _Depthwise(_Convolution):
    """A convolution each of whose channels is a group."""

    def _bytes(self) -> tuple[int, int]:
        return 3 * self.filters * self.dtype.itemsize, BLOCK  # the input, the sum, and the product that is added to it

    def _repeated(self, x: Any) -> Any:
        """Each channel as often as it gives one of the output."""
        return x if self.filters == self._groups else x.repeat(self.filters // self._groups, -1)

    def apply(self, part: Any, kernel: Any, y: Any) -> None:
        part = self._repeated(part)
        total, scaled = np.zeros(y.shape, self.dtype), np.empty(y.shape, self.dtype)
        for element, at in self._windows.elements(y.shape[1:-1]):
            total += np.multiply(part[:, *at], kernel[element], scaled)
        y[...] = total

    def spread(self, g: Any, kernel: Any, part: Any) -> None:
        total, scaled = np.zeros((*part.shape[:-1], self.filters), self.dtype), np.empty_like(g)
        for element, at in self._windows.elements(g.shape[1:-1]):
            total[:, *at] += np.multiply(g, kernel[element], scaled)
        part += total.reshape(*part.shape, self.filters // self._groups).sum(-1)

    def gather(self, part: Any, g: Any, kernel: Any) -> None:
        part, axes = self._repeated(part), [*range(g.ndim)]
        for element, at in self._windows.elements(g.shape[1:-1]):
            kernel[element] += np.einsum(part[:, *at], axes, g, axes, axes[-1:])


@lru_cache(256)
def _convolution(
    input_shape: Any, kernel_shape: Any, dtype: Any, strides: Any, padding: Any, dilations: Any, data_format: str
) -> _Convolution:
    windows = Windows(tuple(kernel_shape[:-2]), strides, dilations, padding)
    channels = split_shape(input_shape, data_format)[2]
    kind = _Depthwise if kernel_shape[-2] == 1 < channels else _Convolution
    return kind(input_shape, kernel_shape, dtype, windows, data_format)
