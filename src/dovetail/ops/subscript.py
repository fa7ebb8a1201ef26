"""`x[...]`, as NumPy reads it, on eager tensors, graph tensors and variables.

An index becomes at most three ops, in this order: new axes (`ExpandDims`), slices and Python ints (`StridedSlice`),
then tensors of positions (`GatherV2` along one axis, `GatherNd` along several).  A mask is turned into positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.errors import op_error
from dovetail.ops import dispatch
from dovetail.ops.index import take
from dovetail.ops.shape import convert, expand_dims
from dovetail.ops.slicing import strided_slice
from dovetail.tensor import Operators

WHOLE = slice(None)


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: ints, slices, `...`, None, tensors or arrays of positions, boolean masks.

    Bounds and steps of slices may be tensors.  An int tensor picks one element, also inside compiled loops.

    Raises:
        IndexError: too many axes are indexed, an index is out of range or of no use as an index.
        ValueError: a step is 0, or the rank of `x` is unknown.

    Source: NumPy's indexing.

    Example:
        >>> x = convert([[1, 2, 3], [4, 5, 6]])
        >>> x[::-1, [0, 2]].numpy()
        array([[4, 6],
               [1, 3]], dtype=int32)
    """
    x = convert(x)
    if x.shape is None:
        raise op_error(ValueError, "StridedSlice", "a tensor of unknown rank cannot be indexed; reshape it first.")
    entries = _entries(index if isinstance(index, tuple) else (index,), len(x.shape))
    new = tuple(i for i, entry in enumerate(entries) if entry is None)
    if new:
        x = expand_dims(x, new)
        entries = [WHOLE if entry is None else entry for entry in entries]
    arrays = [i for i, entry in enumerate(entries) if not isinstance(entry, (int, slice))]
    x = _sliced(x, entries)
    for i in reversed(arrays):
        x = take(x, entries[i], axis=sum(not isinstance(entry, int) for entry in entries[:i]))
    return x


def _entries(index: tuple[Any, ...], rank: int) -> list[Any]:
    """One entry for each axis, and None for each new one: Python ints, slices, integer tensors."""
    entries = [_entry(item) for item in index]
    dots = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    missing = rank - sum(entry is not None and entry is not Ellipsis for entry in entries)
    if len(dots) > 1:
        raise _index_error("an index can have only one ellipsis (...).")
    if missing < 0:
        raise _index_error(f"{rank - missing} axes are indexed, but the tensor has {rank}.")
    at = dots[0] if dots else len(entries)
    return [*entries[:at], *[WHOLE] * missing, *entries[at + 1 :]]


def _entry(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    return item


def _index_error(problem: str) -> Exception:
    return op_error(IndexError, "StridedSlice", problem)


def _sliced(x: Any, entries: list[Any]) -> Any:
    """Applies the ints and the slices among the entries."""
    begin, end, strides = [], [], []
    masks = [0, 0, 0]
    for i, entry in enumerate(entries):
        bit = 1 << i
        if isinstance(entry, int):
            start, stop, step = entry, 0, 1
            masks[2] |= bit
        else:
            start, stop, step = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (None,) * 3
            masks[0] |= bit * (start is None)
            masks[1] |= bit * (stop is None)
        begin.append(0 if start is None else start)
        end.append(0 if stop is None else stop)
        strides.append(1 if step is None else step)
    if all(entry == WHOLE for entry in entries if isinstance(entry, (int, slice))):
        return x
    return strided_slice(x, begin, end, strides, *masks)


Operators.__getitem__ = getitem  # type: ignore[method-assign]
