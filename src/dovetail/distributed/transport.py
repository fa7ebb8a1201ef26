"""The transport: collectives by torch.distributed's process groups, gloo for the host's arrays and NCCL for GPUs'.

Before each exchange the ranks swap slots of a few hundred bytes.  A slot tells which collective a rank computes, so a
rank with another op, shape or dtype gives an error on all ranks at once.  Small arrays and the ranks' notes travel in
the slots, without a second exchange.  While slots travel, a rank prepares what it adds to a large sum.  If a rank does
not come, the others write to the store that they did, and so find out which one is missing.
"""

from __future__ import annotations

import functools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from dovetail.core.base.errors import CollectiveError, describe
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.collectives import NOTE, WORLD, divided
from dovetail.distributed.parts import Parts

SLOT = np.dtype(
    [
        *[("rows", "i8"), ("is_small", "?"), ("parts", "u1"), ("gpu", "S40")],
        *[("call", "S128"), ("note", f"S{NOTE}"), ("data", "u1", 335)],
    ]
)
SMALL = SLOT["data"].itemsize  # bytes of the largest array that travels in the slots
GRACE = 2.0  # seconds in which the ranks that came tell so
_LATE = "late"  # the word of a rank that waited until the end of its time
NUMPY = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}
TORCH = {"sum": dist.ReduceOp.SUM, "mean": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
COMBINED = {"sum": torch.add, "mean": torch.add, "max": torch.maximum, "min": torch.minimum}
REDUCED = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64")  # dtypes that groups reduce


class Transport:
    """Collectives by torch.distributed's process groups; `World.transport` is one.

    Args:
        store: a store of torch that all ranks share.
        rank: the number of this process.
        timeout: the seconds that a rank waits for the others.
    """

    def __init__(self, store: dist.Store, rank: int, timeout: float) -> None:
        self._store, self._rank, self._timeout = store, rank, timeout
        self._groups: dict[tuple[str, tuple[int, ...]], Any] = {}
        self._counts: dict[tuple[int, ...], int] = defaultdict(int)  # collectives of each group so far
        self._parts: dict[tuple[int, ...], Parts] = defaultdict(Parts)
        self._failed = ""

    def __call__(self, op: str, array: Any, ranks: tuple[int, ...], *options: Any) -> Any:
        """The result of a collective for this rank.

        Args:
            op: the name of the collective.
            array: a NumPy array, or a tensor of torch on a GPU.
            ranks: the group.
            options: the op's other arguments.

        Returns:
            A new NumPy array; or a tensor on the GPU, if each rank of the group gave one on a GPU of its own.

        Raises:
            CollectiveError: a rank is missing, computes something else, or was missing before.
            ValueError: the rows cannot be divided evenly among the ranks.
        """
        if self._failed:
            raise CollectiveError(f"an earlier one failed, so start all processes again; it said: {self._failed}")
        self._counts[ranks] += 1
        begin = time.monotonic()
        try:
            slots, travel = self._send_slots(op, array, ranks, options)
            if op == "AllReduce" and array.nbytes > SMALL and _dtype(array) in REDUCED:
                array = _addend(array, len(ranks), *options)  # while the slots travel
            travel.wait()
            self._check(slots, ranks)
            if op in ("ReduceScatter", "AllToAll"):
                divided(len(array), len(ranks))
            return self._exchanged(op, array, slots, ranks, options)
        except CollectiveError:  # all ranks know, so they may go on
            raise
        except RuntimeError as error:
            self._failed = self._missing(ranks, error, time.monotonic() - begin)
            raise CollectiveError(self._failed) from error

    def close(self) -> None:
        """End the threads of gloo, which must not outlive Python."""
        self._failed = "the program ends"
        self._groups.clear()

    def _group(self, carrier: str, ranks: tuple[int, ...]) -> Any:
        """The group of some ranks, named by them; torch's `new_group` needs as many earlier groups on each rank."""
        if (carrier, ranks) not in self._groups:
            store, limit = dist.PrefixStore(f"{carrier}/{ranks}/", self._store), timedelta(seconds=self._timeout)
            self._groups[carrier, ranks] = _CARRIERS[carrier](store, ranks.index(self._rank), len(ranks), limit)
        return self._groups[carrier, ranks]

    def _send_slots(
        self, op: str, array: Any, ranks: tuple[int, ...], options: Sequence[Any]
    ) -> tuple[np.ndarray, Any]:
        """Room for the slots of the ranks, and torch's handle of their travel."""
        slot = np.zeros((), SLOT)
        given = {"CollectiveBarrier": "", "Rows": f"{_dtype(array)} rows of {tuple(array.shape[1:])}"}
        slot["call"] = " ".join(filter(None, [op, given.get(op, describe(array)), *map(repr, options)])).encode()
        slot["note"] = WORLD.note
        slot["rows"] = len(array) if array.ndim else 0
        slot["is_small"] = op == "CollectiveBarrier" or array.nbytes <= SMALL
        slot["parts"] = self._parts[ranks].next(array.nbytes)
        slot["gpu"] = _gpu(array)
        if op != "CollectiveBarrier" and slot["is_small"]:
            slot["data"][: array.nbytes] = _on_host(array).reshape(-1).view(np.uint8)
        slots = np.empty(len(ranks), SLOT)
        own = np.full(len(ranks), slot)  # for each rank: directly, since a ring needs more messages
        sent, into = (torch.from_numpy(each.view(np.uint8)) for each in (own, slots))
        return slots, self._group("gloo", ranks).alltoall_base(into, sent, [], [])

    def _check(self, slots: np.ndarray, ranks: tuple[int, ...]) -> None:
        """Take in the notes of the ranks; an error if they have not come with the same call."""
        if len(ranks) == WORLD.size:
            WORLD.heard = slots["note"].tolist()
        texts = [text.decode(errors="replace") for text in slots["call"].tolist()]
        if len({*texts}) > 1:
            told = "; ".join(f"rank {rank} computes {text}" for rank, text in zip(ranks, texts, strict=True))
            raise CollectiveError(f"{told}. All ranks must compute the same collectives in the same order.")

    def _exchanged(self, op: str, array: Any, slots: np.ndarray, ranks: tuple[int, ...], options: Sequence[Any]) -> Any:
        """The result of a collective on which the ranks agreed, in the quickest way that all of them can go."""
        if op == "CollectiveBarrier":
            return array.copy() if isinstance(array, np.ndarray) else array.clone()
        if op == "Broadcast":
            options = [ranks.index(root) for root in options]
        place, gpus = ranks.index(self._rank), {*slots["gpu"].tolist()}
        by_group = _MOVED.get(op) or (_REDUCED.get(op) if _dtype(array) in REDUCED else None)
        if slots["is_small"].all():
            parts = _in_slots(slots, as_dtype(_dtype(array)).numpy, array.shape[1:], not array.ndim)
            return _BY_PARTS[op](parts, place, *options)
        if by_group and b"" not in gpus and len(gpus) == len(ranks):
            return by_group(array, self._group("nccl", ranks), *options)
        host, group = _on_host(array), self._group("gloo", ranks)
        if op == "AllReduce" and by_group:
            return self._in_parts(host, group, ranks, int(slots["parts"][0]), *options)
        if by_group:
            return _array(by_group(_tensor(host), group, *options), host.dtype)
        return _BY_PARTS[op](_gathered(host, slots["rows"].tolist(), group), place, *options)

    def _in_parts(
        self, array: np.ndarray, group: Any, ranks: tuple[int, ...], number: int, reduction: str
    ) -> np.ndarray:
        """The reduction of a large array in its place, in as many parts as the first rank said; that rank times it."""
        start = time.perf_counter()
        reduce = _reduce if reduction in ("sum", "mean") and len(ranks) == 2 else _in_order
        reduced = _array(reduce(_tensor(array), group, reduction, number), array.dtype)
        if self._rank == ranks[0]:
            self._parts[ranks].saw(array.nbytes, number, time.perf_counter() - start)
        return reduced

    def _missing(self, ranks: tuple[int, ...], error: Exception, seconds: float) -> str:
        """The text about the ranks that did not come to the current collective, which failed after some seconds."""
        key = f"dovetail/{ranks}/{self._counts[ranks]}/"
        others, came = {rank: f"{key}{rank}" for rank in ranks if rank != self._rank}, []
        is_late = seconds >= self._timeout
        try:
            self._store.set(f"{key}{self._rank}", _LATE if is_late else "lost")
            end = time.monotonic() + GRACE
            while others and time.monotonic() < end:
                came += [name for name in others.values() if self._store.check([name])]
                others = {rank: name for rank, name in others.items() if name not in came}
                time.sleep(0.05)
            is_late |= _LATE.encode() in map(self._store.get, came)  # a rank that gives up ends the connections
        except RuntimeError as lost:
            return f"rank 0, which keeps the store, did not answer: {lost}"
        if not others:
            return f"all ranks came, but the connection failed after {seconds:.3g} s: {error}"
        names = f"rank{'s' if len(others) > 1 else ''} {', '.join(map(str, others))} of {len(ranks)}"
        if not is_late:
            return f"the connection to {names} was lost after {seconds:.3g} s. Look at what such a rank printed last."
        return (
            f"{names} did not come within {self._timeout:g} s. A rank that is missing is stopped, or busy, or computes "
            "fewer collectives than the others; look at its output."
        )


# -- arrays -----------------------------------------------------------------------------------------------------------


def _dtype(array: Any) -> str:
    """The name of the dtype of an array or a tensor."""
    return str(array.dtype).removeprefix("torch.")


def _gpu(array: Any) -> bytes:
    """The name of the GPU of a tensor; empty for arrays of the host, and where NCCL is missing."""
    on_gpu = not isinstance(array, np.ndarray) and array.is_cuda and dist.is_nccl_available()
    return str(torch.cuda.get_device_properties(array.device).uuid).encode() if on_gpu else b""


def _on_host(array: Any) -> np.ndarray:
    """A NumPy array that torch may read and write, row by row."""
    if not isinstance(array, np.ndarray):
        array = _array(array.detach().cpu(), as_dtype(_dtype(array)).numpy)
    return np.require(array, requirements=["C", "W"])


def _tensor(array: np.ndarray) -> torch.Tensor:
    """A tensor in the memory of an array; torch does not read the types of ml_dtypes."""
    if array.dtype.kind == "V":
        return torch.from_numpy(array.view(f"u{array.itemsize}")).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


def _array(tensor: torch.Tensor, dtype: np.dtype) -> np.ndarray:
    """An array in the memory of a tensor."""
    unsigned = f"uint{8 * dtype.itemsize}"
    return (tensor.view(getattr(torch, unsigned)) if dtype.kind == "V" else tensor).numpy().view(dtype)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


# -- collectives by the arrays of all ranks, for small ones and for dtypes that groups do not reduce ------------------


def _in_slots(slots: np.ndarray, dtype: np.dtype, row: Sequence[int], is_scalar: bool) -> list[np.ndarray]:
    """The ranks' small arrays."""
    shapes = [() if is_scalar else (rows, *row) for rows in slots["rows"].tolist()]
    sizes = [math.prod(shape) * dtype.itemsize for shape in shapes]
    slots_of_ranks = zip(slots["data"], shapes, sizes, strict=True)
    return [np.frombuffer(data[:size].tobytes(), dtype).reshape(shape) for data, shape, size in slots_of_ranks]


def _gathered(array: np.ndarray, rows: Sequence[int], group: Any) -> list[np.ndarray]:
    """The ranks' arrays, which may have different numbers of rows."""
    whole = array
    if len(array) < max(rows):
        whole = np.zeros((max(rows), *array.shape[1:]), array.dtype)
        whole[: len(array)] = array
    gathered = _array(_gather(_bytes(_tensor(whole)), group), np.dtype(np.uint8)).view(array.dtype)
    return [part[:count] for part, count in zip(gathered.reshape(len(rows), *whole.shape), rows, strict=True)]


def _reduce_parts(parts: list[np.ndarray], place: int, reduction: str) -> np.ndarray:
    if reduction == "mean":  # divided first, as `_addend` does it: the sum of halves may be infinite
        parts = [np.asarray(part / np.asarray(len(parts), part.dtype)) for part in parts]
    return np.asarray(functools.reduce(NUMPY[reduction], parts[1:], parts[0].copy()))


def _swap_parts(parts: list[np.ndarray], place: int) -> np.ndarray:
    return np.concatenate([np.split(part, len(parts))[place] for part in parts])


_BY_PARTS: dict[str, Callable[..., np.ndarray]] = {  # (arrays, the place of this rank among them, options)
    "AllReduce": _reduce_parts,
    "AllGather": lambda parts, place: np.concatenate(parts),
    "Rows": lambda parts, place: np.concatenate(parts),
    "ReduceScatter": lambda parts, place, way: np.split(_reduce_parts(parts, place, way), len(parts))[place],
    "Broadcast": lambda parts, place, root: parts[root].copy(),
    "AllToAll": _swap_parts,
}

# -- collectives by groups of torch, for larger arrays ----------------------------------------------------------------


def _addend(array: Any, count: int, reduction: str) -> Any:
    """What a rank adds to a sum of arrays, or to a mean: a new array, or a tensor on the GPU."""
    is_host = isinstance(array, np.ndarray)
    host: Any = _on_host(array) if is_host else array
    tensor: Any = _tensor(host) if is_host else host
    room = None if host is array else tensor  # a copy of what only the library may write, as of jax
    if reduction == "mean":
        addend = torch.div(tensor, count, out=room)
    else:
        addend = tensor.clone() if room is None else room
    return _array(addend, array.dtype) if is_host else addend.contiguous()


def _reduce(tensor: torch.Tensor, group: Any, reduction: str, parts: int = 1) -> torch.Tensor:
    """Reduce what the ranks have in a tensor, in its place."""
    works = [group.allreduce([part], TORCH[reduction]) for part in tensor.view(-1).chunk(parts)]
    for work in works:
        work.wait()
    return tensor


def _in_order(tensor: torch.Tensor, group: Any, reduction: str, parts: int = 1) -> torch.Tensor:
    """Reduce in the order of the ranks, in its place.

    A ring of three ranks adds up in an order that depends on the parts, and gloo's max and min lose NaN.
    """
    count, place, travels, works = group.size(), group.rank(), [], []
    for part in tensor.view(-1).chunk(parts):
        sizes = [len(piece) for piece in part.tensor_split(count)]
        own = part.new_empty((count, sizes[place]))
        equal = [sizes[place]] * count
        travels.append((own, part, equal, sizes, group.alltoall_base(own.view(-1), part, equal, sizes)))
    for own, part, equal, sizes, work in travels:
        work.wait()
        for piece in own[1:]:
            COMBINED[reduction](own[0], piece, out=own[0])
        own[1:] = own[0]
        works.append(group.alltoall_base(part, own.view(-1), sizes, equal))
    for work in works:
        work.wait()
    return tensor


def _scatter(tensor: torch.Tensor, group: Any, reduction: str) -> torch.Tensor:
    parts = [*tensor.contiguous().chunk(group.size())]
    if reduction in ("max", "min"):  # which gloo cannot scatter
        reduce = _reduce if tensor.is_cuda else _in_order
        whole = reduce(_addend(tensor, group.size(), reduction), group, reduction)
        return whole.chunk(group.size())[group.rank()].clone()
    share = torch.empty_like(parts[0])
    if reduction == "mean":
        parts = [part / group.size() for part in parts]
    group.reduce_scatter([share], [parts]).wait()
    return share


def _gather(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    gathered = tensor.new_empty((group.size() * len(tensor), *tensor.shape[1:]))
    group.allgather([[*_bytes(gathered).chunk(group.size())]], [_bytes(tensor)]).wait()
    return gathered


def _broadcast(tensor: torch.Tensor, group: Any, root: int) -> torch.Tensor:
    copy = tensor.clone(memory_format=torch.contiguous_format)
    options = dist.BroadcastOptions()
    options.rootRank = root
    group.broadcast([_bytes(copy)], options).wait()
    return copy


def _swap(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    received = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    group.alltoall_base(_bytes(received), _bytes(tensor), [], []).wait()
    return received


_REDUCED: dict[str, Callable[..., torch.Tensor]] = {"AllReduce": _reduce, "ReduceScatter": _scatter}
_MOVED: dict[str, Callable[..., torch.Tensor]] = {"AllGather": _gather, "Broadcast": _broadcast, "AllToAll": _swap}


# -- groups -----------------------------------------------------------------------------------------------------------


def _nccl(store: dist.Store, rank: int, size: int, limit: timedelta) -> Any:
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = limit
    return dist.ProcessGroupNCCL(store, rank, size, options)


# Each carrier of arrays, and how a group of it is made; NCCL carries tensors of GPUs, without a copy to the host.
_CARRIERS: dict[str, Callable[..., Any]] = {"gloo": dist.ProcessGroupGloo, "nccl": _nccl}
