"""Progress of long reads of files, for a watcher above, such as the command line; or as a bar in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from dovetail.core.base import notebook
from dovetail.core.base.scopes import Scoped

Watcher = Callable[[str, int, int], None]  # (what is read, its bytes so far, all of its bytes)
WATCHER: Scoped[Watcher | None] = Scoped(None)
LARGE = 1 << 26  # bytes of a tensor whose reading is shown


def watched(chunks: Iterable[np.ndarray], what: str, size: int) -> Iterator[np.ndarray]:
    """The parts of something that is read, while the watcher of this scope is told how far it is.

    Example:
        >>> with WATCHER.scope(print):
        ...     parts = list(watched([np.zeros(3, "uint8"), np.zeros(1, "uint8")], "w", 4))
        w 3 4
        w 4 4
    """
    watcher, done = WATCHER.get(), 0
    if watcher is None and size >= LARGE:
        watcher = notebook.bar()
    for chunk in chunks:
        yield chunk
        done += chunk.nbytes
        if watcher is not None:
            watcher(what, done, size)
