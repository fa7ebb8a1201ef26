"""Arrays of strings, which are `bytes` in arrays of objects, and rows of different lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe

STRINGS = np.dtype(object)  # NumPy's dtype of arrays of strings


def packed(values: Sequence[Any], dtype: Any = STRINGS, shape: Sequence[int] = (-1,)) -> np.ndarray:
    """An array whose elements are the values, also if these are sequences themselves.

    Example:
        >>> packed([b"a", b"b"], shape=(2, 1)).tolist()
        [[b'a'], [b'b']]
    """
    array = np.empty(len(values), dtype)
    array[:] = values
    return array.reshape(shape)


def each(function: Callable[..., Any], *arrays: Any, dtype: Any = STRINGS) -> np.ndarray:
    """An array of a function's results for the elements of some arrays, which are broadcast.

    Example:
        >>> each(len, strings_of(["a", "bcd"]), dtype="int32")
        array([1, 3], dtype=int32)
    """
    arrays = tuple(np.broadcast_arrays(*arrays))
    flat = (array.reshape(-1).tolist() for array in arrays)
    return packed([function(*values) for values in zip(*flat, strict=True)], dtype, arrays[0].shape)


def strings_of(value: Any) -> np.ndarray:
    """Strings as an array of `bytes`; text is encoded as UTF-8.

    Raises:
        TypeError: some part is no string.

    Example:
        >>> strings_of(["a", b"b"])
        array([b'a', b'b'], dtype=object)
    """

    def encoded(one: Any) -> bytes:
        if not isinstance(one, (str, bytes)):
            raise TypeError(f"strings are needed, not {describe(one)}, of the type {type(one).__name__}.")
        return one.encode() if isinstance(one, str) else bytes(one)

    return each(encoded, np.array(value, object))


def numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype of the arrays of a dtype; None stands for strings."""
    return STRINGS if dtype is None else dtype.numpy


def splits_of(rows: Sequence[Sized], dtype: Any = None) -> np.ndarray:
    """The places where rows begin and end in their joined values; int64, if no dtype is given.

    Example:
        >>> splits_of(["ab", "", "c"])
        array([0, 2, 2, 3])
    """
    return np.cumsum([0, *map(len, rows)], dtype=np.int64 if dtype is None else dtype.numpy)


def joined(rows: Sequence[Sequence[Any]], dtype: Any = STRINGS) -> np.ndarray:
    """The elements of all rows."""
    return packed([element for row in rows for element in row], dtype)


def sparse(rows: Sequence[Sequence[Any]], dtype: Any = STRINGS) -> list[np.ndarray]:
    """Rows as a sparse tensor: indices, values and shape.

    Example:
        >>> [part.tolist() for part in sparse([[5, 6], [], [7]], "int64")]
        [[[0, 0], [0, 1], [2, 0]], [5, 6, 7], [3, 2]]
    """
    indices = [(row, place) for row, parts in enumerate(rows) for place in range(len(parts))]
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return [np.array(indices, np.int64).reshape(-1, 2), joined(rows, dtype), shape]
