"""Kept checkpoints: the files of a saver, which deletes the oldest."""

from __future__ import annotations

import time
from collections.abc import Iterable

from dovetail.compat.tensorflow.names.saving.checkpoint_files import delete


class KeptCheckpoints:
    """The checkpoints of a saver, of which the oldest are deleted.

    Args:
        limit: how many are kept; 0 or None for all.
        hours: each time this number of hours is over, one checkpoint stays for good.  None if all old ones are deleted.

    Attributes:
        limit, hours: as given.
        paths: the kept checkpoints, the latest last.
    """

    def __init__(self, limit: int | None, hours: float | None) -> None:
        self.paths: list[str] = []
        self._made: dict[str, float] = {}
        self.limit, self.hours = limit, hours
        self._seconds = None if hours is None else hours * 3600
        self._next = time.time() + (self._seconds or 0)

    def replace(self, made: Iterable[tuple[str, float]]) -> None:
        """Keep other checkpoints: paths, the latest last, and the times when they were made."""
        self._made = dict(made)
        self.paths = list(self._made)

    def add(self, path: str) -> None:
        """Add a checkpoint, and delete the oldest if there are too many."""
        self.paths = [known for known in self.paths if known != path] + [path]
        self._made[path] = time.time()
        while self.limit and len(self.paths) > self.limit:
            oldest = self.paths.pop(0)
            made = self._made.pop(oldest, 0.0)
            if self._seconds is not None and made > self._next:
                self._next += self._seconds
            else:
                delete(oldest)
