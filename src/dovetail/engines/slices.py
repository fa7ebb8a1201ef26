"""What a strided slice means, worked out once for all engines: TensorFlow's masks, NumPy's bounds, negative steps."""

from __future__ import annotations

from collections.abc import Sequence

Index = slice | int


def entries(
    begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> tuple[Index, ...]:
    """The slice as Python writes it: an int for an axis that goes away, a `slice` for one that stays."""
    return tuple(
        first
        if shrink_axis_mask >> i & 1
        else slice(None if begin_mask >> i & 1 else first, None if end_mask >> i & 1 else stop, step)
        for i, (first, stop, step) in enumerate(zip(begin, end, strides, strict=True))
    )


def forward(index: tuple[Index, ...], shape: Sequence[int]) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    """The same elements with positive steps and bounds inside the shape.

    Returns:
        The index, and the axes of its result that have to be flipped.

    Example:
        >>> forward((0, slice(None, None, -2)), (3, 6))
        ((0, slice(1, 6, 2)), (0,))
    """
    found: list[Index] = []
    flipped: list[int] = []
    axis = 0
    for entry, dim in zip(index, shape, strict=False):
        if isinstance(entry, int):
            found.append(entry % dim)
            continue
        positions = range(*entry.indices(dim))
        if positions.step < 0:
            flipped.append(axis)
            positions = positions[::-1]
        found.append(slice(positions.start, positions[-1] + 1, positions.step) if positions else slice(0, 0, 1))
        axis += 1
    return tuple(found), tuple(flipped)
