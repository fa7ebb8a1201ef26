"""NumPy's global random generator, which programs seed, and from which a library must not draw while it is imported."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def without_draws() -> Iterator[None]:
    """Keep what this thread imports from drawing numbers of NumPy's global generator.

    An import of jax calls `numpy.random.rand`.  Meanwhile another thread may draw, so the generator's state cannot be
    put back afterwards: that thread would draw the same numbers twice.  So this thread's calls of `numpy.random.rand`
    draw from another generator.

    Example:
        >>> np.random.seed(0)
        >>> with without_draws():
        ...     _ = np.random.rand(5)
        >>> round(np.random.rand(), 4)
        0.5488
    """
    importing, given, other = threading.get_ident(), np.random.rand, np.random.RandomState(0)

    def rand(*shape: int) -> Any:
        return (other.rand if threading.get_ident() == importing else given)(*shape)

    np.random.rand = rand
    try:
        yield
    finally:
        np.random.rand = given
