"""The transport: collectives of NumPy arrays by torch.distributed and gloo.

Before each exchange the ranks tell each other, in 128 bytes, which one they compute.  So a rank with another op, shape
or dtype gives an error on all ranks at once.  If a rank does not come, the others write to the store that they did, and
so find out which one is missing.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from dovetail.core.errors import CollectiveError, describe

HEADER = 128  # bytes: the number of rows, and the text of the call
GRACE = 2.0  # seconds in which the ranks that came tell so
NUMPY = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}
GLOO = {"sum": dist.ReduceOp.SUM, "mean": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
DIRECT = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64")  # dtypes that gloo reduces


class Transport:
    """Collectives by torch.distributed's process groups; `World.transport` is one.

    Args:
        store: a store of torch that all ranks share.
        rank: the number of this process.
        timeout: the seconds that a rank waits for the others.
    """

    def __init__(self, store: dist.Store, rank: int, timeout: float) -> None:
        self._store, self._rank, self._timeout = store, rank, timeout
        self._groups: dict[tuple[int, ...], Any] = {}
        self._counts: dict[tuple[int, ...], int] = {}  # collectives of each group so far
        self._failed = ""

    def __call__(self, op: str, array: np.ndarray, ranks: tuple[int, ...], *options: Any) -> np.ndarray:
        """The result of a collective for this rank.

        Raises:
            CollectiveError: a rank is missing, computes something else, or was missing before.
        """
        if self._failed:
            raise CollectiveError(f"an earlier one failed, so start all processes again; it said: {self._failed}")
        self._counts[ranks] = self._counts.get(ranks, 0) + 1
        try:
            group = self._group(ranks)
            rows = self._agreed(op, array, ranks, options, group)
            return _HOW[op](array, rows, group, *options)
        except CollectiveError:  # all ranks know, so they may go on
            raise
        except RuntimeError as error:
            self._failed = self._missing(ranks, error)
            raise CollectiveError(self._failed) from error

    def close(self) -> None:
        """End the threads of gloo, which must not outlive Python."""
        self._failed = "the program ends"
        self._groups.clear()

    def _group(self, ranks: tuple[int, ...]) -> Any:
        """The group of some ranks, named by them; torch's `new_group` needs as many earlier groups on each rank."""
        if ranks not in self._groups:
            store, limit = dist.PrefixStore(f"dovetail/{ranks}/", self._store), timedelta(seconds=self._timeout)
            self._groups[ranks] = dist.ProcessGroupGloo(store, ranks.index(self._rank), len(ranks), limit)
        return self._groups[ranks]

    def _agreed(
        self, op: str, array: np.ndarray, ranks: Sequence[int], options: tuple[Any, ...], group: Any
    ) -> dict[int, int]:
        """The number of rows of each rank of the group, once all ranks have come with the same call."""
        header = np.zeros(HEADER, np.uint8)
        header[:8].view(np.int64)[0] = len(array) if array.ndim else 0
        given = {"CollectiveBarrier": "", "Rows": f"{array.dtype} rows of {array.shape[1:]}"}.get(op, describe(array))
        encoded = " ".join([op, given, *map(repr, options)]).encode()[: HEADER - 8]
        header[8 : 8 + len(encoded)] = np.frombuffer(encoded, np.uint8)
        found = _gathered(header, group)
        texts = [bytes(one[8:]).rstrip(b"\0").decode(errors="replace") for one in found]
        if len({*texts}) > 1:
            told = "; ".join(f"rank {rank} computes {one}" for rank, one in zip(ranks, texts, strict=True))
            raise CollectiveError(f"{told}. All ranks must compute the same collectives in the same order.")
        return {rank: int(one[:8].view(np.int64)[0]) for rank, one in zip(ranks, found, strict=True)}

    def _missing(self, ranks: tuple[int, ...], error: Exception) -> str:
        """The text about the ranks that did not come to the current collective."""
        key = f"dovetail/{ranks}/{self._counts[ranks]}/"
        others = {rank: f"{key}{rank}" for rank in ranks if rank != self._rank}
        try:
            self._store.set(f"{key}{self._rank}", "came")
            end = time.monotonic() + GRACE
            while others and time.monotonic() < end:
                others = {rank: name for rank, name in others.items() if not self._store.check([name])}
                time.sleep(0.05)
        except RuntimeError as lost:
            return f"rank 0, which keeps the store, did not answer: {lost}"
        if not others:
            return f"all ranks came, but the connection failed: {error}"
        names = f"rank{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
        return (
            f"{names} of {len(ranks)} did not come within {self._timeout:g} s. A rank that is missing has ended, is "
            f"stopped, or computes fewer collectives than the others; look at its output."
        )


# -- exchanges --------------------------------------------------------------------------------------------------------


def _tensor(array: np.ndarray) -> torch.Tensor:
    """A torch tensor on the same memory."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.require(array, requirements=["C", "W"]).reshape(-1).view(np.uint8)


def _gathered(array: np.ndarray, group: Any) -> np.ndarray:
    """Equal arrays of bytes of all ranks, one a row."""
    found = np.empty((group.size(), array.size), np.uint8)
    group.allgather([[*torch.from_numpy(found)]], [torch.from_numpy(array)]).wait()
    return found


def _reduce(array: np.ndarray, rows: Any, group: Any, reduction: str) -> np.ndarray:
    if array.dtype.name in DIRECT:
        found = np.array(array, order="C")
        group.allreduce([_tensor(found.reshape(-1))], GLOO[reduction]).wait()
    else:
        parts = _gathered(_bytes(array), group)
        found = functools.reduce(NUMPY[reduction], [part.view(array.dtype).reshape(array.shape) for part in parts])
    return found / np.asarray(len(rows), found.dtype) if reduction == "mean" else found


def _gather(array: np.ndarray, rows: Any, group: Any) -> np.ndarray:
    found = _gathered(_bytes(array), group)
    return found.reshape(-1).view(array.dtype).reshape(len(rows) * len(array), *array.shape[1:])


def _gather_rows(array: np.ndarray, rows: dict[int, int], group: Any) -> np.ndarray:
    """As `_gather`, for different numbers of rows."""
    whole = np.zeros((max(rows.values()), *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    parts = _gather(whole, rows, group).reshape(len(rows), *whole.shape)
    return np.concatenate([part[:count] for part, count in zip(parts, rows.values(), strict=True)])


def _scatter(array: np.ndarray, rows: Any, group: Any, reduction: str) -> np.ndarray:
    own = group.rank()
    each = len(array) // len(rows)
    if array.dtype.name not in DIRECT or reduction not in ("sum", "mean"):
        return _reduce(array, rows, group, reduction)[own * each : (own + 1) * each]
    found = np.empty((each, *array.shape[1:]), array.dtype)
    parts = [_tensor(part.reshape(-1)) for part in np.split(np.array(array), len(rows))]
    group.reduce_scatter([_tensor(found.reshape(-1))], [parts]).wait()
    return found / np.asarray(len(rows), found.dtype) if reduction == "mean" else found


def _broadcast(array: np.ndarray, rows: dict[int, int], group: Any, root: int) -> np.ndarray:
    found = np.array(array, order="C")
    options = dist.BroadcastOptions()
    options.rootRank = [*rows].index(root)
    group.broadcast([torch.from_numpy(_bytes(found))], options).wait()
    return found


def _swap(array: np.ndarray, rows: Any, group: Any) -> np.ndarray:
    found = np.empty(array.shape, array.dtype)
    group.alltoall_base(torch.from_numpy(_bytes(found)), torch.from_numpy(_bytes(array)), [], []).wait()
    return found


_HOW: dict[str, Callable[..., np.ndarray]] = {
    "AllReduce": _reduce,
    "AllGather": _gather,
    "Rows": _gather_rows,
    "ReduceScatter": _scatter,
    "Broadcast": _broadcast,
    "AllToAll": _swap,
    "CollectiveBarrier": lambda array, rows, group: np.array(array),
}
