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
from operator import index
from typing import Any, Literal, NamedTuple, TypeAlias

from dovetail.core.base import config

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


class Moves(NamedTuple):
    """How windows move, in the order of the arguments of convolutions.

    Attributes:
        strides, dilations: as in `Windows`.
        padding: a word in small letters, or a pair (before, after) for each axis.
        data_format: "channels_last" or "channels_first".
    """

    strides: tuple[int, ...]
    padding: Any
    data_format: Any
    dilations: tuple[int, ...]


def moves(
    rank: int,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any = None,
    *,
    around: bool = False,
    counted: bool = True,
) -> Moves:
    """Bring the words for windows into one form.

    Args:
        rank: the number of spatial axes.
        strides, dilations: one number, or one for each axis; 1 for dilations of None.
        padding: a word, or a pair for each axis.
        data_format: the default one for None.
        around: whether numbers and pairs may also be given for all axes, including batch and channels.
        counted: whether the numbers are counted here; else type rules count them, which also know the tensors.

    Raises:
        ValueError: there is no such data format, too many or too few numbers are given, or windows would move along
            the batch or the channels.

    Example:
        >>> moves(2, [1, 2, 2, 1], "SAME", "channels_last", around=True)
        Moves(strides=(2, 2), padding='same', data_format='channels_last', dilations=(1, 1))
    """
    data_format = data_format_of(data_format)
    inside = functools.partial(spatial, rank=rank, data_format=data_format) if around else lambda value: value
    steps = per_axis(inside(strides), rank)
    rates = per_axis(1 if dilations is None else inside(dilations), rank)
    for name, numbers in (("strides", steps), ("dilations", rates)):
        if counted and len(numbers) != rank:
            raise ValueError(f"the {name} must be one number or {rank}, not {numbers}.")
    pads = padding.lower() if isinstance(padding, str) else tuple(map(tuple, inside(padding)))
    return Moves(steps, pads, data_format, rates)


def spatial(values: Any, rank: int, data_format: str) -> Any:
    """Values without the first and last of the batch and the channels, if there is one for each axis of a tensor.

    Raises:
        ValueError: a number is not 1 there, so that windows would move along the batch or the channels.
    """
    if not hasattr(values, "__len__") or len(values) != rank + 2:
        return values
    batch, inside, channels = split_shape(list(values), data_format)
    if any(not hasattr(n, "__len__") and n != 1 for n in (batch, channels)):
        raise ValueError(f"nothing moves along the batch and the channels: {values}.")
    return inside


def per_axis(value: Any, rank: int) -> tuple[int, ...]:
    """A number for each spatial axis, from one number for all axes or one for each; the numbers are not counted."""
    if isinstance(value, int):
        return (value,) * rank
    numbers = tuple(map(index, value)) if hasattr(value, "__iter__") else (index(value),)
    return numbers * rank if len(numbers) == 1 else numbers


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
