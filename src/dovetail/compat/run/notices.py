"""Lines on stderr about what `dovetail run` does in a program's place."""

from __future__ import annotations

import sys

SAID: set[str] = set()  # lines that the program that runs has got


def say(text: str) -> None:
    """Print a line, once."""
    if text not in SAID:
        SAID.add(text)
        print(f"dovetail: {text}", file=sys.stderr)
