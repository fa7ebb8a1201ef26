"""The geometry of windows that slide over spatial axes: padding and output sizes of convolutions and pools.

Type rules and engine rules share it, so "same" means the same on every engine.  It has TensorFlow's meaning: an odd
amount of padding puts the extra element behind.  Sizes may be None, for unknown dimensions.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dovetail.core import config

Sizes = Sequence[int | None]
Pads = list[tuple[int, int]]
PADDINGS = ("valid", "same")
DataFormat: TypeAlias = Literal["channels_last", "channels_first"]
PerAxis: TypeAlias = Sequence[int]  # a number for each spatial axis
PoolPadding: TypeAlias = Literal["valid", "same"]
Padding: TypeAlias = PoolPadding | Sequence[tuple[int, int]]  # a pair (before, after) for each spatial axis

# part of the family → the names of its ops, by rank: Conv1D, Conv2D, Conv3D and their gradients
CONVOLUTIONS = {part: [f"Conv{rank}D{part}" for rank in (1, 2, 3)] for part in ("", "BackpropInput", "BackpropFilter")}
POOLS = {"MaxPool": ["MaxPool1D", "MaxPool", "MaxPool3D"], "AvgPool": ["AvgPool1D", "AvgPool", "AvgPool3D"]}


@dataclass(frozen=True)
class Windows:
    """Windows of one size that slide over spatial axes.

    Attributes:
        size: the window's size along each axis.
        strides: the step of the window along each axis.
        dilations: the distance between its neighbouring elements.
        padding: "valid", "same", or a pair (before, after) for each axis.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Any

    @functools.cached_property
    def spans(self) -> list[int]:
        """The extent of a window along each axis, dilation included."""
        return [(k - 1) * d + 1 for k, d in zip(self.size, self.dilations, strict=True)]

    @property
    def volume(self) -> int:
        """The number of elements in a window."""
        return math.prod(self.size)

    def pads(self, sizes: Sequence[int]) -> Pads:
        """The padding before and after each axis, for an input of these sizes.

        Example:
            >>> Windows((3, 3), (2, 2), (1, 1), "same").pads((7, 8))
            [(1, 1), (0, 1)]
        """
        if self.padding == "valid":
            return [(0, 0)] * len(self.size)
        if self.padding != "same":
            return list(self.padding)
        totals = [
            max((-(-n // stride) - 1) * stride + span - n, 0) if n else 0
            for n, stride, span in zip(sizes, self.strides, self.spans, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]

    def padded(self, sizes: Sequence[int]) -> list[int]:
        """The sizes with the padding."""
        return [before + n + after for n, (before, after) in zip(sizes, self.pads(sizes), strict=True)]

    def inside(self, sizes: Sequence[int]) -> list[slice]:
        """The slice of each axis of the padded input that holds an input of these sizes."""
        return [slice(before, before + n) for n, (before, _) in zip(sizes, self.pads(sizes), strict=True)]

    def count(self, sizes: Sequence[int]) -> list[int]:
        """The number of windows along each axis.

        Raises:
            ValueError: no window fits.
        """
        if self.padding == "same":
            return [-(-n // stride) for n, stride in zip(sizes, self.strides, strict=True)]
        padded = sizes if self.padding == "valid" else self.padded(sizes)
        if any(n < span for n, span in zip(padded, self.spans, strict=True)):
            problem = f"a window that spans {tuple(self.spans)} does not fit in {tuple(padded)}"
            raise ValueError(f'{problem}, which is the size with its padding; use padding="same" or a smaller window.')
        return [(n - span) // stride + 1 for n, span, stride in zip(padded, self.spans, self.strides, strict=True)]

    def elements(self, counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Yield each element's position in a window, and its slices of the padded input over all windows.

        Args:
            counts: the number of windows along each axis, at least one.

        Example:
            >>> dict(Windows((2,), (3,), (1,), "valid").elements([4]))[(1,)]
            (slice(1, 11, 3),)
        """
        for element in itertools.product(*map(range, self.size)):
            axes = zip(element, counts, self.strides, self.dilations, strict=True)
            yield element, tuple(slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in axes)


def over_two_axes(size: Any, strides: Any, dilations: Any, padding: Any) -> Windows:
    """Windows over at least two axes, for libraries whose kernels need two; an added axis comes first.

    Example:
        >>> over_two_axes((3,), (2,), (1,), "same").size
        (1, 3)
    """
    if len(size) > 1:
        return Windows(tuple(size), strides, dilations, padding)
    padding = padding if isinstance(padding, str) else ((0, 0), *padding)
    return Windows((1, *size), (1, *strides), (1, *dilations), padding)


def overlap_add(total: Any, patches: Any, windows: Windows) -> None:
    """Add each element of each window to its place in the input.

    Args:
        total: (batch, padded spatial sizes..., channels), an array that can be assigned to.
        patches: (batch, windows..., window..., channels).
        windows: the geometry.
    """
    if 0 in patches.shape:
        return
    for element, at in windows.elements(patches.shape[1 : len(windows.size) + 1]):
        total[:, *at] += patches[..., *element, :]


def output_sizes(sizes: Sizes, size: Sizes, strides: Any, dilations: Any, padding: Any) -> list[int | None]:
    """`Windows.count` for sizes of inputs and windows that may be unknown, with a check of the other arguments.

    Raises:
        ValueError: the arguments do not fit each other.
    """
    rank = len(sizes)
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != rank or any(v < 1 for v in values):
            raise ValueError(f"the {name} must be {rank} positive integers, but they are {values}.")
    if any(k is not None and k < 1 for k in size):
        raise ValueError(f"a window must have positive sizes, but they are {tuple(size)}.")
    if padding not in PADDINGS and (len(padding) != rank or any(min(pair) < 0 for pair in padding)):
        raise ValueError(f'the padding must be "valid", "same" or {rank} pairs (before, after), not {padding!r}.')

    def along(axis: int) -> int | None:
        n, k = sizes[axis], size[axis]
        if n is None or (k is None and padding != "same"):
            return None
        pad = padding if isinstance(padding, str) else (padding[axis],)
        return Windows((k or 1,), (strides[axis],), (dilations[axis],), pad).count([n])[0]

    return [along(axis) for axis in range(rank)]


def per_axis(value: Any, rank: int) -> tuple[int, ...]:
    """One number for all axes, or a number per axis, as a tuple with a number per axis."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


def data_format_of(value: str | None) -> Any:
    """A valid data format; the default one for None.

    Raises:
        ValueError: there is no such data format.
    """
    if value is not None and value not in config.DATA_FORMATS:
        raise ValueError(f"data_format must be one of {', '.join(config.DATA_FORMATS)}; got {value!r}.")
    return value or config.image_data_format()


def split_shape(shape: Any, data_format: str) -> tuple[Any, list[Any], Any]:
    """The batch, spatial sizes and channels of a shape."""
    batch, *rest = shape
    return (batch, rest[:-1], rest[-1]) if data_format == "channels_last" else (batch, rest[1:], rest[0])


def join_shape(batch: Any, sizes: Sequence[Any], channels: Any, data_format: str) -> tuple[Any, ...]:
    """The reverse of `split_shape`."""
    return (batch, *sizes, channels) if data_format == "channels_last" else (batch, channels, *sizes)
