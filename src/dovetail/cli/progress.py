"""Progress on a terminal; nothing is printed if stderr is none."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dovetail.core.base.progress import LARGE, WATCHER

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
    try:
        for number, item in enumerate(listed, 1):
            _show(f"{label} {number} of {len(listed)}: {item}")
            yield item
    finally:
        _show("")


@contextmanager
def reading() -> Iterator[None]:
    """Show how far large tensors of files are read in the `with` block."""
    with WATCHER.scope(_read):
        yield


def _read(what: str, done: int, size: int) -> None:
    if size >= LARGE:
        _show(f"reading {what}: {100 * done // size} %" if done < size else "")


def _show(text: str) -> None:
    """Replace the line by a text; by nothing, if it is empty."""
    if sys.stderr.isatty():
        print(f"\r{text[:WIDTH]:{WIDTH}}", end="" if text else "\r", file=sys.stderr, flush=True)
