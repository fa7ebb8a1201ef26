"""The meaning of slices and positions, once for all engines: masks, negative steps, positions out of range."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

Index = slice | int

# Ops that move elements and return new memory, never a view of an argument, in every library.
COPIES = (
    *("StridedSliceGrad", "PadV2", "XlaDynamicUpdateSlice", "GatherV2", "TakeAlongAxis", "Tile", "Roll"),
    *("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMul", "TensorScatterMax", "TensorScatterMin"),
    *("Sort", "ArgSort", "SearchSorted", "Where"),
)


def entries(
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int,
    end_mask: int,
    shrink_axis_mask: int,
) -> tuple[Index, ...]:
    """The slice as Python writes it: an int for an axis that goes away, a `slice` for one that stays."""
    return tuple(
        first
        if shrink_axis_mask >> i & 1
        else slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else stop, step)
        for i, (first, stop, step) in enumerate(zip(begin, end, strides, strict=True))
    )


def forward(index: tuple[Index, ...], shape: Sequence[int]) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    """The index of the same elements, with positive steps and bounds inside the shape.

    Returns:
        The index, and the axes of its result that have to be flipped.

    Raises:
        IndexError: a position is out of range.

    Example:
        >>> forward((0, slice(None, None, -2)), (3, 6))
        ((0, slice(1, 6, 2)), (0,))
    """
    positive: list[Index] = []
    flipped: list[int] = []
    axis = 0
    for entry, dim in zip(index, shape, strict=False):
        if isinstance(entry, int):
            if not -dim <= entry < dim:
                raise IndexError(
                    f"the index {entry} is out of range for axis {len(positive)}, which has the size {dim}"
                )
            positive.append(entry % dim)
            continue
        positions = range(*entry.indices(dim))
        if positions.step < 0:
            flipped.append(axis)
            positions = positions[::-1]
        positive.append(slice(positions.start, positions[-1] + 1, positions.step) if positions else slice(0, 0, 1))
        axis += 1
    return tuple(positive), tuple(flipped)


@functools.lru_cache(4096)
def located(shape: tuple[int, ...], *where: Any) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    """`forward` of the `entries`, cached, since a loop repeats the same slices."""
    return forward(entries(*where), shape)


def block(start: Any, size: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    """The block of a size that starts at a position, moved so that it lies inside the shape.

    Example:
        >>> import numpy as np
        >>> block(np.array([1, 9]), (2, 2), (4, 4))
        (slice(1, 3, None), slice(2, 4, None))
    """
    starts = [max(0, min(at, dim - n)) for at, n, dim in zip(start.tolist(), size, shape, strict=True)]
    return tuple(slice(at, at + n) for at, n in zip(starts, size, strict=True))


def rows(indices: Any, dims: Sequence[int], is_checked: bool = True) -> Any:
    """Positions on several axes as row numbers of the tensor in which these axes are one.

    Args:
        indices: signed integers of shape (…, len(dims)), in an array of any library.
        dims: the sizes of the axes.
        is_checked: whether the positions have numbers, which can be checked.

    Raises:
        IndexError: a position is out of range.

    Example:
        >>> import numpy as np
        >>> rows(np.array([[0, 2], [-1, 0]]), (2, 3))
        array([2, 3])
    """
    numbers = 0
    for axis, dim in enumerate(dims):
        position = indices[..., axis]
        position = position + (position < 0) * dim
        if is_checked:
            check_range(position, dim, axis)
        numbers = numbers * dim + position
    return numbers


def check_range(positions: Any, dim: int, axis: int = 0) -> None:
    """Raise IndexError if a position is not in 0 … dim - 1."""
    wrong = (positions < 0) | (positions >= dim)
    if bool(wrong.any()):
        raise IndexError(f"a position is out of range for axis {axis}, which has the size {dim}")
