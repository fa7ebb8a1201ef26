"""The context of traces: the settings and scopes on which they depend besides their arguments, as one number."""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.core.base.cache import Cache
from dovetail.core.base.locks import holding, make_lock
from dovetail.core.base.scopes import scopes

R = TypeVar("R")

_readers: list[Callable[[], object]] = []
_of_libraries: list[Callable[[], object]] = []  # readers whose values change without a call of `note_change`
_scoped: set[Any] = set()  # the values of modules that readers read
_numbers: Cache[tuple[object, ...], int] = Cache(200)
_next = itertools.count(1)
_lock = make_lock()
_changes = 0


class _Latest(threading.local):
    """The fields of the scopes that this thread read last, the count of changes at that time, and the number."""

    known: tuple[Any, ...] = (None,) * 6


_latest = _Latest()


def register_context(read: Callable[[], R], *scoped: Any, is_of_library: bool = False) -> Callable[[], R]:
    """Decorator that adds a value on which traces depend.

    Args:
        read: returns the value in this thread or task, which is hashable; None has no effect on traces.
        scoped: the values of modules from which it reads (`scopes.Scoped`).
        is_of_library: whether the value changes without a call of `note_change` and without a scope.
    """
    (_of_libraries if is_of_library else _readers).append(read)
    _scoped.update(scoped)
    note_change()
    return read


def note_change() -> None:
    """Let the values be read again, since one has changed outside of scopes."""
    global _changes
    _changes += 1


def context() -> object:
    """A key of the values that traces depend on: settings, engines, devices, probes, gradient overrides, K's phase."""
    record, (engine, chooses, overrides, device, changes, number) = scopes(), _latest.known
    if (
        changes != _changes
        or engine is not record.engine
        or chooses is not record.chooses
        or overrides is not record.overrides
        or device != record.device
        or record.probes is not None
        or not _scoped.isdisjoint(record.others)
    ):
        number = _read(record)
    return number if not _of_libraries else _with_libraries(number)


def _read(record: Any) -> int:
    changes = _changes
    values = tuple(map(operator.call, _readers))
    while values[-1] is None:  # the value of a module that is imported later counts once it is not None
        values = values[:-1]
    number = _numbers.get(values) or holding(_lock, _numbered, values)
    if record.probes is None and _scoped.isdisjoint(record.others):  # these may hold large values
        _latest.known = record.engine, record.chooses, record.overrides, record.device, changes, number
    return number


def _numbered(values: tuple[object, ...]) -> int:
    return _numbers.get(values) or _numbers.put(values, next(_next))


def _with_libraries(number: object) -> object:
    values = tuple(map(operator.call, _of_libraries))
    return number if values.count(None) == len(values) else (number, values)
