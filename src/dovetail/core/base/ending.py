"""The end of the program for threads in the background, which stop themselves at their next `stop_if_ending`."""

from __future__ import annotations

import threading

_ending: set[threading.Thread] = set()


class Ending(BaseException):
    """The end of the program, which stops a thread in the background."""


def end(thread: threading.Thread) -> None:
    """Let a thread stop at its next `stop_if_ending`."""
    _ending.add(thread)


def stop_if_ending() -> None:
    """Stop the current thread if it was told to end; do nothing in any other thread.

    Raises:
        Ending: the thread was told to end.
    """
    if _ending and threading.current_thread() in _ending:
        raise Ending
