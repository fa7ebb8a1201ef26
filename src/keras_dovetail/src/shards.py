"""Data parallel training over processes: each rank's share of batches, random numbers, gradients and metrics.

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

from dovetail import custom_gradient, distributed, ops
from dovetail.core.collectives import WORLD
from dovetail.core.value_kinds import static_shape
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


@dataclass
class Ending:
    """A step that is an epoch by itself.

    Attributes:
        model: it trains.
        is_ready: whether the step has computed all metrics before it applies gradients.
        values: the values for all ranks of `partial(model)`, if they came by the exchange of gradients.
    """

    model: Any
    is_ready: bool = False
    values: list[Any] | None = None


_SHARE: ContextVar[Share | None] = ContextVar("share", default=None)  # of the step that is traced or run
_ENDING: ContextVar[Ending | None] = ContextVar("ending", default=None)


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
        kept = [] if share.is_counted else [(v, v.value) for metric in _parts(model) for v in metric.variables]
        with computing(share):
            found = step(data)
        for variable, value in kept:
            variable.assign(value)
        return found

    return run


def ended(step: Callable[[Any], Any], model: Any) -> Callable[[Any], Any]:
    """A step that is an epoch by itself: its metrics count the rows of all ranks."""

    def run(batch: Any) -> Any:
        ending = Ending(model)
        before = _ENDING.set(ending)
        try:
            logs = step(batch)
        finally:
            _ENDING.reset(before)
        return finish(model, logs, batch[1], ending.values)

    return run


def joins_metrics(model: Any) -> bool:
    """Whether the exchange of gradients may bring the metrics, too, so that a step computes them before it.

    Keras' own metrics depend on the batch alone.  Others may see changes of the optimizer, and a program's own step may
    update metrics after it.
    """
    ending, share = _ENDING.get(), _SHARE.get()
    if ending is None or share is None or not all(share.counts) or WORLD.wire:
        return False
    metrics = _parts(model)
    code = [model.train_step, model.compute_metrics, *metrics, *(getattr(metric, "_fn", metric) for metric in metrics)]
    are_own = all(one.__module__.startswith(("keras.", "keras_dovetail.")) for one in code)
    ending.is_ready = are_own and all(variable.dtype in ("float32", "float64") for variable, _ in partial(model))
    return ending.is_ready


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


def averaging(apply: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's `apply` that takes this rank's gradients, and applies those of the whole batch or all replicas.

    A wrapper around an optimizer, which calls its `apply`, sees the average, too.
    """

    @functools.wraps(apply)
    def run(self: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        share = _SHARE.get()
        found = replicas.combined(self, grads) if share is None else _averaged(list(grads), share)
        with computing(None), replicas.as_replica("done"):
            return apply(self, found, *args, **kwargs)

    return run


def _averaged(grads: list[Any], share: Share) -> list[Any]:
    """The gradients of the whole batch; the exchange merges metrics, too, if the step is ready for it."""
    ending = _ENDING.get()
    parts = partial(ending.model) if ending is not None and ending.is_ready else []
    joined = [_PART[how](value) / share.part for value, how in parts]  # the mean of these is the sum of the parts
    found = distributed.average([*grads, *joined], share.weight)
    if ending is not None and parts:
        ending.values = found[len(grads) :]
    return found[: len(grads)]


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
        found, mask = value[rows], getattr(value, "_keras_mask", None)
        if mask is not None:  # as Circle gives it
            found._keras_mask = mask[rows]
        return found

    whole = each_leaf(of_all, args)
    with computing(None):
        found = compute(*whole)
    return each_leaf(own, found) if is_exchanged else found


# -- around steps -----------------------------------------------------------------------------------------------------

_PART: dict[str, Callable[[Any], Any]] = {  # this rank's part of the sum that is a variable's value
    "sum": lambda value: value,
    "mean": lambda value: value / WORLD.size,
    "only_first_replica": lambda value: value if WORLD.rank == 0 else ops.zeros_like(value),
}


def begin(model: Any) -> None:
    """Give all ranks the variables of rank 0, and the state of the draws without a seed."""
    from dovetail.interop.privates import global_state

    draws = global_state.get_global_attribute("global_seed_generator")  # else the first draw makes it
    others = [*(model.optimizer.variables if model.optimizer else ()), *([draws.state] if draws else ())]
    replicas.broadcast_variables([*model.variables, *others])


def finish(model: Any, logs: Any, share: Share | None, values: list[Any] | None = None) -> Any:
    """Merge the metrics of all ranks, and average what layers keep beside weights, as moving averages.

    A program can compute it, too.

    Args:
        model: it has trained or evaluated.
        logs: this rank's.
        share: the rows of the batch that has given the logs.
        values: of `partial(model)` for all ranks, if they came before; then logs are of metrics alone.

    Returns:
        The results of the model's metrics, and the mean of the ranks' other logs by rows, from the same exchange.
    """
    found, own = partial(model), model.get_metrics_result()
    tracked: dict[str, Any] = {}  # name → whether the log is this rank's result of the metric of that name
    if values is None:
        if isinstance(logs, dict) and logs.keys() != own.keys():
            tracked = {name: _are_equal(logs[name], own[name]) for name in logs if name in own}
        values = merged([*found, *_means([logs, tracked], share)])
        logs, tracked = tree.pack_sequence_as([logs, tracked], values[len(found) :])
    for (variable, _), value in zip(found, values, strict=False):
        variable.assign(value)
    results = model.get_metrics_result()
    if isinstance(logs, dict) and logs.keys() == results.keys():
        return results
    kept = {name: ops.where(part > 0.999, results[name], logs[name]) for name, part in tracked.items()}
    return {name: kept.get(name, log) for name, log in logs.items()} if isinstance(logs, dict) else logs


def _are_equal(log: Any, result: Any) -> Any:
    """Whether a log is the result of a metric, as a step returns it beside logs of its own; 1 or 0."""
    log, result = (ops.cast(value, "float64") for value in (log, result))
    return ops.all(ops.equal(log, result)) if static_shape(log) == static_shape(result) else 0.0


def mean_logs(logs: Any) -> Any:
    """The mean of the ranks' logs, so callbacks decide the same on each, also if ranks have different engines."""
    return tree.pack_sequence_as(logs, merged(_means(logs, None)))


def _means(logs: Any, share: Share | None) -> list[tuple[Any, str]]:
    part = 1 / WORLD.size if share is None else share.part
    return [(ops.cast(log, "float64") * part, "sum") for log in tree.flatten(logs)]


def partial(model: Any) -> list[tuple[Any, str]]:
    """The variables of which each rank has a part, and how the parts are merged: a key of `_PART`."""
    metrics = [(v, v.aggregation) for metric in _parts(model) for v in metric.variables if v.aggregation in _PART]
    states = {id(v) for layer in stateful(model) for v in layer.non_trainable_variables}  # of this rank's sequences
    kept = (v for v in model.non_trainable_variables if str(v.dtype).startswith("float") and id(v) not in states)
    return [*metrics, *((v, "mean") for v in kept)]


def stateful(model: Any) -> list[Any]:
    """The layers of a model that keep a state for each row of a batch."""
    return [layer for layer in model._flatten_layers() if getattr(layer, "stateful", False)]


def merged(found: list[tuple[Any, str]]) -> list[Any]:
    """The values for all ranks of variables or logs, by one exchange in float64.

    Args:
        found: variables or tensors, and how their parts are merged: a key of `_PART`.
    """
    parts = [_PART[how](ops.cast(value, "float64")) for value, how in found]
    sums = distributed.gradients.exchanged(parts, lambda flat: ops.all_reduce(ops.concatenate(flat)))
    return [ops.cast(total, value.dtype) for total, (value, _) in zip(sums, found, strict=True)]


def _parts(model: Any) -> list[Any]:
    """The metrics of a model of which each rank has a part."""
    each = [one for metric in model.metrics for one in getattr(metric, "metrics", [metric])]
    return [metric for metric in each if not getattr(type(metric).update_state, "sees_all_rows", False)]


def is_stopped(model: Any) -> bool:
    """Whether training is to stop on any rank."""
    return bool(WORLD.exchange("AllReduce", np.asarray(bool(model.stop_training)), (), "max"))


def callbacks_of_rank(callbacks: list[Any]) -> list[Any]:
    """The callbacks of this rank: all on rank 0; on the others, no writers of files."""
    return [
        one for one in callbacks if WORLD.rank == 0 or WRITERS.isdisjoint(kind.__name__ for kind in type(one).__mro__)
    ]
