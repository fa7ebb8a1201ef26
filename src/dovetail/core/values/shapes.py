"""Shapes: the shape to which others broadcast, axes, sizes, and whether two shapes can be one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.values.spec import Shape


def broadcast(*shapes: Shape) -> Shape:
    """The shape to which shapes broadcast, by NumPy's rule.

    Example:
        >>> broadcast((2, 1), (3,)), broadcast((None, 1), (4, 5))
        ((2, 3), (4, 5))
    """
    if any(shape is None for shape in shapes):
        return None
    rank = max(map(len, shapes))  # type: ignore[arg-type]
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]  # type: ignore[arg-type]
    return tuple(_broadcast_dim(dims, shapes) for dims in zip(*padded, strict=True))


def _broadcast_dim(dims: Sequence[int | None], shapes: Sequence[Shape]) -> int | None:
    known = {dim for dim in dims if dim is not None and dim != 1}
    if len(known) > 1:
        text = " and ".join("[" + ",".join("?" if d is None else str(d) for d in s or ()) + "]" for s in shapes)
        raise ValueError(f"the shapes {text} do not broadcast: each pair of dimensions must be equal or 1.")
    if known:
        return known.pop()
    return None if None in dims else 1


def normalize_axis(axis: Any, rank: int) -> int:
    """A possibly negative axis as 0 … rank - 1.

    Raises:
        IndexError: the axis is out of range.
    """
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"an axis must be an int, not {axis!r}.")
    if not -rank <= axis < rank:
        allowed = f"it must be in [{-rank}, {rank - 1}]" if rank > 0 else "a scalar has no axes"
        raise IndexError(f"the axis {axis} is out of range for rank {rank}: {allowed}.")
    return int(axis) % rank


def normalize_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """Axes as a sorted tuple of 0 … rank - 1; None means all of them.

    Raises:
        IndexError: an axis is out of range.
        ValueError: an axis is named twice.
    """
    if axes is None:
        return tuple(range(rank))
    normal = [normalize_axis(a, rank) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(normal)) != len(normal):
        raise ValueError(f"the axes {axes} name one axis twice.")
    return tuple(sorted(normal))


def reduced_shape(shape: Shape, axis: Any, keepdims: bool) -> Shape:
    """The shape after reducing over `axis`."""
    if shape is None:
        return () if axis is None and not keepdims else None
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else dim for i, dim in enumerate(shape))
    return tuple(dim for i, dim in enumerate(shape) if i not in axes)


def fits(a: Shape, b: Shape) -> bool:
    """Whether two shapes can be the same one; unknown dimensions fit any.

    Example:
        >>> fits((2, None), (2, 3)), fits((2,), (2, 1))
        (True, False)
    """
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(None in pair or pair[0] == pair[1] for pair in zip(a, b, strict=True))


def size_of(shape: Shape) -> int | None:
    """The number of elements, None if unknown."""
    if shape is None or None in shape:
        return None
    size = 1
    for dim in shape:
        size *= dim  # type: ignore[operator]
    return size


def shape_of_nothing(given: Any, shape: Any) -> tuple[int, ...]:
    """The new shape of an empty array with its -1 replaced; as in TensorFlow, dimensions of 0 do not count for it."""
    if -1 not in shape:
        return tuple(shape)
    if 0 not in shape:
        return tuple(0 if dim == -1 else dim for dim in shape)
    missing = math.prod(dim for dim in given if dim) // math.prod(dim for dim in shape if dim > 0)
    return tuple(missing if dim == -1 else dim for dim in shape)
