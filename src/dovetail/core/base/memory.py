"""Memory: whether the process keeps large freed blocks, for the next requests of this size.

A training step takes and frees the same large blocks again and again.  glibc takes each of them from the operating
system and gives it back.  Each time the system clears its pages.  On a convolutional net this can take as long as the
arithmetic.  With `set_keep_memory(True)` glibc keeps the blocks.  This costs memory, which the process does not give
back, and each thread that allocates keeps its own blocks.

It is off if Dovetail is one library among others, and on if Dovetail is the program: Keras on Dovetail, `dovetail run`
and the demo.  DOVETAIL_KEEP_MEMORY=1 and =0 override this.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from typing import Any

from dovetail.core.base.errors import check_bool, op_error

logger = logging.getLogger("dovetail.memory")

VARIABLE = "DOVETAIL_KEEP_MEMORY"
BLOCK = 32 * 2**20  # the most bytes of one request of engines, if possible: a thread's heap keeps blocks below 64 MiB
_CHOICES = {None: None, "": None, "0": False, "1": True}  # of the variable

# The settings of mallopt(3), by the numbers of malloc.h: (to keep memory, glibc's default).  Threads keep heaps of
# their own: a compiler leaves thousands of free pieces in its heap, and glibc walks through them there.
_OPTIONS = {
    -4: (0, 65536),  # M_MMAP_MAX: large blocks are on a heap
    -1: (2**31 - 1, 128 * 1024),  # M_TRIM_THRESHOLD: its free end stays
    -2: (64 * 2**20, 128 * 1024),  # M_TOP_PAD: it grows by as much; and the parts of threads' heaps stay
}

_is_kept = False
_is_chosen = False  # by the program or the environment


def keep_memory() -> bool:
    """Whether the process keeps large blocks that are freed.

    Example:
        >>> keep_memory()
        False
    """
    return _is_kept


def set_keep_memory(value: bool) -> None:
    """Set whether the process keeps large blocks that are freed, from now on.

    If the C library is not glibc, this has no effect, and `logging.getLogger("dovetail.memory")` logs one warning.  On
    the heaps of threads other than the main one, glibc keeps no block of more than 64 MiB.

    Raises:
        TypeError: the value is no bool.

    Source: mallopt(3) of glibc.
    """
    global _is_chosen
    check_bool("set_keep_memory", value)
    _is_chosen = True
    _set(value)


def follow_environment() -> None:
    """Apply the setting of the environment, when Dovetail is imported.

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
    """Keep memory, unless the program or the environment has set whether to; for programs that are Dovetail's own."""
    if not _is_chosen and not _is_kept:
        _set(True)


def give_back() -> None:
    """Give the free part of the kept memory to the operating system, once, after work that will not run again.

    Source: malloc_trim(3) of glibc.
    """
    library = glibc() if _is_kept else None
    if library is not None:
        library.malloc_trim(0)


def _set(value: bool) -> None:
    global _is_kept
    library = glibc()
    if library is None:
        if value:
            _note()
        return
    for option, (kept, usual) in _OPTIONS.items():
        library.mallopt(option, kept if value else usual)
    _is_kept = value


@functools.cache
def _note() -> None:
    logger.warning("keep_memory has no effect: it is a setting of glibc, which this process does not use.")


def glibc() -> Any:
    """The C library, if it is glibc; else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # this platform has no library of the process itself
        return None
    return library if hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt") else None
