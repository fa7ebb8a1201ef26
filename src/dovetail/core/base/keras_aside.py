"""Keras kept out of the imports of other libraries, so that the program decides on the backend of Keras.

TensorFlow's own import loads Keras, and goes on without it if that fails; `tf.keras` loads it when it is used.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Refusal:
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        raise ImportError(f"{spec.name} is imported when the program uses it", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        raise NotImplementedError


class _Finder:
    """Finds Keras, as libraries ask where it is, but lets this thread's imports of it fail."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "keras" or threading.get_ident() != self._thread:
            return None
        if (spec := PathFinder.find_spec(name, path, target)) is not None:
            spec.loader = _Refusal()  # type: ignore[assignment]  # its base class, Loader, is slow to import
        return spec


@contextmanager
def keras_aside() -> Iterator[None]:
    """Let imports of Keras fail in this thread, if it is not imported yet."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
