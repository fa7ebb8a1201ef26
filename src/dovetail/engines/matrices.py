"""What the engines' rules for matrices share: halves, which LAPACK does not know, and the signs of vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any


def in_float32(cast: Callable[[Any, Any], Any], halves: Collection[Any], float32: Any) -> Callable[..., Any]:
    """A decorator of rules for matrices: those of 16-bit floats are computed in float32.

    Args:
        cast: (array, dtype) → the library's array in that dtype.
        halves: the library's 16-bit floats.
        float32: its float32.
    """

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def wide(*args: Any) -> Any:
            half = args[0].dtype
            if half not in halves:
                return rule(*args)
            results = rule(*[cast(a, float32) if getattr(a, "dtype", None) == half else a for a in args])
            if isinstance(results, (tuple, list)):
                return [cast(y, half) if y.dtype == float32 else y for y in results]
            return cast(results, half)

        return wide

    return decorate


def phases(library: Any, vectors: Any) -> Any:
    """What the columns are multiplied with so that the first large entry of each is positive.

    An entry is large if it is at least half as large as the largest, so that rounding errors hardly ever decide which
    one is first.

    Args:
        library: a module with NumPy's functions: numpy, torch, jax.numpy, tensorflow.experimental.numpy.
        vectors: of shape (..., n, k).

    Returns:
        Signs, or numbers on the unit circle for complex vectors, of shape (..., 1, k).
    """
    if vectors.shape[-2] == 0:
        return library.sum(vectors, axis=-2, keepdims=True) + 1
    sizes = library.abs(vectors)
    large = sizes >= library.amax(sizes, axis=-2, keepdims=True) / 2
    first = large & (library.cumsum(library.where(large, 1, 0), axis=-2) == 1)
    entry = library.sum(library.where(first, vectors, library.zeros_like(vectors)), axis=-2, keepdims=True)
    return library.divide(library.conj(entry), library.abs(entry))


def aligned(library: Any, u: Any, s: Any, vh: Any) -> tuple[Any, Any, Any]:
    """A singular value decomposition in which the first large entry of each column of u is positive."""
    k = s.shape[-1]
    signs = phases(library, u)
    rows = vh[..., :k, :] / library.swapaxes(signs[..., :k], -1, -2)
    return u * signs, s, library.concatenate([rows, vh[..., k:, :]], -2)
