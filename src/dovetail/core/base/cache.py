"""Maps of what was computed before: bounded, or filled when a key is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """A map of two generations, so that looking up a recent key costs no bookkeeping.

    New entries go into the younger generation.  When it is full it becomes the older one, whose entries come back when
    they are used and are dropped when the younger one is full again.

    Args:
        limit: the most entries in a generation.

    Example:
        >>> cache = Cache(2)
        >>> for key in "abcde":
        ...     _ = cache.put(key, key.upper())
        >>> [cache.get(key) for key in "ade"], len(cache)
        ([None, 'D', 'E'], 3)
    """

    __slots__ = ("_limit", "_old", "_young")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.get(key)
            if entry is not None:
                self.put(key, entry)
        return entry

    def put(self, key: K, value: V) -> V:
        """Keep a value, which is not None, and return it."""
        if len(self._young) >= self._limit:
            self._old, self._young = self._young, {}
        self._young[key] = value
        return value

    def clear(self) -> None:
        """Drop all entries."""
        self._old, self._young = {}, {}

    def items(self) -> list[tuple[K, V]]:
        """All pairs of a key and its value."""
        return [*(self._old | self._young).items()]

    def values(self) -> list[V]:
        """All values."""
        return [value for _, value in self.items()]

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())


class Computed(dict[K, V]):
    """A dict that computes the value of a key when it is first asked for.

    Args:
        compute: key → value.

    Example:
        >>> upper = Computed(str.upper)
        >>> upper["a"], dict(upper)
        ('A', {'a': 'A'})
    """

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute

    def __missing__(self, key: K) -> V:
        value = self[key] = self._compute(key)
        return value
