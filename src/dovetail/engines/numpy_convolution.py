"""Convolutions on NumPy, and their gradients, in blocks of windows.

All windows together repeat each element of the input as often as a window has elements.  So the rules take windows in
blocks that fit in the processor's cache: they lay a block out as rows, and multiply it by the kernel.  A depthwise
convolution has no such product: it takes the elements of the window in turn, each for all windows of a block.

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

from dovetail.core.base.windows import Windows, split_shape
from dovetail.core.engines.allocation import aligned_empty
from dovetail.engines.numpy_like import wide

BLOCK, LARGEST = 1 << 22, 1 << 24  # bytes: a block is as large as the kernel, within these bounds

Block: TypeAlias = tuple[slice, ...]  # slices of (batch, windows...)


# -- the rules --------------------------------------------------------------------------------------------------------


def convolve(x: Any, kernel: Any, *window: Any) -> Any:
    """The output of a convolution."""
    of, x = _convolution(x.shape, kernel.shape, x.dtype, *window), _last(x, window[-1])
    y = aligned_empty((*of.counts, of.filters), x.dtype)
    _convolve_into(y, x, kernel, of)
    return _restored(y, window[-1])


def _convolve_into(y: Any, x: Any, kernel: Any, of: _Convolution) -> None:
    """Write the output of a convolution into an array, which may be a view with strides; channels are last."""
    kernel = kernel.astype(of.dtype, copy=False)
    for block, part in of.blocks:
        view = whole = y[block]
        if not view.flags.c_contiguous:
            whole = np.empty(view.shape, view.dtype)
        of.apply(of.read(x, part), kernel, whole)
        if whole is not view:
            view[...] = whole


def input_gradient(input_sizes: Any, kernel: Any, g: Any, *window: Any) -> Any:
    """The gradient by the input, as convolutions of the output's gradient.

    The strides divide the input into phases.  Each phase is a convolution with those elements of the kernel that reach
    it, in reverse order.  These convolutions have a window for each element of the input.  If the output has far fewer
    windows, each of them adds its share to the input instead: for example, if the kernel is as wide as the input.
    """
    of, g = _convolution(tuple(input_sizes), kernel.shape, g.dtype, *window), _last(g, window[-1])
    if of.has_few_windows:
        return _restored(_shares(of, kernel, g), window[-1])
    x = aligned_empty(of.shape, g.dtype)
    x.fill(0)
    for channels, phases in product(of.channels, product(*of.phases)) if g.size else ():
        elements, cuts, places, dilations, pads = zip(*phases, strict=True)
        reaching, part = of.transposed(kernel[*elements, channels]), g[:, *cuts]
        ones = (1,) * len(pads)
        inner = _convolution(part.shape, reaching.shape, g.dtype, ones, pads, dilations, "channels_last")
        _convolve_into(x[:, *places, channels], part, reaching, inner)
    return _restored(x, window[-1])


def _shares(of: _Convolution, kernel: Any, g: Any) -> Any:
    """The gradient by the input, channels last: the sum of what each window adds to the elements that it covers."""
    x, kernel = np.zeros(of.padded_shape, of.dtype), kernel.astype(of.dtype, copy=False)
    for block, part in of.blocks:
        of.spread(g[block].astype(of.dtype, copy=False), kernel, x[of.covered(block, part)])
    gradient = aligned_empty(of.shape, g.dtype)
    gradient[...] = x[of.unpadded]
    return gradient


def kernel_gradient(x: Any, filter_sizes: Any, g: Any, *window: Any) -> Any:
    """The gradient by the kernel: the sum over all windows."""
    of = _convolution(x.shape, tuple(filter_sizes), x.dtype, *window)
    x, g = _last(x, window[-1]), _last(g, window[-1])
    kernel = aligned_empty(tuple(filter_sizes), of.dtype)
    kernel.fill(0)
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
        sizes: the shape of the part without the channels.
        inside: the slice of the part without the padding.
        found: the slice of the input that fills it.
    """

    sizes: tuple[int, ...]
    inside: Block
    found: Block


class Phase(NamedTuple):
    """Along one axis: the elements of an input one stride apart, and the convolution that gives their gradient.

    Attributes:
        elements: the slice of the kernel that reaches them, in reverse order.
        cut: the slice of the output's gradient that reaches them.
        place: their slice of the input.
        dilation: the dilation of the kernel's slice.
        pads: the padding of the cut.
    """

    elements: slice
    cut: slice
    place: slice
    dilation: int
    pads: tuple[int, int]


def _phases(size: int, windows: int, stride: int, dilation: int, pads: tuple[int, int], length: int) -> list[Phase]:
    """The phases along an axis; elements of the input that no window reaches are in none.

    Element e of window w is at w * stride + e * dilation in the input with its padding.

    Args:
        size: the number of elements of a window.
        windows: the number of windows.
        stride, dilation: the stride and dilation of the windows.
        pads: the padding before and after the input.
        length: the length of the input.
    """
    phases, before = [], pads[0]
    common = math.gcd(stride, dilation)
    for rest in range(stride):
        reaching = [e for e in range(size) if e * dilation % stride == rest]
        low, high = -((rest - before) // stride), (length - 1 + before - rest) // stride  # strides of the input
        if not reaching or high < low:
            continue
        ahead = [(e * dilation - rest) // stride for e in (reaching[0], reaching[-1])]  # strides of the windows
        first, last = low - ahead[1], high - ahead[0]
        if first >= windows or last < 0:
            continue
        elements = slice(reaching[-1], None, -(stride // common))
        cut = slice(max(first, 0), min(last + 1, windows))
        place = slice(low * stride + rest - before, length, stride)
        phases.append(Phase(elements, cut, place, dilation // common, (max(-first, 0), max(last + 1 - windows, 0))))
    return phases


class _Convolution:
    """A convolution with groups of channels: the places of its windows, and the computation of a block of them.

    Args:
        input_shape: the shape of the input in the data format.
        kernel_shape: the shape of the kernel.
        dtype: the dtype of both.
        windows: the windows that slide over the input.
        data_format: the position of the channels.

    Attributes:
        shape: the shape of the input, channels last.
        counts: the batch size, and the number of windows along each axis.
        filters: the number of output channels.
        dtype: the dtype of the computation.
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

    @cached_property
    def phases(self) -> list[list[Phase]]:
        """The phases of the gradient by the input, along each axis."""
        of, dims = self._windows, self.shape[1:-1]
        axes = zip(of.size, self.counts[1:], of.strides, of.dilations, of.pads(dims), dims, strict=True)
        return [_phases(*axis) for axis in axes]

    @cached_property
    def has_few_windows(self) -> bool:
        """Whether the input has more than twice as many elements, along all axes, as the windows' strides cover."""
        covered = math.prod(self.counts[1:]) * math.prod(self._windows.strides)
        return math.prod(self.shape[1:-1]) > 2 * covered

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the input with its padding, channels last."""
        batch, *dims, channels = self.shape
        return batch, *(size + sum(pad) for size, pad in zip(dims, self._windows.pads(dims), strict=True)), channels

    @property
    def unpadded(self) -> Block:
        """The slice of the input with its padding that has no padding."""
        dims = self.shape[1:-1]
        pads = self._windows.pads(dims)
        return slice(None), *(slice(pad[0], pad[0] + size) for size, pad in zip(dims, pads, strict=True))

    def covered(self, block: Block, part: Part) -> Block:
        """The slice of the input with its padding that a block covers."""
        starts = (cut.start * stride for cut, stride in zip(block[1:], self._windows.strides, strict=True))
        return block[0], *(slice(start, start + size) for start, size in zip(starts, part.sizes[1:], strict=True))

    @property
    def channels(self) -> list[slice]:
        """Blocks of input channels, so that a block of the kernel is a small copy; all of them if there are groups."""
        if self._groups > 1:
            return [slice(None)]
        step = max(LARGEST // max(self._volume * self.filters * self.dtype.itemsize, 1), 1)
        return [slice(start, start + step) for start in range(0, self._each, step)]

    def transposed(self, kernel: Any) -> Any:
        """The kernel with its input and output channels exchanged, in each group."""
        *window, each, filters = kernel.shape
        grouped = kernel.reshape(*window, each, self._groups, filters // self._groups)
        return np.swapaxes(grouped, -1, -3).reshape(*window, filters // self._groups, each * self._groups)

    def _bytes(self) -> tuple[int, int]:
        """The bytes of a window and of a block; a larger kernel needs more windows for its product to pay off."""
        kernel = self._volume * self._each * self.filters * self.dtype.itemsize
        each = max(self._volume * self.shape[-1], self.filters) * self.dtype.itemsize
        return each, min(max(BLOCK, kernel), LARGEST)

    def _part(self, block: Block) -> Part:
        batch, *cuts = block
        sizes, inside, elements = [batch.stop - batch.start], [slice(None)], [batch]
        windows, dims = self._windows, self.shape[1:-1]
        axes = zip(cuts, windows.strides, windows.spans, windows.pads(dims), dims, strict=True)
        for cut, stride, span, (before, _), size in axes:
            start, length = cut.start * stride - before, (cut.stop - cut.start - 1) * stride + span
            low, high = (min(max(end, 0), size) for end in (start, start + length))
            sizes.append(length)
            inside.append(slice(low - start, high - start))
            elements.append(slice(low, high))
        return Part(tuple(sizes), tuple(inside), tuple(elements))

    def is_plain(self, found: Any, part: Part) -> bool:
        """Whether a part of the input has no padding, and its layout fits the computation."""
        return found.shape[:-1] == part.sizes and found.dtype == self.dtype and found.strides[-1] == found.itemsize

    def read(self, x: Any, part: Part) -> Any:
        """A part of the input, with its padding."""
        elements = x[part.found]
        if self.is_plain(elements, part):
            return elements
        padded = np.zeros((*part.sizes, x.shape[-1]), self.dtype)
        padded[part.inside] = elements
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
        """Write the outputs of a block, given its part of the input."""
        np.matmul(self._rows(part, y.shape[:-1]), self._grouped(kernel), self._grouped(y))

    def gather(self, part: Any, g: Any, kernel: Any) -> None:
        """Add a block's share to the gradient by the kernel, a few elements at a time, so that each sum is small."""
        rows, columns, total = self._rows(part, g.shape[:-1]), self._grouped(g), self._grouped(kernel)
        step = max(BLOCK // max(columns[0, 0].nbytes, 1), 1)
        for start in range(0, rows.shape[-1], step):
            total[:, start : start + step] += rows[..., start : start + step].mT @ columns

    def spread(self, g: Any, kernel: Any, part: Any) -> None:
        """Add what a block's windows give to the elements of the input, to the part of it that the block covers."""
        rows = np.matmul(self._grouped(g), self._grouped(kernel).mT)
        shape = self._groups, *g.shape[:-1], *self._windows.size, self._each
        windows = np.moveaxis(rows.reshape(shape), 0, -2).reshape(*shape[1:-1], self.shape[-1])
        for element, at in self._windows.elements(g.shape[1:-1]):
            part[:, *at] += windows[(..., *element, slice(None))]


class _Depthwise(_Convolution):
    """A convolution in which each channel is a group."""

    def _bytes(self) -> tuple[int, int]:
        return 3 * self.filters * self.dtype.itemsize, BLOCK  # the input, the sum, and the product that is added to it

    def _repeated(self, x: Any) -> Any:
        """Repeat each channel once for each output channel that it gives."""
        return x if self.filters == self._groups else x.repeat(self.filters // self._groups, -1)

    def apply(self, part: Any, kernel: Any, y: Any) -> None:
        part = self._repeated(part)
        total, scaled = np.zeros(y.shape, self.dtype), np.empty(y.shape, self.dtype)
        for element, at in self._windows.elements(y.shape[1:-1]):
            total += np.multiply(part[:, *at], kernel[element], scaled)
        y[...] = total

    def gather(self, part: Any, g: Any, kernel: Any) -> None:
        part, axes = self._repeated(part), [*range(g.ndim)]
        for element, at in self._windows.elements(g.shape[1:-1]):
            kernel[element] += np.einsum(part[:, *at], axes, g, axes, axes[-1:])


@lru_cache(1024)  # a step of a large model has hundreds: phases of gradients are convolutions, too
def _convolution(
    input_shape: Any, kernel_shape: Any, dtype: Any, strides: Any, padding: Any, dilations: Any, data_format: str
) -> _Convolution:
    windows = Windows(tuple(kernel_shape[:-2]), strides, dilations, padding)
    channels = split_shape(input_shape, data_format)[2]
    kind = _Depthwise if kernel_shape[-2] == 1 < channels else _Convolution
    return kind(input_shape, kernel_shape, dtype, windows, data_format)
