"""Frames: how many calls of Python functions a piece of work takes, a count that is the same in each run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def frames(work: Callable[[], Any], *packages: str) -> int:
    """How many frames a call begins or goes on with.

    Args:
        work: is called.
        packages: folders, as "/src/dovetail/"; the frames of other files do not count.  Without one, all count.
    """
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        file = frame.f_code.co_filename
        count += event == "call" and (not packages or any(package in file for package in packages))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
