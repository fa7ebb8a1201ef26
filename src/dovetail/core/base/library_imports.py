"""Imports of engines' libraries: whole ones, that neither load Keras nor draw numbers of NumPy's global generator.

The program decides on the backend of Keras, and seeds the generator.  TensorFlow's own import loads Keras, and goes on
without it if that fails; `tf.keras` loads it when it is used.  A library of which half is imported stays broken in its
process, so signals wait for the end of an import.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np


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


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Let signals wait whose handlers are written in Python, and may raise, as that of Ctrl-C; they come afterwards.

    An interrupted import leaves a library's types in C++ registered and its modules in Python absent: the next import
    raises an error, or ends the process.  Python runs handlers in the main thread alone.

    Example:
        >>> import signal
        >>> came = []
        >>> before = signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
        >>> with without_interrupts():
        ...     signal.raise_signal(signal.SIGALRM)
        ...     came
        []
        >>> came == [signal.SIGALRM]
        True
        >>> _ = signal.signal(signal.SIGALRM, before)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: dict[int, None] = {}

    def note(number: int, frame: Any) -> None:
        came[number] = None

    handlers = {number: handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is note:  # else the library has its own
                signal.signal(number, handler)
        with ExitStack() as late:  # the next one comes, too, if a handler raises
            for waiting in reversed(came):
                late.callback(signal.raise_signal, waiting)
