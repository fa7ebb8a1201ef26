"""Locks that are always freed: after any exception, at any line, and in a forked child too.

A signal's exception may come between any two lines.  If a debugger or `sys.settrace` steps through the lines, it may
come between the end of a `with` block and the call that frees its lock.  So this module holds locks only in `with`
statements of one line.  CPython checks for signals after calls, so never between a lock's `__enter__` and the block,
nor between the block and `__exit__`.  (Python 3.14 checks once too often, its issue 148874.)
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_numbers = itertools.count()
_AGAIN: Any = object()


def make_lock() -> Any:
    """Make a reentrant lock that is free in a forked child, even if another thread held it in the parent."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def holding(lock: Any, function: Callable[..., T], *args: Any) -> T:
    """Call a function while a lock is held, and return its result."""
    # fmt: off
    with lock: return function(*args)  # noqa: E701
    # fmt: on


def let_forks_wait(lock: Any, seconds: float) -> None:
    """Make each fork wait while another thread holds a lock.

    Fork handlers that a library registers during the wait see only the end of this fork.  Python prints their errors.

    Args:
        lock: made by `make_lock`.
        seconds: how long a fork waits at most before it goes on.
    """
    mine = threading.local()

    def take() -> None:
        mine.is_held = lock.acquire(timeout=seconds)

    def free() -> None:
        if getattr(mine, "is_held", False):
            mine.is_held = False
            lock.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=take, after_in_parent=free, after_in_child=free)


class Guard:
    """The lock of variables that change together; guards that are joined act as one from then on.

    Example:
        >>> a, b = Guard(), Guard()
        >>> join([a, b]) is b.top
        True
        >>> a.holding(max, 1, 2)
        2
    """

    __slots__ = ("__weakref__", "_into", "_lock", "_number")

    def __init__(self) -> None:
        self._lock = make_lock()
        self._number = next(_numbers)  # threads take two locks in this order
        self._into: Guard | None = None

    @property
    def top(self) -> Guard:
        """The guard that this one was joined into, or this one."""
        guard = self
        while guard._into is not None:
            guard = guard._into
        return guard

    def holding(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function while no other thread holds this guard, and return its result."""
        while True:
            guard = self
            while guard._into is not None:
                guard = guard._into
            # fmt: off
            with guard._lock: result = function(*args) if guard._into is None else _AGAIN  # noqa: E701
            # fmt: on
            if result is not _AGAIN:
                return result


def join(guards: Iterable[Guard]) -> Guard:
    """Join several guards into one; the calling thread must hold none of them, or all."""
    first, *others = guards
    for other in others:
        while first.top is not other.top:
            low, high = sorted((first.top, other.top), key=lambda guard: guard._number)
            # fmt: off
            with low._lock, high._lock: _put_into(high, low)  # noqa: E701
            # fmt: on
    return first.top


def _put_into(high: Guard, low: Guard) -> None:
    if low._into is None and high._into is None:  # else another thread has joined one of them in the meantime
        high._into = low


def _free_in_child() -> None:
    for lock in list(_locks):
        if not lock._is_owned():  # the forking thread keeps its own, as it goes on
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
