"""Data parallel training over processes: each rank's share of batches, random numbers, gradients and metrics.

All ranks read the same data in the same order.  A rank computes consecutive rows of each batch.  Its random
rows are a part of the whole batch's, so several ranks compute the numbers of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import custom_gradient, distributed, ops
from dovetail.core.collectives import WORLD
from dovetail.interop.privates import tree
from keras_dovetail.src.tensors import convert_to_numpy, each_leaf

WRITERS = {"BackupAndRestore", "CSVLogger", "ModelCheckpoint", "RemoteMonitor", "TensorBoard"}  # callbacks of rank 0


@dataclass(frozen=True)
class Share:
    """The rows of a batch that a rank computes.

    Attributes:
        start, stop: the first row, and the one after the last.
        total: the number of rows of the batch.
    """

    start: int
    stop: int
    total: int

    @property
    def rows(self) -> int:
        """Their number."""
        return self.stop - self.start


_SHARE: ContextVar[Share | None] = ContextVar("share", default=None)  # of the step that is traced or run


def _distribution() -> Any:
    from dovetail.interop.privates import global_state  # as the backend is imported, Keras may lack it

    return global_state.get_global_attribute("distribution")


def is_shared() -> bool:
    """Whether this process trains a model together with others, as `keras.distribution.DataParallel` says."""
    return WORLD.size > 1 and type(_distribution()).__name__ == "DataParallel"


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


def shared(batch: Any) -> tuple[Any, Share]:
    """This rank's part of a batch, and which rows it has.

    Raises:
        ValueError: the batch has fewer rows than there are ranks.
    """
    total = len(next(part for part in tree.flatten(batch) if part is not None))
    if not _distribution().auto_shard_dataset:
        return batch, Share(0, total, total)
    if total < WORLD.size:
        raise ValueError(
            f"a batch of {total} rows leaves nothing for some of {WORLD.size} ranks: choose a batch_size whose last "
            f"batch has a row for each rank, or leave the last rows out."
        )
    each, more = divmod(total, WORLD.size)
    start = WORLD.rank * each + min(WORLD.rank, more)
    share = Share(start, start + each + (WORLD.rank < more), total)
    return each_leaf(lambda v: None if v is None else v[share.start : share.stop], batch), share


def shared_steps(steps: Iterable[Any]) -> Iterator[Any]:
    """Keras' steps, with this rank's part of each batch."""
    for begin, end, batches in steps:
        yield begin, end, [shared(batch) for batch in batches]


def of_share(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step of a batch as a step of a part and its `Share`."""

    def run(part: tuple[Any, Share]) -> Any:
        before = _SHARE.set(part[1])
        try:
            return step(part[0])
        finally:
            _SHARE.reset(before)

    return run


def gathered(outputs: Any) -> Any:
    """The outputs of a batch, with the rows of all ranks, as NumPy arrays."""
    return each_leaf(lambda v: WORLD.exchange("Rows", convert_to_numpy(v), ()), outputs)


# -- in a step --------------------------------------------------------------------------------------------------------


def averaged(gradients: Sequence[Any]) -> Sequence[Any]:
    """The gradients of the whole batch, inside of a shared step; else the gradients themselves."""
    share = _SHARE.get()
    if share is None:
        return gradients
    is_even = _distribution().auto_shard_dataset and share.total % WORLD.size == 0
    return distributed.average(gradients, None if is_even else share.rows)


def apply(optimizer: Any, gradients: Sequence[Any], weights: Any) -> None:
    """Apply the gradients of the whole batch; a wrapper around an optimizer sees the average, too."""
    found = averaged(gradients)
    before = _SHARE.set(None)
    try:
        optimizer.apply(found, weights)
    finally:
        _SHARE.reset(before)


def drawn(draw: Callable[[Any], Any], shape: Any) -> Any:
    """Draw random numbers; the rows of this rank's part are a part of the whole batch's rows.

    Args:
        draw: shape → random numbers.
        shape: the shape.
    """
    share = _SHARE.get()
    if share is None or not is_part(shape):
        return draw(shape)
    return draw((share.total, *shape[1:]))[share.start : share.stop]


def is_part(shape: Any) -> bool:
    """Whether random numbers of a shape belong to the rows of this rank's part."""
    share = _SHARE.get()
    return share is not None and isinstance(shape, (list, tuple)) and bool(shape) and shape[0] == share.rows


def moments(x: Any, axes: Any, keepdims: bool) -> tuple[Any, Any]:
    """The mean and the variance over all ranks."""
    share = _SHARE.get()
    part = 1 / WORLD.size if share is None or share.total == share.rows else share.rows / share.total

    @custom_gradient  # `averaged` weighs this rank's gradient by its part, so here the others' arrive with theirs
    def of_all(m: Any) -> Any:
        return ops.all_reduce(m * part), lambda g: ops.all_reduce(g * part)

    mean = of_all(ops.mean(x, axes, keepdims=True))
    variance = of_all(ops.mean(ops.square(x - mean), axes, keepdims=True))
    return (mean, variance) if keepdims else (ops.squeeze(mean, axes), ops.squeeze(variance, axes))


# -- around steps -----------------------------------------------------------------------------------------------------


def begin(model: Any) -> None:
    """Give all ranks the variables of rank 0, and its state of NumPy's random numbers, which shuffle data."""
    for variable in [*model.variables, *(model.optimizer.variables if model.optimizer else ())]:
        variable.assign(WORLD.exchange("Broadcast", convert_to_numpy(variable), (), 0))
    state: Any = np.random.get_state()  # noqa: NPY002  # Keras shuffles by it
    name, words, *numbers = state
    words = WORLD.exchange("Broadcast", np.array([*words, numbers[0], numbers[1]], "int64"), (), 0)
    np.random.set_state((name, words[:-2].astype("uint32"), int(words[-2]), int(words[-1]), *numbers[2:]))  # noqa: NPY002


def finish(model: Any) -> None:
    """Add up the metrics of all ranks, and average what layers keep beside weights, as moving averages."""
    for metric in model.metrics:
        for variable in metric.variables:
            variable.assign(WORLD.exchange("AllReduce", convert_to_numpy(variable), (), "sum"))
    for variable in model.non_trainable_variables:
        if str(variable.dtype).startswith("float"):
            variable.assign(WORLD.exchange("AllReduce", convert_to_numpy(variable), (), "mean"))


def is_stopped(model: Any) -> bool:
    """Whether training is to stop on any rank."""
    return bool(WORLD.exchange("AllReduce", np.asarray(bool(model.stop_training)), (), "max"))


def callbacks_of_rank(callbacks: Any) -> Any:
    """The callbacks of this rank: all on rank 0; on the others, no writers of files."""
    if callbacks is None or WORLD.rank == 0:
        return callbacks
    listed = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    return [one for one in listed if WRITERS.isdisjoint(kind.__name__ for kind in type(one).__mro__)]
