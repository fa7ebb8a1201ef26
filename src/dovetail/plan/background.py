"""Work in the background: one thread that prepares plans while a program runs others.

When the program ends, the thread is stopped, whatever it imports: its work is of no use any more.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from dovetail.core.locks import holding, make_lock

logger = logging.getLogger("dovetail.plan")

PATIENCE = 1.0  # seconds until a thread that did not stop is told again: libraries may catch whatever is raised


class _Stopped(BaseException):
    """The program ends, so the thread that prepares plans does."""


class _Worker:
    """A thread that calls functions, one after the other, until the program ends."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="dovetail-plans")
        self._end = threading.Thread(target=self._stop_at_end, name="dovetail-plans-end")

    def start(self) -> None:
        """Starts the threads that do not run yet: an exception may have come before one of them was started.

        Raises:
            RuntimeError: the process ends, and has no new threads.
        """
        for thread in (self._end, self._thread):  # in this order: one waits for the other
            if thread.ident is None:
                thread.start()

    def _work(self) -> None:
        try:
            while True:
                self._call(self.waiting.get())
        except _Stopped:
            return

    def _call(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception:
            logger.exception("preparing a plan in the background failed")

    def _stop_at_end(self) -> None:
        threading.main_thread().join()
        sys.unraisablehook = _but_stopped(sys.unraisablehook)
        while self._thread.is_alive():
            stop = ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(_Stopped)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(*stop)
            self.waiting.put(_nothing)  # else it would wait for a function, and see no exception
            self._thread.join(PATIENCE)


def _nothing() -> None:
    """What wakes a thread that waits."""


def _but_stopped(report: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Reports what is raised where it cannot be handled, as in a callback, but for what stops the thread."""
    return lambda raised: None if issubclass(raised.exc_type, _Stopped) else report(raised)


_workers: list[_Worker] = []
_starting = make_lock()


def later(function: Callable[[], None]) -> None:
    """Calls a function in the background, after those that came before it; never if the process ends before."""
    try:
        holding(_starting, _started).waiting.put(function)
    except RuntimeError:
        return  # the process ends, and has no new threads


def _started() -> _Worker:
    if not _workers:
        _workers.append(_Worker())
    _workers[0].start()
    return _workers[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)  # whose thread a fork does not copy
