"""Progress on a terminal; nothing is printed if stderr is none."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
WIDTH = 60


def tracked(items: Iterable[Item], label: str) -> Iterator[Item]:
    """The items, while a line says which one is at hand.

    Args:
        items: their texts are shown.
        label: the text before each.

    Example:
        >>> list(tracked("ab", "reading"))
        ['a', 'b']
    """
    listed = list(items)
    is_shown = sys.stderr.isatty()
    try:
        for number, item in enumerate(listed, 1):
            if is_shown:
                text = f"{label} {number} of {len(listed)}: {item}"
                print(f"\r{text[:WIDTH]:{WIDTH}}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        if is_shown:
            print(f"\r{'':{WIDTH}}\r", end="", file=sys.stderr, flush=True)
