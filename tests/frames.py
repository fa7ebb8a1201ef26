"""Frames: the number of calls of Python functions in a piece of work, which is the same in each run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def frames(work: Callable[[], Any], *packages: str) -> int:
    """The number of frames that a call begins or resumes.

    Args:
        work: the function to call.
        packages: folders, as "/src/dovetail/"; the frames of other files do not count. Without one, all count.
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
