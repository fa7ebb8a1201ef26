"""Interrupts: Ctrl-C waits while a plan holds the only copy of variables' values.

An engine that consumes buffers returns new ones in their place.  An interrupt between the two would leave variables
without a value, and a user who stops a training run without the model; so it is raised as soon as the values are back.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_MAIN = threading.main_thread().ident


class InterruptsWait:
    """Holds back SIGINT inside its `with` block, and then gives it to the handler that it was meant for."""

    def __enter__(self) -> None:
        self._waiting: tuple[int, FrameType | None] | None = None
        self._handler: Any = None
        if threading.get_ident() == _MAIN:  # Python runs handlers in the main thread, and sets them there
            self._handler = signal.getsignal(signal.SIGINT)
            if callable(self._handler):
                signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waiting = number, frame

    def __exit__(self, *exception: Any) -> None:
        if callable(self._handler):
            signal.signal(signal.SIGINT, self._handler)
            if self._waiting is not None:
                self._handler(*self._waiting)
