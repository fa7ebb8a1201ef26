"""TensorFlow's names of ragged tensors: rows of several lengths, behind each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.core.dtypes import as_dtype
from dovetail.ops.shapes.shape import dims_of


class RaggedTensor:
    """Rows of several lengths, which a tensor with values in place of the missing elements may be made of.

    Args:
        values: the elements of all rows, one row behind the other.
        row_splits: the place of the first element of each row among them, and the number of all.

    Attributes:
        values, flat_values, row_splits: the arguments; `flat_values` are the values.

    Source: `tf.RaggedTensor`.

    Example:
        >>> rows = RaggedTensor.from_value_rowids([5, 6, 7], [0, 0, 2])
        >>> rows.to_list(), rows.to_tensor(-1).numpy().tolist()
        ([[5, 6], [], [7]], [[5, 6], [-1, -1], [7, -1]])
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values = self.flat_values = ops.convert(values)
        self.row_splits, self.dtype = _integers(row_splits), self.values.dtype

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> Any:
        """The rows between these places."""
        return cls(values, row_splits)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows of these lengths."""
        lengths = _integers(row_lengths)
        return cls(values, ops.concatenate([ops.zeros([1], lengths.dtype), ops.cumsum(lengths)]))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """The rows with these numbers, one for each value, in order.

        Args:
            nrows: how many rows there are; by default as many as the last number tells.
        """
        rows = _integers(value_rowids)
        count = ops.max(ops.concatenate([rows, ops.cast([-1], rows.dtype)])) + 1 if nrows is None else nrows
        lengths = ops.scatter_nd(ops.expand_dims(rows, 1), ops.ones_like(rows), [count])
        return cls.from_row_lengths(values, lengths)

    @classmethod
    def from_tensor(cls, tensor: Any, lengths: Any = None, name: str | None = None) -> Any:
        """The first elements of the rows of a tensor, all of them by default.

        Args:
            tensor: (rows, width, …).
            lengths: how many elements of each row.
        """
        tensor = ops.convert(tensor)
        count, width = (ops.cast(size, "int64") for size in dims_of(tensor)[:2])
        lengths = ops.broadcast_to(width, [count]) if lengths is None else _integers(lengths)
        is_there = ops.less(ops.arange(width), ops.expand_dims(ops.cast(lengths, "int64"), 1))
        return cls.from_row_lengths(ops.gather_nd(tensor, ops.positions(is_there)), lengths)

    def to_tensor(self, default_value: Any = 0, name: str | None = None) -> Any:
        """The rows in one tensor as wide as the longest one, with a value in place of the missing elements."""
        rows, lengths = ops.cast(self.value_rowids(), "int64"), self.row_lengths()
        width = ops.max(ops.concatenate([lengths, ops.zeros([1], lengths.dtype)]))
        first = ops.cast(ops.gather(self.row_splits, rows), "int64")
        places = ops.stack([rows, ops.subtract(ops.arange(ops.shape(rows)[0], dtype="int64"), first)], 1)
        shape = [self.nrows(), width, *dims_of(self.values)[1:]]
        return ops.tensor_scatter_update(ops.full(shape, ops.cast(default_value, self.dtype)), places, self.values)

    def nrows(self) -> Any:
        """The number of rows."""
        return ops.cast(ops.shape(self.row_splits)[0], self.row_splits.dtype) - 1

    def row_starts(self) -> Any:
        """The place of the first element of each row."""
        return self.row_splits[:-1]

    def row_limits(self) -> Any:
        """The place behind the last element of each row."""
        return self.row_splits[1:]

    def row_lengths(self) -> Any:
        """The number of elements of each row."""
        return ops.subtract(self.row_limits(), self.row_starts())

    def value_rowids(self) -> Any:
        """The number of the row of each element."""
        return ops.repeat(ops.arange(self.nrows()), self.row_lengths())

    def to_list(self) -> list[Any]:
        """The rows as lists.

        Raises:
            ValueError: the values are not known before a run.
        """
        return [row.tolist() for row in np.split(np.asarray(self.values), np.asarray(self.row_splits)[1:-1])]


def _integers(given: Any) -> Any:
    """Integers as a tensor; a list becomes int64."""
    return ops.convert(given, None if hasattr(given, "dtype") else "int64")


value("RaggedTensor", RaggedTensor)


@function("ragged.range", scope=True)
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = "int64",
) -> RaggedTensor:
    """Evenly spaced numbers, a row for each start.

    Args:
        starts: the first number of each row; without limits, the limits of rows that start at 0.
        limits: the numbers before which the rows end.
        deltas: the steps of the rows.

    Source: `tf.ragged.range`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> tf.ragged.range([2, 1], [5, 3]).to_list()
        [[2, 3, 4], [1, 2]]
    """
    if limits is None:
        starts, limits = 0, starts
    parts = [ops.convert(x, dtype) for x in (starts, limits, deltas)]
    starts, limits, deltas = (ops.reshape(x, [-1]) for x in parts)
    steps = ops.divide(*(ops.cast(x, "float64") for x in (ops.subtract(limits, starts), deltas)))
    lengths = ops.cast(ops.maximum(ops.ceil(steps), 0.0), "int64")
    splits = ops.concatenate([ops.zeros([1], "int64"), ops.cumsum(lengths)])
    rows = RaggedTensor(lengths, splits).value_rowids()
    starts, deltas = (ops.gather(ops.broadcast_to(x, ops.shape(lengths)), rows) for x in (starts, deltas))
    places = ops.subtract(ops.arange(splits[-1], dtype="int64"), ops.gather(splits, rows))
    values = ops.add(starts, ops.multiply(deltas, ops.cast(places, starts.dtype)))
    return RaggedTensor(values, ops.cast(splits, as_dtype(row_splits_dtype)))
