"""Numbers that stand for strings, where an engine or a rule of numbers moves or compares them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dovetail.formats.host.arrays import packed


class Numbers:
    """A number for each string, or for another value of the host; equal ones have one number.

    0 is the empty string, with which TensorFlow fills.

    Example:
        >>> numbers = Numbers()
        >>> numbers.of(np.array([b"b", b"", b"b"], object))
        array([1, 0, 1])
        >>> numbers.values(np.array([1, 0]))
        array([b'b', b''], dtype=object)
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {b"": 0}
        self._values: dict[int, Any] = {0: b""}
        self._new = itertools.count(1)

    def __len__(self) -> int:
        return len(self._values)

    def of(self, values: np.ndarray) -> np.ndarray:
        """The numbers of an array of values, int64."""
        return packed([self.number(one) for one in values.reshape(-1).tolist()], np.int64, values.shape)

    def number(self, value: Any) -> int:
        """The number of a value."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = next(self._new)
            self._values[number] = value
        return number

    def values(self, numbers: Any) -> np.ndarray:
        """The values of an array of numbers."""
        array = np.asarray(numbers)
        return packed([self._values[number] for number in array.reshape(-1).tolist()], shape=array.shape)
