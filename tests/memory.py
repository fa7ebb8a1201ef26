"""What tests keep in memory: what XLA compiled is dropped, what libraries are is not looked through for garbage."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

STATM = Path("/proc/self/statm")  # Linux says there how many pages are in memory
LARGE, GROWN = 1.5e9, 0.2e9  # bytes
MODULES = 200  # as a library has, and few tests


class Memory:
    """Of a process that runs tests, one after the other."""

    limit = LARGE
    modules = 0  # that were imported when the objects there were were last frozen

    @classmethod
    def bound(cls) -> None:
        """Drops what XLA compiled for tests that are over in a large process: each program takes a megabyte."""
        if STATM.exists() and cls.used() > cls.limit:
            if "jax" in sys.modules:
                sys.modules["jax"].clear_caches()
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            cls.limit = max(LARGE, cls.used() + GROWN)

    @classmethod
    def freeze(cls) -> None:
        """Keeps what libraries that were imported made, millions of objects, out of garbage collections."""
        if len(sys.modules) > cls.modules + MODULES:
            gc.collect()
            gc.freeze()
            cls.modules = len(sys.modules)

    @staticmethod
    def used() -> int:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
