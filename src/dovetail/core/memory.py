"""Memory: whether large blocks that are freed stay with the process, for what needs blocks of this size next.

A training step takes and frees the same large blocks again and again.  glibc takes each of them from the operating
system and gives it back, which clears its pages each time: on a convolutional net this can take as long as the
arithmetic.  With `set_keep_memory(True)` glibc keeps them.  It costs memory, which the process does not give back, and
all threads allocate from one heap, so many threads that allocate at once wait for each other.

It is off where Dovetail is one library among others, and on where it is the program: Keras on Dovetail, `dovetail run`
and the demo.  DOVETAIL_KEEP_MEMORY=1 and =0 say otherwise.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from typing import Any

from dovetail.core.errors import describe, op_error

logger = logging.getLogger("dovetail.memory")

VARIABLE = "DOVETAIL_KEEP_MEMORY"
_CHOICES = {None: None, "": None, "0": False, "1": True}  # of the variable

# What mallopt(3) is told, by the numbers of malloc.h: (where memory is kept, as glibc starts).
_OPTIONS = {
    -8: (1, 0),  # M_ARENA_MAX: threads take from one heap, since others give large blocks back
    -4: (0, 65536),  # M_MMAP_MAX: large blocks are on this heap
    -1: (2**31 - 1, 128 * 1024),  # M_TRIM_THRESHOLD: its free end stays
    -2: (64 * 2**20, 128 * 1024),  # M_TOP_PAD: it grows by so many bytes at once
}

_is_kept = False
_is_chosen = False  # by the program or the environment


def keep_memory() -> bool:
    """Whether large blocks that are freed stay with the process.

    Example:
        >>> keep_memory()
        False
    """
    return _is_kept


def set_keep_memory(value: bool) -> None:
    """Says whether large blocks that are freed stay with the process, from now on.

    It takes effect on threads that start afterwards, so it is called before an engine is first used; where it is too
    late, or the C library is not glibc, a warning is logged once, by `logging.getLogger("dovetail.memory")`.

    Raises:
        TypeError: the value is no bool.

    Source: mallopt(3) of glibc.
    """
    global _is_chosen
    if not isinstance(value, bool):
        raise op_error(TypeError, "set_keep_memory", f"it must be True or False, not {describe(value)}.")
    _is_chosen = True
    _set(value)


def follow_environment() -> None:
    """What the environment says, when Dovetail is imported.

    Raises:
        ValueError: the variable is neither 0 nor 1.
    """
    said = os.environ.get(VARIABLE)
    if said not in _CHOICES:
        raise op_error(ValueError, VARIABLE, f"it must be 0 or 1 in the environment, not {said!r}.")
    chosen = _CHOICES[said]
    if chosen is not None:
        set_keep_memory(chosen)


def keep_by_default() -> None:
    """Keeps memory, unless the program or the environment has said whether to; for programs that are Dovetail's own."""
    if not _is_chosen and not _is_kept:
        _set(True)


def _set(value: bool) -> None:
    global _is_kept
    library = _glibc()
    if library is None:
        if value:
            _note("it is a setting of glibc, which this process does not use; memory is managed as ever")
        return
    arenas = _arenas(library) if value else 0
    if arenas > 1:
        _note(
            f"threads of other libraries allocate from {arenas - 1} further heaps already, on which it has no effect: "
            f"call dovetail.config.set_keep_memory(True), or import keras_dovetail, before they compute anything, or "
            f"set {VARIABLE}=1 in the environment"
        )
    for option, (kept, usual) in _OPTIONS.items():
        library.mallopt(option, kept if value else usual)
    _is_kept = value


@functools.cache
def _note(problem: str) -> None:
    logger.warning("large blocks of memory are to stay with the process, but %s.", problem)


def _glibc() -> Any:
    """The C library, if it is glibc; else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # where libraries are not found so
        return None
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None


def _arenas(library: Any) -> int:
    """How many heaps there are: one, and one for each thread that has allocated something, up to a bound."""
    library.open_memstream.restype = stream = ctypes.c_void_p
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    file = stream(library.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    library.malloc_info(0, file)
    library.fclose(file)
    found = ctypes.string_at(text.value or 0, size.value).count(b"<heap ")
    library.free(text)
    return found
