"""The threads and processes in which the library of an engine works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Threads:
    """The part of an engine that knows threads and processes.

    Attributes:
        forks: whether a process that is forked after the library was used can use it, too.
    """

    forks: ClassVar[bool] = True

    def set_threads(self, count: int) -> bool:
        """Make the library compute with `count` threads; return False if it is too late, or impossible."""
        return False

    @property
    def thread_count(self) -> int:
        """The number of threads of the library, if that can change from call to call; else 0."""
        return 0

    def with_threads(self, count: int, run: Callable[[Any], Any], given: Any) -> Any:
        """Call a function while the library computes with `count` threads, if `thread_count` is not 0."""
        return run(given)

    def set_up_library(self) -> None:
        """Set up the library, if only Dovetail has imported it in this process."""

    def go_on_in_child(self) -> None:
        """Make the library work in this process, which was forked after the library was used."""
