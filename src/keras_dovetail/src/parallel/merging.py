"""Merging: the gradients of ranks that train one model, their metrics and their logs become those of all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import distributed, ops
from dovetail.core.engines.collectives import WORLD
from dovetail.core.values.value_kinds import static_shape
from dovetail.distributed import replicas
from dovetail.interop.privates import tree
from keras_dovetail.src.parallel import shards
from keras_dovetail.src.parallel.shards import Share, part_metrics


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


_ENDING: ContextVar[Ending | None] = ContextVar("ending", default=None)  # of the step that is traced or run

# -- in a step --------------------------------------------------------------------------------------------------------


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
    ending, share = _ENDING.get(), shards.current()
    if ending is None or share is None or not all(share.counts) or WORLD.wire:
        return False
    metrics = part_metrics(model)
    code = [model.train_step, model.compute_metrics, *metrics, *(getattr(metric, "_fn", metric) for metric in metrics)]
    are_own = all(one.__module__.startswith(("keras.", "keras_dovetail.")) for one in code)
    ending.is_ready = are_own and all(variable.dtype in ("float32", "float64") for variable, _ in partial(model))
    return ending.is_ready


def averaging(apply: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's `apply` that takes this rank's gradients, and applies those of the whole batch or all replicas.

    A wrapper around an optimizer, which calls its `apply`, sees the average, too.
    """

    @functools.wraps(apply)
    def run(self: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        share = shards.current()
        averaged = replicas.combined(self, grads) if share is None else _averaged(list(grads), share)
        with shards.computing(None), replicas.as_replica("done"):
            return apply(self, averaged, *args, **kwargs)

    return run


def _averaged(grads: list[Any], share: Share) -> list[Any]:
    """The gradients of the whole batch; the exchange merges metrics, too, if the step is ready for it."""
    ending = _ENDING.get()
    parts = partial(ending.model) if ending is not None and ending.is_ready else []
    joined = [_PART[how](value) / share.part for value, how in parts]  # the mean of these is the sum of the parts
    averaged = distributed.average([*grads, *joined], share.weight)
    if ending is not None and parts:
        ending.values = averaged[len(grads) :]
    return averaged[: len(grads)]


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
    pairs = partial(model)
    tracked: dict[str, Any] = {}  # name → whether the log is this rank's result of the metric of that name
    if values is None:
        own = model.get_metrics_result()
        if isinstance(logs, dict) and logs.keys() != own.keys():
            tracked = {name: _are_equal(logs[name], own[name]) for name in logs if name in own}
        values = merged([*pairs, *_means([logs, tracked], share)])
        logs, tracked = tree.pack_sequence_as([logs, tracked], values[len(pairs) :])
    for (variable, _), value in zip(pairs, values, strict=False):
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
    metrics = [(v, v.aggregation) for metric in part_metrics(model) for v in metric.variables if v.aggregation in _PART]
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


def is_stopped(model: Any) -> bool:
    """Whether training is to stop on any rank."""
    return bool(WORLD.exchange("AllReduce", np.asarray(bool(model.stop_training)), (), "max"))
