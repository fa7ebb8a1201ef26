"""The signs of vectors, which the engines' rules for matrices share."""

from __future__ import annotations

from typing import Any


def phases(library: Any, vectors: Any) -> Any:
    """The factors of the columns that make the first large entry of each positive.

    An entry is large if it is at least half as large as the largest.  So rounding errors hardly ever decide which one
    is first.

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


def turned(library: Any, values: Any, vectors: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors, of which the first large entry of each is positive."""
    return values, vectors * phases(library, vectors)
