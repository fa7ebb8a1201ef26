"""The folder in which Dovetail keeps measurements between processes, and the processor for which they hold.

The folder is `$DOVETAIL_CACHE`, or `dovetail/plans` in the user's folder of caches.  With DOVETAIL_CACHE="" Dovetail
keeps no measurements.
"""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

VARIABLE = "DOVETAIL_CACHE"
PROCESSOR = Path("/proc/cpuinfo")


def place() -> Path | str:
    """The folder of entries, or the reason why nothing is kept."""
    said, caches = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME")
    if said == "":
        return f'{VARIABLE} is ""'
    try:
        if said is not None:
            return _absolute(said)
        is_set = caches is not None and os.path.isabs(caches)  # the specification says to ignore relative paths
        return _absolute(caches if is_set and caches is not None else "~/.cache") / "dovetail" / "plans"
    except (RuntimeError, OSError) as error:  # there is no such user's folder, or the working directory is gone
        return f"{said or '~/.cache'!r} is no folder here: {error}"


def _absolute(path: str) -> Path:
    expanded = Path(path).expanduser()
    return expanded if expanded.is_absolute() else _first_directory() / expanded


@functools.cache
def _first_directory() -> Path:
    """The directory for relative paths: the first working directory, also after a program has changed it."""
    return Path.cwd()


def text_of(path: Path) -> str:
    """The text of a system file; "" if there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""


def processor() -> str:
    """The processor's model and its features."""
    lines = text_of(PROCESSOR).splitlines()
    if not lines:
        return platform.processor()
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(("model name", "flags", "Features"))))
