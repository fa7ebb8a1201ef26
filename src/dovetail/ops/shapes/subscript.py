"""`x[...]`, as NumPy reads it, on eager tensors, graph tensors and variables.

An index becomes at most three steps, in this order: new axes (`ExpandDims`), slices and Python ints (`StridedSlice`),
then tensors of positions (`GatherV2` along one axis, `GatherNd` along several).  A mask counts as the positions where
it is True.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.calls.check_arguments import checked
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.tensor import Operators
from dovetail.core.values import host, infer
from dovetail.core.values.value_kinds import dtype_of, is_tensor, seen, static_shape
from dovetail.ops.math.compare import saturate_cast
from dovetail.ops.shapes.index import gather, gather_nd
from dovetail.ops.shapes.join import stack, unstack
from dovetail.ops.shapes.search import positions
from dovetail.ops.shapes.shape import expand_dims, reorder, shaped
from dovetail.ops.shapes.slicing import strided_slice

WHOLE = slice(None)
_TAKES = "it takes ints, slices, ..., None, integer tensors and masks"


@checked
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: ints, slices, `...`, None, tensors or arrays of positions, boolean masks.

    Bounds and steps of slices may be tensors.  An int tensor picks one element, also inside compiled loops.  A list is
    positions, as in NumPy; a list that has a slice, `...` or None in it is a tuple, as in TensorFlow.

    Raises:
        IndexError: too many axes are indexed, an index is out of range, or is no valid index.
        ValueError: a step is 0.

    Source: NumPy's indexing.

    Example:
        >>> from dovetail.ops import constant
        >>> x = constant([[1, 2, 3], [4, 5, 6]])
        >>> x[::-1, [0, 2]].numpy()
        array([[4, 6],
               [1, 3]], dtype=int32)
    """
    if hooks.array_result is None or not isinstance(x, np.ndarray):  # with this hook, arrays stay arrays
        x = shaped(x)
    entries = _entries(_parts(index), static_shape(x))
    new = tuple(i for i, entry in enumerate(entries) if entry is None)
    if new:
        x = expand_dims(x, new)
        entries = [WHOLE if entry is None else entry for entry in entries]
    tensors = [i for i, entry in enumerate(entries) if not isinstance(entry, (int, slice))]
    if not any(len(entries[i].shape) for i in tensors):
        x = _sliced(x, entries)
        for i in reversed(tensors):
            x = gather(x, entries[i], axis=sum(not isinstance(entry, int) for entry in entries[:i]))
        return x
    axes = [i for i, entry in enumerate(entries) if not isinstance(entry, slice)]  # ints broadcast with the tensors
    x = _sliced(x, [entry if isinstance(entry, slice) else WHOLE for entry in entries])
    return _picked(x, axes, [entries[i] for i in axes])


def _picked(x: Any, axes: list[int], indices: list[Any]) -> Any:
    """The elements at positions on several axes.

    The axes of the positions replace the indexed axes if these are adjacent; else they come first.
    """
    if len(axes) == 1:
        return gather(x, indices[0], axis=axes[0])
    indices = _broadcast(indices, x)
    rank = len(indices[0].shape)
    rest = [i for i in range(len(x.shape)) if i not in axes]
    picked = gather_nd(reorder(x, [*axes, *rest]), stack(indices, -1))
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    after = range(rank, rank + len(rest))
    return reorder(picked, [*after[:first], *range(rank), *after[first:]])


def _broadcast(indices: list[Any], x: Any) -> list[Any]:
    """The indices in one shape and one dtype, in which positions out of range on the axes of `x` stay out of range."""
    tensors = [shaped(i) for i in indices]
    large = not all(dim and dim < 2**31 for dim in static_shape(x))
    wide = large and any(native_to_dtype(t.dtype).itemsize == 8 for t in tensors)
    tensors = [saturate_cast(t, "int64" if wide else "int32") for t in tensors]
    try:
        infer.broadcast(*[t.shape for t in tensors])
    except ValueError as error:
        raise _index_error(str(error)) from None
    zero = functools.reduce(operator.add, [t * 0 for t in tensors])
    return [t + zero for t in tensors]


# -- reading the index ------------------------------------------------------------------------------------------------


def _parts(index: Any) -> tuple[Any, ...]:
    """An index as a tuple with a part for each comma."""
    if isinstance(index, tuple):
        return index
    parts = isinstance(index, list) and any(item is None or item is Ellipsis or type(item) is slice for item in index)
    return tuple(index) if parts else (index,)


def _entries(index: tuple[Any, ...], shape: tuple[int | None, ...] | None) -> list[Any]:
    """One entry for each axis, or for the first ones: an int, a slice or an integer tensor; None for each new axis."""
    items = [_item(item) for item in index]
    if shape is None:
        if any(item is Ellipsis or _is_mask(item) for item in items):
            raise _index_error("a tensor of unknown rank has neither an ellipsis (...) nor masks; reshape it first.")
        return items
    if sum(item is Ellipsis for item in items) > 1:
        raise _index_error("an index can have only one ellipsis (...).")
    missing = len(shape) - sum(map(_width, items))
    if missing < 0:
        raise _index_error(f"{len(shape) - missing} axes are indexed, but the tensor has {len(shape)}.")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    entries: list[Any] = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            entries += [WHOLE] * missing
            axis += missing
        elif _is_mask(item):
            entries += _positions(item, shape[axis:])
            axis += len(static_shape(item))
        else:
            entries.append(item)
            axis += item is not None
    return entries


def _item(item: Any) -> Any:
    """A part of an index: None, Ellipsis, slice and int stay; the rest becomes a tensor or array of ints or bools."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if not is_tensor(item):
        try:
            item = host.host_array(item)
        except (TypeError, ValueError):
            raise _index_error(f"{describe(item)} is no index; {_TAKES}.") from None
        if not item.size and item.dtype.kind == "f":  # an empty list
            item = item.astype(np.int32)
    else:
        item = shaped(item)
    dtype = native_to_dtype(dtype_of(item))
    if not (dtype.is_integer or (dtype.is_bool and static_shape(item))):
        given = "a single bool" if dtype.is_bool else f"a {dtype} value"
        raise _index_error(f"{given} is no index; {_TAKES}.")
    return item


def _is_mask(item: Any) -> bool:
    return native_to_dtype(seen(item).dtype).is_bool if hasattr(seen(item), "dtype") else False


def _width(item: Any) -> int:
    """The number of axes that a part of an index covers."""
    if item is None or item is Ellipsis:
        return 0
    return len(static_shape(item)) if _is_mask(item) else 1


def _positions(mask: Any, shape: tuple[int | None, ...]) -> list[Any]:
    """The positions at which a mask is True: for each of its axes an integer tensor."""
    for dim, size in zip(shape, static_shape(mask), strict=False):
        if None not in (dim, size) and dim != size:
            given = static_shape(mask)
            raise _index_error(f"a mask of shape {given} does not fit the axes of shape {shape[: len(given)]}.")
    return list(np.nonzero(mask)) if isinstance(mask, np.ndarray) else unstack(positions(mask), axis=-1)


def _index_error(problem: str) -> Exception:
    return op_error(IndexError, "StridedSlice", problem)


def _sliced(x: Any, entries: list[Any]) -> Any:
    """Apply the ints and the slices among the entries."""
    bounds = [_bounds(entry) for entry in entries]
    if all(bound is None for each in bounds for bound in each):
        return x
    begin, end, strides = (
        [default if bound is None else bound for bound in column]
        for default, column in zip((0, 0, 1), zip(*bounds, strict=True), strict=True)
    )
    begin_mask = sum(1 << i for i, (start, _, _) in enumerate(bounds) if start is None)
    end_mask = sum(1 << i for i, (_, stop, _) in enumerate(bounds) if stop is None)
    shrink_axis_mask = sum(1 << i for i, entry in enumerate(entries) if isinstance(entry, int))
    return strided_slice(x, begin, end, strides, begin_mask, end_mask, shrink_axis_mask)


def _bounds(entry: Any) -> tuple[Any, Any, Any]:
    """Start, stop and step of an entry; an axis for a tensor of positions stays whole for now."""
    if isinstance(entry, int):
        return entry, 0, 1
    if not isinstance(entry, slice):
        return None, None, None
    start, stop, step = map(_within, (entry.start, entry.stop, entry.step))
    return start, stop, step


def _within(bound: Any) -> Any:
    """A bound that engines can hold; all bounds beyond every axis mean the same."""
    bound = int(bound) if isinstance(bound, (np.ndarray, np.generic)) and bound.dtype.kind in "iu" else bound
    return max(-_FAR, min(bound, _FAR)) if isinstance(bound, int) else bound


_FAR = 0x1FFF_FFFF_7FFF_FFFF  # in places TensorFlow reads the lower 32 bits alone, which are far enough too
Operators.__getitem__ = getitem  # type: ignore[method-assign]
