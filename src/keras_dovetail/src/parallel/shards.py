"""Data parallel training over processes: each rank's share of batches and random numbers.

All ranks read the same data in the same order.  A rank computes consecutive rows of each batch.  Its random
rows are a part of the whole batch's, so several ranks compute the numbers of one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import custom_gradient, ops
from dovetail.core.engines.collectives import WORLD
from dovetail.core.values.value_kinds import static_shape
from dovetail.distributed import replicas
from dovetail.distributed.shares import parts
from dovetail.interop.privates import tree
from keras_dovetail.src.tensors import convert_to_numpy, each_leaf

WRITERS = {"CSVLogger", "ModelCheckpoint", "RemoteMonitor", "TensorBoard"}  # callbacks of rank 0


@dataclass(frozen=True)
class Share:
    """The rows of a batch that a rank computes.

    Attributes:
        counts: the rows of each rank.
        rows: the rows that this rank computes; if its number in `counts` is 0, they do not count.
    """

    counts: tuple[int, ...]
    rows: int

    @property
    def start(self) -> int:
        """The first row."""
        return sum(self.counts[: WORLD.rank]) if self.is_counted else 0

    @property
    def total(self) -> int:
        """The number of rows of the batch."""
        return max(sum(self.counts), self.rows)

    @property
    def is_counted(self) -> bool:
        """Whether the rows count."""
        return self.counts[WORLD.rank] > 0

    @property
    def part(self) -> float:
        """The part of the batch's rows that this rank counts."""
        return self.counts[WORLD.rank] / sum(self.counts)

    @property
    def weight(self) -> int | None:
        """The weight of this rank in means over all; None if all have the same."""
        return None if len({*self.counts}) == 1 else self.counts[WORLD.rank]


_SHARE: ContextVar[Share | None] = ContextVar("share", default=None)  # of the step that is traced or run


def _distribution() -> Any:
    from dovetail.interop.privates import global_state  # as the backend is imported, Keras may lack it

    return global_state.get_global_attribute("distribution")


def is_shared() -> bool:
    """Whether this process trains a model together with others, as `keras.distribution.DataParallel` says."""
    return WORLD.size > 1 and is_data_parallel()


def is_data_parallel() -> bool:
    """Whether the program asked for `keras.distribution.DataParallel`, also with one process."""
    return type(_distribution()).__name__ == "DataParallel"


def reads_all() -> bool:
    """Whether all ranks read the same data; else each rank brings batches of its own."""
    return is_shared() and bool(_distribution().auto_shard_dataset)


@contextmanager
def reading_all() -> Iterator[None]:
    """A scope in which Keras makes data adapters as in one process."""
    from dovetail.interop.privates import global_state

    before = _distribution()
    global_state.set_global_attribute("distribution", None)
    try:
        yield
    finally:
        global_state.set_global_attribute("distribution", before)


# -- batches ----------------------------------------------------------------------------------------------------------


def _rows(batch: Any) -> int:
    return len(next(part for part in tree.flatten(batch) if part is not None))


def _counts_of_own(rows: int) -> tuple[int, ...]:
    """The rows of each rank's own batch."""
    return tuple(WORLD.exchange("AllGather", np.array([rows]), ()).tolist())


def shared(batch: Any) -> Any:
    """This rank's part of a batch, and its `Share`; the batch itself if no other process trains with this one."""
    if not is_shared():
        return batch
    rows = _rows(batch)
    if not _distribution().auto_shard_dataset:
        return batch, Share(_counts_of_own(rows), rows)
    counts = tuple(parts(rows))
    share = Share(counts, counts[WORLD.rank] or rows)
    return each_leaf(lambda v: None if v is None else v[share.start : share.start + share.rows], batch), share


def shared_steps(steps: Iterable[Any]) -> Iterator[Any]:
    """Keras' steps, with this rank's part of each batch."""
    if not _distribution().auto_shard_dataset:
        yield from _own_steps((begin + i, batch) for begin, _, batches in steps for i, batch in enumerate(batches))
        return
    for begin, end, batches in steps:
        yield begin, end, [shared(batch) for batch in batches]


def _own_steps(batches: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    """Steps of each rank's own batches; a rank that has no more repeats its last one, which does not count."""
    number, batch = next(batches, (0, None))
    rows = 0 if batch is None else _rows(batch)
    while any(counts := _counts_of_own(rows)):
        if batch is None:
            raise ValueError(f"rank {WORLD.rank} has no batch: each rank needs one at least.")
        yield number, number, [(batch, Share(counts, _rows(batch)))]
        _, following = next(batches, (0, None))
        batch, number = batch if following is None else following, number + 1
        rows = 0 if following is None else _rows(following)


def of_share(step: Callable[[Any], Any], model: Any) -> Callable[[Any], Any]:
    """A model's step of a batch as a step of a part and its `Share`; its metrics count the rows that count."""

    def run(part: tuple[Any, Share]) -> Any:
        data, share = part
        kept = [] if share.is_counted else [(v, v.value) for metric in part_metrics(model) for v in metric.variables]
        with computing(share):
            result = step(data)
        for variable, value in kept:
            variable.assign(value)
        return result

    return run


def current() -> Share | None:
    """The rows of the step that is traced or run."""
    return _SHARE.get()


@contextmanager
def computing(share: Share | None) -> Iterator[None]:
    """A scope in which a step computes these rows; with None, the whole batch."""
    before = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(before)


def gathering(predict: Any) -> Callable[[Any], Any]:
    """A function that predicts for parts of batches as one that returns the rows of all ranks, as NumPy arrays."""
    if not is_shared():
        return predict

    def run(batches: list[tuple[Any, Share]]) -> Any:
        of_all = [_gathered(predict([part]), part[1]) for part in batches]
        return of_all[0] if len(of_all) == 1 else tree.map_structure(lambda *rows: np.concatenate(rows), *of_all)

    return run


def _gathered(outputs: Any, share: Share) -> Any:
    counted = slice(None if share.is_counted else 0)
    return each_leaf(lambda v: WORLD.exchange("Rows", convert_to_numpy(v)[counted], ()), outputs)


# -- in a step --------------------------------------------------------------------------------------------------------


def part_of(shape: Any) -> tuple[int, int] | None:
    """The first row and the number of rows of the whole batch, if the first axis of a shape is this rank's rows."""
    share = _SHARE.get()
    if share is None or not isinstance(shape, (list, tuple)) or not shape or shape[0] != share.rows:
        return None
    return share.start, share.total


def drawn(draw: Callable[..., Any], shape: Any, *parameters: Any) -> Any:
    """Draw random numbers of a kind without parts: those of the whole batch, of which this rank takes its rows.

    Args:
        draw: shape, *parameters → random numbers.
        shape: the shape of this rank's numbers.
        parameters: of the distribution; they broadcast to the shape.
    """
    part = part_of(shape)
    if part is None:
        return draw(shape, *parameters)
    (start, total), rows = part, shape[0]
    around = [(start, total - start - rows), *[(0, 0)] * (len(shape) - 1)]

    def of_all(parameter: Any) -> Any:
        known = static_shape(parameter)
        if len(known) < len(shape) or known[0] != rows:
            return parameter
        return ops.pad(parameter, around, "constant", 1)  # the numbers of other ranks' rows are not used

    return draw((total, *shape[1:]), *map(of_all, parameters))[start : start + rows]


def _times(x: Any, factor: float) -> Any:
    """A tensor whose gradient is multiplied by a factor."""

    @custom_gradient
    def same(x: Any) -> Any:
        return ops.identity(x), lambda g: g * factor

    return same(x)


def _exchanged(exchange: Callable[[Any], Any], x: Any) -> Any:
    """An exchange among all ranks; since `averaging` weighs a rank's gradients, each gets the others' weighed, too."""
    share = _SHARE.get()
    part = 1 / WORLD.size if share is None else share.part
    return _times(exchange(_times(x, 1 / part if part else 0.0)), part)


def total(x: Any) -> Any:
    """The sum over all ranks of what this rank computed from its rows, if they count."""
    share = _SHARE.get()
    return _exchanged(ops.all_reduce, x if share is None or share.is_counted else ops.zeros_like(x))


def moments(x: Any, axes: Any, keepdims: bool) -> tuple[Any, Any]:
    """The mean and the variance over all ranks."""
    share = _SHARE.get()
    part = 1 / WORLD.size if share is None else share.part
    mean = total(ops.mean(x, axes, keepdims=True) * part)
    variance = total(ops.mean(ops.square(x - mean), axes, keepdims=True) * part)
    return (mean, variance) if keepdims else (ops.squeeze(mean, axes), ops.squeeze(variance, axes))


def _has_rows(value: Any) -> bool:
    return part_of(getattr(value, "shape", None)) is not None


def by_all_rows(compute: Callable[..., Any], *args: Any) -> Any:
    """Call a function with the rows of all ranks, in their order, and take this rank's rows of its results.

    Args:
        compute: a function that computes the same on each rank.
        args: structures of tensors, some with a row for each of this rank's; other values pass unchanged.
    """
    share = _SHARE.get()
    if share is None:
        return compute(*args)
    is_exchanged = any(map(_has_rows, tree.flatten(args)))

    def of_all(value: Any) -> Any:
        if not _has_rows(value):
            return value
        rows = functools.partial(replicas.all_rows, counts=share.counts)
        return _exchanged(rows, value) if "float" in str(value.dtype) else rows(value)

    def own(value: Any) -> Any:
        if tuple(getattr(value, "shape", None) or ())[:1] != (share.total,):
            return value
        rows = slice(share.start, share.start + share.rows)
        part, mask = value[rows], getattr(value, "_keras_mask", None)
        if mask is not None:  # as Circle gives it
            part._keras_mask = mask[rows]
        return part

    whole = each_leaf(of_all, args)
    with computing(None):
        results = compute(*whole)
    return each_leaf(own, results) if is_exchanged else results


# -- metrics and callbacks --------------------------------------------------------------------------------------------


def part_metrics(model: Any) -> list[Any]:
    """The metrics of a model of which each rank has a part."""
    each = [one for metric in model.metrics for one in getattr(metric, "metrics", [metric])]
    return [metric for metric in each if not getattr(type(metric).update_state, "sees_all_rows", False)]


def callbacks_of_rank(callbacks: list[Any]) -> list[Any]:
    """The callbacks of this rank: all on rank 0; on the others, no writers of files."""
    return [
        one for one in callbacks if WORLD.rank == 0 or WRITERS.isdisjoint(kind.__name__ for kind in type(one).__mro__)
    ]
