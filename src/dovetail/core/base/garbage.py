"""Garbage collection: scopes without it, for code that makes many objects and no garbage, and for imports."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class NoGarbageCollection:
    """A scope without collections, for building a graph: there is no garbage, and they would take as long as that."""

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Turn collections off while libraries are imported, and leave the libraries' objects out of later collections.

    Otherwise each full collection looks through them, a third of a second for the objects of Keras and TensorFlow.  The
    objects that a program made before are left out, too, so this is for a program's beginning.  Garbage is collected
    before: imports leave next to none, and a collection after them would look through all their objects.
    """
    gc.collect()
    with NoGarbageCollection():
        yield
    gc.freeze()
