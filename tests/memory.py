"""Memory of tests: drops of XLA's compiled programs, and libraries' objects kept out of garbage collection."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

STATM = Path("/proc/self/statm")  # Linux writes the number of pages in memory there
LARGE, GROWN = 1.5e9, 0.2e9  # bytes
MODULES = 200  # as many as a library has; few tests import that many


class Memory:
    """The memory of a process that runs tests, one after the other."""

    limit = LARGE
    modules = 0  # the number of imported modules when objects were last frozen

    @classmethod
    def bound(cls) -> None:
        """Drop XLA's compiled programs of finished tests in a large process: each takes a megabyte."""
        if STATM.exists() and cls.used() > cls.limit:
            if "jax" in sys.modules:
                sys.modules["jax"].clear_caches()
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            cls.limit = max(LARGE, cls.used() + GROWN)

    @classmethod
    def freeze(cls) -> None:
        """Keep the objects of imported libraries, which are millions, out of garbage collections."""
        if len(sys.modules) > cls.modules + MODULES:
            gc.collect()
            gc.freeze()
            cls.modules = len(sys.modules)

    @staticmethod
    def used() -> int:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
