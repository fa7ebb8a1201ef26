"""Iterators over data sets in eager programs; in functions that are recorded, each run takes the next elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.names.data.elements import continued, each, leaves, tensor
from dovetail.compat.tensorflow.names.strings.tensors import called
from dovetail.compat.tensorflow.names.strings.text import STRING, strings_of
from dovetail.core.base.errors import op_error
from dovetail.trace.trace import current_graph

TITLE = "tf.data.Iterator"
OPEN = 8  # iterators of one place of a function that are kept: those of loops inside of each other


class OwnedIterator:
    """The elements of a data set, one after the other, as `iter` gives them.

    Args:
        dataset: the data set.
        in_graph: whether it begins anew in each run of the graph that is built.

    Source: `tf.data.Iterator`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> numbers = iter(tf.data.Dataset.range(5))
        >>> add = tf.function(lambda x: x + next(numbers))
        >>> [int(add(tf.constant(10, tf.int64))) for _ in range(2)], int(next(numbers))
        ([10, 11], 2)
    """

    count = None  # it is not known how many are left

    def __init__(self, dataset: Any, in_graph: bool = False) -> None:
        self._dataset, self._ahead = dataset, list[Any]()
        self._left = iter([]) if in_graph else iter(dataset._elements())
        self._open, self._numbers = dict[int, OwnedIterator](), itertools.count()
        self._begun = called(self._begin, dataset.needs, ["int64"], [()]) if in_graph else []

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of an element, in its structure."""
        return self._dataset.element_spec

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        return each(tensor, self._taken())

    def get_next(self, name: str | None = None) -> Any:
        """The next element; in a function that is recorded, each run takes it.

        Raises:
            IndexError: there are no more, which a run of a function says when it asks.
        """
        if current_graph() is not None:
            return self.at()
        return each(tensor, self._needed())

    # -- in graphs

    def is_there(self, number: Any = None) -> Any:
        """Whether there is another element, when the graph runs."""
        return called(lambda *begun: np.asarray(self._of(begun).has_next()), self._begun, ["bool"], [()])[0]

    def at(self, number: Any = None) -> Any:
        """The next element, when the graph runs."""
        leaf = self._dataset.leaf
        kinds = list(leaves(leaf))

        def take(*begun: np.ndarray) -> list[Any]:
            element = leaves(self._of(begun)._needed())
            return [strings_of(x) if kind.dtype is STRING else x for kind, x in zip(kinds, element, strict=True)]

        if number is None:
            take.once = "next(iterator)"  # type: ignore[attr-defined]  # a gradient must not compute it again
        shapes = [None if kind.shape.rank is None else tuple(kind.shape) for kind in kinds]
        parts = iter(called(take, self._begun, [kind.dtype for kind in kinds], shapes))
        return each(lambda _: next(parts), leaf)

    def _begin(self, *arrays: np.ndarray) -> np.ndarray:
        number, values = next(self._numbers), dict(zip(self._dataset.needs, arrays, strict=True))
        self._open[number] = made = OwnedIterator(self._dataset)
        made._left = continued(values, self._all())
        self._open.pop(number - OPEN, None)
        return np.asarray(number, "int64")

    def _all(self) -> Iterator[Any]:
        yield from self._dataset._elements()

    def _of(self, begun: tuple[np.ndarray, ...]) -> OwnedIterator:
        """The iterator of a run."""
        return self._open[int(begun[0])] if begun else self

    # -- elements

    def has_next(self) -> bool:
        """Whether there is another element."""
        if not self._ahead:
            self._ahead.extend(itertools.islice(self._left, 1))
        return bool(self._ahead)

    def _taken(self) -> Any:
        return self._ahead.pop() if self._ahead else next(self._left)

    def _needed(self) -> Any:
        if not self.has_next():
            raise op_error(IndexError, f"{TITLE}.get_next", "End of sequence: the data set has no more elements.")
        return self._taken()
