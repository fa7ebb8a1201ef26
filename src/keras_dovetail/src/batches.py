"""The batches of an epoch, one by one or, if they are equal, in groups."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.distributed.random_states import same_random_state
from dovetail.interop.privates import ArrayDataAdapter, EpochIterator, tree
from keras_dovetail.src.parallel import layouts, shards
from keras_dovetail.src.pipelines import adapted
from keras_dovetail.src.tensors import convert_to_tensor, each_leaf, in_32_bits


@dataclass(frozen=True)
class Group:
    """Equal batches, stacked to one; its length is their number.

    Attributes:
        parts: the parts of a batch, each with a new first axis.
        steps: the number of batches.
    """

    parts: Any
    steps: int

    @classmethod
    def of(cls, batches: list[Any]) -> Group:
        """A group of batches of the same structure, shapes and dtypes."""
        return cls(tree.map_structure(_stacked, *batches), len(batches))

    def __len__(self) -> int:
        return self.steps


# As Keras gives them: the number of the first step, of the last one, and a list of batches; or a `Group`.
Steps = tuple[int, int, Any]


class Batches(EpochIterator):
    """Keras' iterator over the batches of an epoch; it cuts whole groups out of arrays.

    Args:
        x: the data, of any kind that Keras takes.
        batch_size: samples of a batch; Keras' default is 32.
        shuffle: whether each epoch has an order of its own; "batch" keeps the samples of a batch together.
        **options: the other arguments of Keras' iterator.
    """

    def __init__(self, x: Any, *, batch_size: int | None = None, shuffle: Any = False, **options: Any) -> None:
        x, options = adapted(x, options)
        if shards.reads_all():
            same_random_state()
        with shards.reading_all() if shards.is_shared() else nullcontext():
            super().__init__(x, batch_size=batch_size, shuffle=shuffle, **options)
        are_arrays = isinstance(self.data_adapter, ArrayDataAdapter) and shuffle != "batch"
        self._are_cut = are_arrays and self.steps_per_epoch is None and self.steps_per_execution == 1
        self._source = {"x": x, "shuffle": shuffle, **options}
        self._cut: tuple[int, EpochIterator] | None = None  # steps of a group, and the iterator over groups
        self.share: shards.Share | None = None  # of the last batch that was read
        self._skipped = 0, 0  # epochs, and batches of the epoch after them

    def skip(self, epochs: int, batches: int) -> None:
        """Let the next iteration read so many epochs, and then so many batches, before its first step."""
        self._skipped = epochs, batches

    def __iter__(self) -> Batches:
        (epochs, batches), self._skipped = self._skipped, (0, 0)
        for _ in range(epochs):
            deque(self, 0)
        super().__iter__()
        if batches:
            deque(islice(self, -(-batches // self.steps_per_execution)), 0)
        return self

    @property
    def equal_steps(self) -> int | None:
        """The number of steps with batches of one form: all except a smaller last one; None if it is unknown."""
        steps: int | None = self.num_batches
        try:
            return steps - 1 if steps and self.data_adapter.has_partial_batch else steps
        except NotImplementedError:  # Keras' generators and datasets do not know it
            return steps

    def in_groups(self, size: int) -> Iterator[Steps] | None:
        """The steps of an epoch, in groups of `size`; None if they are not cut out of arrays.

        Batches that are `size` times as large have the same samples in the same order, also if they are shuffled: Keras
        draws one permutation for an epoch.
        """
        if size < 2 or not self._are_cut or self._skipped != (0, 0):
            return None
        if self._cut is None or self._cut[0] != size:
            self._cut = size, EpochIterator(**self._source, batch_size=size * self.data_adapter.batch_size)
        return _divided(self._cut[1], size, self.data_adapter.batch_size)


def _divided(large: Iterable[Any], size: int, batch_size: int) -> Iterator[Steps]:
    """Large batches as groups, the last one as batches if it is smaller."""
    for number, _, (data,) in large:
        begin, samples = number * size, len(next(part for part in tree.flatten(data) if part is not None))
        if samples == size * batch_size:
            yield begin, begin + size - 1, Group(each_leaf(lambda v: _folded(v, size), data), size)
            continue
        for i, start in enumerate(range(0, samples, batch_size), begin):
            part = slice(start, start + batch_size)
            yield i, i, [each_leaf(lambda v: None if v is None else v[part], data)]  # noqa: B023  # called at once


def _folded(value: Any, size: int) -> Any:
    """A part of a large batch, as the part of a group of `size` batches."""
    return None if value is None else given(np.reshape(value, (size, -1, *value.shape[1:])), axis=1)


def given(value: Any, eagerly: bool = False, axis: int = 0) -> Any:
    """A part of a batch as a step takes it: a program takes NumPy arrays unchanged, except arrays of 64 bits.

    Args:
        value: the part.
        eagerly: whether the step is called uncompiled.
        axis: the axis of the samples.
    """
    if value is None or isinstance(value, shards.Share):
        return value
    if (distribution := layouts.current()) is not None:
        return layouts.of_batch(value, distribution, axis)
    if eagerly or not isinstance(value, np.ndarray):
        return convert_to_tensor(value)
    return in_32_bits(value)


def _stacked(*parts: Any) -> Any:
    """The same part of equal batches, with a new first axis."""
    if parts[0] is None:
        return None
    stacked = np.stack(parts) if isinstance(parts[0], np.ndarray) else ops.stack(list(map(given, parts)))
    return given(stacked, axis=1)


def are_equal(batches: list[Any]) -> bool:
    """Whether batches have the same structure, shapes and dtypes."""
    first, *others = map(_form, batches)
    return all(form == first for form in others)


def _form(batch: Any) -> list[Any]:
    return [(path, getattr(v, "shape", None), getattr(v, "dtype", None)) for path, v in tree.flatten_with_path(batch)]


def groups(batches: Iterable[Any], size: Callable[[], int], is_steady: bool) -> Iterator[Steps]:
    """Batches, equal ones in groups; batches that fill no group come one by one.

    Args:
        batches: the batches of an epoch.
        size: a function that returns the size of the next group.
        is_steady: whether all groups of the epoch should have the same size.
    """
    if shards.is_shared():
        return _shared(batches)
    cut = batches.in_groups(size()) if is_steady and isinstance(batches, Batches) else None
    return cut or _collected(batches, size)


def _shared(batches: Any) -> Iterator[Steps]:
    for step in shards.shared_steps(batches):
        batches.share = step[2][-1][1]
        yield step


def _collected(batches: Iterable[Any], size: Callable[[], int]) -> Iterator[Steps]:
    waiting: list[Steps] = []
    form: Any = None
    for batch in batches:
        wanted = size()
        if wanted == 1 or len(batch[2]) > 1:  # the user's own groups
            yield from waiting
            waiting = []
            yield batch
            continue
        before, form = form, _form(batch[2][0])
        if waiting and form != before:
            yield from waiting
            waiting = []
        waiting.append(batch)
        if len(waiting) >= wanted:
            yield waiting[0][0], waiting[-1][1], Group.of([data[0] for _, _, data in waiting])
            waiting = []
    yield from waiting
