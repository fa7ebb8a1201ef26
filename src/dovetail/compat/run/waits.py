"""Calls that wait for a person, who is not there without a display or a terminal: they return."""

from __future__ import annotations

import builtins
import functools
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from dovetail.compat.run.notices import say

DISPLAYS = "DISPLAY", "WAYLAND_DISPLAY"
WINDOWS = re.compile(r"(?i)(tk|qt|gtk|wx|macosx)")  # in names of backends of Matplotlib that open windows
MOST_EMPTY = 100  # answers to `input`: a loop that asks until it likes the answer ends
ESCAPE = 27


def has_display() -> bool:
    """Whether windows can be opened."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, DISPLAYS))


def asking() -> Callable[..., str]:
    """Make a program's `input`: at the end of what comes in, the answer is empty.

    Returns:
        The function.  After 100 empty answers it raises `EOFError`, as Python does.
    """
    count = 0

    def input(prompt: object = "", /) -> str:
        nonlocal count
        try:
            return builtins.input(prompt)
        except (EOFError, RuntimeError):  # no standard input
            count += 1
            if count > MOST_EMPTY:
                raise
        print()
        say("nobody answers input(), so the answer is empty")
        return ""

    return input


def not_without_events(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of Matplotlib's figures that waits: it returns None if the figure is in no window."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.canvas.required_interactive_framework is not None:
            return function(self, *args, **kwargs)
        say(f"the figure is in no window, so {function.__name__}() does not wait")
        return [] if function.__name__ == "ginput" else None

    return call


def without_windows(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function of Matplotlib that chooses a backend: without a display, none opens windows."""

    @functools.wraps(function)
    def call(backend: str, *args: Any, **kwargs: Any) -> Any:
        if has_display() or not WINDOWS.search(backend):
            return function(backend, *args, **kwargs)
        say(f"there is no display, so Matplotlib draws with Agg, not with {backend}")
        return function("Agg")

    return call


def shown(result: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a wrapper of a function of OpenCV's windows: without a display it returns a value and does nothing else."""

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if has_display():
                return function(*args, **kwargs)
            say(f"there is no display, so cv2.{function.__name__} does nothing")
            return result

        return call

    return wrapped


def key_awaited(function: Callable[..., int]) -> Callable[..., int]:
    """Wrap `cv2.waitKey`: without a display, no key is pressed in time; if it waits for ever, Escape is."""

    @functools.wraps(function)
    def call(delay: int = 0) -> int:
        if has_display():
            return function(delay)
        say("there is no display, so cv2.waitKey does not wait")
        return -1 if delay > 0 else ESCAPE

    return call
