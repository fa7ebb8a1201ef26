"""Tables, which are dicts: of keys and values, or of keys and counted lines of a file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from dovetail.formats.host.arrays import each, numpy_dtype, packed
from dovetail.formats.host.hashes import bucket
from dovetail.formats.nodes.opaque import Unreadable

WHOLE_LINE, LINE_NUMBER = -2, -1  # columns of a file of text

Table = dict[Any, Any]


def items_of(keys: np.ndarray, values: np.ndarray) -> Table:
    """The table of keys and values.

    Raises:
        ValueError: there are not as many keys as values.
    """
    return dict(zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))


def fill(table: Table, keys: np.ndarray, values: np.ndarray) -> list[Any]:
    """Replace the items of a table."""
    table.clear()
    return insert(table, keys, values)


def insert(table: Table, keys: np.ndarray, values: np.ndarray) -> list[Any]:
    """Add items to a table; see `items_of`."""
    table.update(items_of(keys, values))
    return []


def remove(table: Table, keys: np.ndarray) -> list[Any]:
    """Remove the items of some keys."""
    for key in keys.reshape(-1).tolist():
        table.pop(key, None)
    return []


def find(table: Table, keys: np.ndarray, default: np.ndarray, *, buckets: int = 0) -> np.ndarray:
    """The value of each key.

    Args:
        table: the table.
        keys: of any shape.
        default: the value of other keys, a scalar.
        buckets: other keys get the numbers behind those of the table, by their hash; 0 for the default.

    Raises:
        Unreadable: the values are no scalars.

    Example:
        >>> find({b"a": 7}, np.array([b"a", b"b"], object), np.array(-1)).tolist()
        [7, -1]
    """
    if default.ndim:
        raise Unreadable("the values of its table are no scalars")
    nothing = default.item()

    def value(key: Any) -> Any:
        return table[key] if key in table else len(table) + bucket(key, buckets) if buckets else nothing

    return each(value, keys, dtype=default.dtype)


def size(table: Table) -> np.ndarray:
    """The number of items, int64."""
    return np.array(len(table), np.int64)


def export(table: Table, *, Tkeys: Any, Tvalues: Any) -> list[np.ndarray]:
    """The keys and the values.

    Args:
        table: the table.
        Tkeys, Tvalues: their dtypes; None stands for strings.
    """
    return [packed(list(table), numpy_dtype(Tkeys)), packed(list(table.values()), numpy_dtype(Tvalues))]


def items_of_lines(
    lines: Iterable[bytes],
    key_index: int,
    value_index: int,
    *,
    offset: int = 0,
    vocab_size: int = -1,
    delimiter: str = "\t",
) -> Table:
    """The table of the lines of a file of text.

    Args:
        lines: the lines.
        key_index, value_index: their columns with keys and values; `WHOLE_LINE` and `LINE_NUMBER` are columns, too.
        offset: how many lines are left out.
        vocab_size: how many lines are read; -1 for all.
        delimiter: ends a column.

    Raises:
        ValueError: a line has too few columns.

    Example:
        >>> items_of_lines([b"a", b"b"], WHOLE_LINE, LINE_NUMBER)
        {b'a': 0, b'b': 1}
    """
    sign = delimiter.encode()
    read = islice(lines, offset, offset + vocab_size if vocab_size >= 0 else None)
    return {
        _column(line, number, key_index, sign): _column(line, number, value_index, sign)
        for number, line in enumerate(read)
    }


def _column(line: bytes, number: int, column: int, delimiter: bytes) -> Any:
    if column in (WHOLE_LINE, LINE_NUMBER):
        return line if column == WHOLE_LINE else number
    parts = line.split(delimiter)
    if column >= len(parts):
        raise ValueError(f"the line {number} of its file has {len(parts)} columns, and it takes column {column}.")
    return parts[column]
