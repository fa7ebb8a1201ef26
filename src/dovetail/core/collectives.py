"""Collectives: exchanges of arrays between the processes that compute one program, as one of them sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.core.errors import Where, user_line

# the ops of processes
COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AllToAll", "CollectiveBarrier")
NOTE = 320  # bytes of the longest note


@dataclass
class World:
    """The processes that compute one program.

    Attributes:
        rank: the number of this process.
        size: the number of processes.
        transport: (op, array, ranks, *options) → the array that this process gets; None in a world of one process.
        early: the first line that computed or recorded a collective while the process was alone.
        exchanged: the number of exchanges so far.
        note: what this rank tells all others by the next exchanges.
        heard: the notes of all ranks in the latest exchange among all of them.
    """

    rank: int = 0
    size: int = 1
    transport: Callable[..., Any] | None = None
    early: list[Where] = field(default_factory=list)
    exchanged: int = 0
    note: bytes = b""
    heard: Sequence[bytes] = ()

    def members(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """The ranks of a group; all ranks for ().

        Raises:
            ValueError: a rank does not exist or comes twice, or this process is not in the group.
        """
        if self.transport is None and not self.early:
            self.early.append(user_line())
        chosen = tuple(sorted(ranks)) or tuple(range(self.size))
        if len({*chosen}) < len(chosen) or not 0 <= chosen[0] <= chosen[-1] < self.size:
            raise ValueError(f"ranks must be different numbers from 0 to {self.size - 1}, not {tuple(ranks)}.")
        if self.rank not in chosen:
            raise ValueError(f"this process has rank {self.rank}, so it is not in the group {chosen}; leave it out.")
        return chosen

    def exchange(self, op: str, array: Any, ranks: Sequence[int], *options: Any) -> Any:
        """The result of a collective; an only process gets its own array."""
        members = self.members(ranks)
        if len(members) == 1 or self.transport is None:
            return np.array(array)
        self.exchanged += 1
        return self.transport(op, array, members, *options)


WORLD = World()
