"""Collectives: exchanges of arrays between the processes that compute one program, as one of them sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.core.base.errors import Where, user_line

# the ops of processes
COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AllToAll", "CollectiveBarrier")
NOTE = 320  # bytes of the longest note
HALVES = ("bfloat16", "float16")  # the dtypes that the wire may have


@dataclass
class World:
    """The processes that compute one program.

    Attributes:
        rank: the number of this process.
        size: the number of processes.
        transport: (op, array, ranks, *options) → the array that this process gets; None in a world of one process.
        early: the first line that computed or recorded a collective while the process was alone.
        exchanged: the number of exchanges so far.
        waited: the seconds that they took, waiting included.
        wire: the dtype of wider gradients while they travel; "" for their own.
        shares: "equal" or "measured": how batches are divided among the ranks.
        note: what this rank tells all others by the next exchanges.
        heard: the notes of all ranks in the latest exchange among all of them.
        followers: functions to call once the world has several processes.
    """

    rank: int = 0
    size: int = 1
    transport: Callable[..., Any] | None = None
    early: list[Where] = field(default_factory=list)
    exchanged: int = 0
    waited: float = 0.0
    wire: str = ""
    shares: str = "equal"
    note: bytes = b""
    heard: Sequence[bytes] = ()
    followers: list[Callable[[], Any]] = field(default_factory=list)

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
        start = time.perf_counter()
        try:
            return self.transport(op, array, members, *options)
        finally:
            self.waited += time.perf_counter() - start


def divided(rows: int, count: int) -> int:
    """The rows of each of some ranks.

    Raises:
        ValueError: they cannot be divided evenly.
    """
    if rows % count:
        raise ValueError(f"{rows} rows cannot be divided evenly among {count} ranks.")
    return rows // count


def check_wire(wire: str) -> str:
    """The dtype of the wire; "" for each array's own.

    Raises:
        ValueError: it is none of these.
    """
    if wire not in ("", *HALVES):
        raise ValueError(f"gradients travel as {' or '.join(map(repr, HALVES))}, or as they are (''), not as {wire!r}.")
    return wire


WORLD = World()
