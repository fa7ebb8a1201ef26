"""Work in the background: one thread that prepares plans while a program runs others.

When the program ends, the thread stops at its next import of a module, or at its next `stop_if_ending`.  Nothing is
raised anywhere else, so no library is interrupted.  The program waits for the thread's current step.  The ledger lets
no job begin that costs more than a small part of the time of the process.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from dovetail.core.base.ending import Ending, end, stop_if_ending
from dovetail.core.base.locks import holding, let_forks_wait, make_lock

logger = logging.getLogger("dovetail.plan")

LONGEST_JOB = 10.0  # seconds for which a fork waits while the thread works


class _Worker:
    """A thread that calls functions, one after the other, until the program ends."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="dovetail-plans")
        self._end = threading.Thread(target=self._stop_at_end, name="dovetail-plans-end")

    def start(self) -> None:
        """Start the threads that do not run yet: an exception may have come before one of them was started.

        Raises:
            RuntimeError: the process ends, and has no new threads.
        """
        for thread in (self._end, self.thread):  # in this order: the first one stops the second
            if thread.ident is None:
                thread.start()

    def _work(self) -> None:
        with suppress(Ending):
            while True:
                self._call(self.waiting.get())

    def _call(self, function: Callable[[], None]) -> None:
        try:
            holding(_working, function)
        except Exception:
            logger.exception("preparing a plan in the background failed")

    def _stop_at_end(self) -> None:
        threading.main_thread().join()
        end(self.thread)
        sys.meta_path.insert(0, self)
        self.waiting.put(stop_if_ending)  # else the thread would wait for a function

    def find_spec(self, *args: Any) -> None:
        """Find no module, and stop the thread if the program ends; Python asks this finder at each import."""
        stop_if_ending()

    invalidate_caches = find_spec


_workers: list[_Worker] = []
_starting, _working = make_lock(), make_lock()


def later(function: Callable[[], None]) -> None:
    """Call a function in the background, after all earlier ones; never, if the process ends before its turn."""
    try:
        holding(_starting, _started).waiting.put(function)
    except RuntimeError:
        return  # the process ends, and has no new threads


def _started() -> _Worker:
    if not _workers:
        _workers.append(_Worker())
    _workers[0].start()
    return _workers[0]


# A library that sets up its first kernel in the thread would never be ready in a child: the setup stays begun there.
let_forks_wait(_working, LONGEST_JOB)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)  # a fork does not copy threads
