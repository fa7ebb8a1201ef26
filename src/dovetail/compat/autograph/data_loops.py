"""The elements of a data set in a loop of a graph: Python gives them while the graph runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.names.data.elements import continued, each, leaves
from dovetail.compat.tensorflow.names.strings.tensors import called
from dovetail.compat.tensorflow.names.strings.text import STRING, strings_of
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import not_building
from dovetail.core.values.variable import Variable

OPEN = 100  # loops over one data set whose elements are kept: those inside of each other, and those of a gradient


class Elements:
    """The elements of a data set by their numbers, from the first one in each run of the loop.

    They are kept, by the number of the loop, since a gradient may ask for them again.  A variable counts the loops, so
    a gradient that begins a loop again has its number.

    Args:
        dataset: the data set.

    Attributes:
        count: their number, if it is known.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._leaf = dataset, dataset.leaf
        self.count = dataset._length if dataset._length >= 0 else None
        self._open: dict[int, tuple[Iterator[Any], list[Any]]] = {}
        with not_building():  # the variable belongs to this trace, not to the program
            self._count = Variable(0, "int32", name="data/count", trainable=False)
        self._count.is_counter = True
        self._kinds = list(leaves(self._leaf))
        number = self._count.read()
        self._count.assign_add(1)
        (self._loop,) = called(self._begin, [number, *dataset.needs], ["int64"], [()])

    def is_there(self, number: Any) -> Any:
        """Whether there is an element of a number."""
        return called(self._has, [self._loop, number], ["bool"], [()], op="PyFuncStateless")[0]

    def at(self, number: Any) -> Any:
        """The element of a number."""
        shapes = [None if leaf.shape.rank is None else tuple(leaf.shape) for leaf in self._kinds]
        dtypes = [leaf.dtype for leaf in self._kinds]
        parts = iter(called(self._at, [self._loop, number], dtypes, shapes, op="PyFuncStateless"))
        return each(lambda _: next(parts), self._leaf)

    def _begin(self, loop: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        number = int(loop)
        if number not in self._open:
            if number < max(self._open, default=0):
                problem = f"a gradient needs the elements of a loop over it again, and {OPEN} more loops began since"
                raise op_error(RuntimeError, "tf.data.Dataset", f"{problem}: take the elements before the loops.")
            elements = continued(dict(zip(self._dataset.needs, arrays, strict=True)), self._all())
            self._open[number] = elements, []
            self._open.pop(number - OPEN, None)
        return np.asarray(number, "int64")

    def _all(self) -> Iterator[Any]:
        """The elements; their source is asked when the first one is needed."""
        yield from self._dataset._elements()

    def _has(self, loop: np.ndarray, number: np.ndarray) -> np.ndarray:
        elements, known = self._open[int(loop)]
        known.extend(itertools.islice(elements, max(0, int(number) + 1 - len(known))))
        return np.asarray(len(known) > int(number))

    def _at(self, loop: np.ndarray, number: np.ndarray) -> list[Any]:
        if not self._has(loop, number):  # a body that is computed though the loop has ended
            return [np.zeros([size or 0 for size in leaf.shape or ()], leaf.dtype.numpy) for leaf in self._kinds]
        element = self._open[int(loop)][1][int(number)]
        return [
            strings_of(x) if leaf.dtype is STRING else x for leaf, x in zip(self._kinds, leaves(element), strict=True)
        ]
