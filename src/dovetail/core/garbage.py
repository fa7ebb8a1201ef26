"""Garbage collection: it stays off where many objects are made and none is garbage, and out of libraries."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """While a graph is built nothing of it is garbage, and looking for some would take as long as the building."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """While libraries are imported; what they consist of is left out of garbage collections from then on.

    Else each full one looks through it, a third of a second for the objects of Keras and TensorFlow.  What a program
    made before is left out, too, so this is for its beginning.  Garbage is collected before: imports leave next to
    none, and a collection after them would look through it all.
    """
    gc.collect()
    with no_garbage_collection():
        yield
    gc.freeze()
