"""Constants while a graph is read: tensors whose values are known before it runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import describe
from dovetail.core.base.read_limits import fold, kept, need_bytes
from dovetail.core.base.scopes import scopes
from dovetail.core.dtypes import as_dtype
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import size_of
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.graph.folding import folded
from dovetail.graph.operation import GraphTensor
from dovetail.graph.shape_values import shape_values
from dovetail.ops.shapes.shape import dims_of, known_dims

NUMBER = 8  # bytes of a number of an array
PYTHON_NUMBER = 40  # bytes of a number of Python in a list
DEEPEST = 64  # operations between constants and a value that they give


def recorded(value: Any, dtype: Any) -> Any:
    """A constant of the graph that is being built, so that ops on it are recorded; without a graph, a tensor."""
    graphs, array = scopes().graphs, np.asarray(value, as_dtype(dtype).numpy)
    return graphs[-1].constant(array, "Const") if graphs else ops.convert(array)


def filled(dims: Any, value: Any, dtype: Any) -> Any:
    """A tensor with one value for all elements, which takes no memory while the graph is read."""
    return ops.broadcast_to(recorded(value, dtype), dims)


def within(*sizes: Any) -> None:
    """Count an array of numbers of some sizes, which a file of a few bytes may ask for.

    Raises:
        PastLimit: it would be large.
    """
    fold(NUMBER * math.prod(max(size, 1) for size in sizes if isinstance(size, int)))


def wanted(tensor: Any) -> np.ndarray | None:
    """The array of a tensor that a node needs before the graph runs, as `constant_of` finds it.

    Raises:
        PastLimit: it would be large.
    """
    if is_tensor(tensor):
        need_bytes((size_of(tensor.shape) or 0) * PYTHON_NUMBER)
    return constant_of(tensor)


def plain(array: np.ndarray) -> Any:
    """An array as a Python number, or a list.

    Raises:
        PastLimit: the list would be large; a tensor with one value for all elements may have any number of them.
    """
    fold(array.size * PYTHON_NUMBER)
    return array.tolist()


def known_size(x: Any, axis: int) -> int:
    """A dimension of a tensor that must be known before the graph runs.

    Raises:
        UnknownRank, Unreadable: it is not known, or there is no such axis.
    """
    dims = known_dims(x)
    size = dims[axis] if -len(dims) <= axis < len(dims) else None
    if size is None:
        raise Unreadable(f"the size of axis {axis} of its input {describe(x)} must be known")
    return size


def of_rank(x: Any, rank: int) -> list[Any]:
    """The dimensions of a tensor, as `dims_of` gives them, which must have some rank.

    Raises:
        UnknownRank, Unreadable: it has not.
    """
    dims = dims_of(x)
    if len(dims) != rank:
        raise Unreadable(f"it takes an input of {rank} axes, not {describe(x)}")
    return dims


def counted(size: Any) -> Any:
    """The numbers 0 … size - 1."""
    within(size)
    return ops.arange(size)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor: of a graph, or, where nodes are computed at once, of NumPy."""
    return type(value) in (GraphTensor, Tensor)


def constant_of(value: Any) -> np.ndarray | None:
    """The array of a tensor that is known before the graph runs; None if it is not.

    Constants are known, operations on them, and integers that arithmetic makes of known dimensions.
    """
    if isinstance(value, np.ndarray):
        return value
    if not is_tensor(value):
        return None
    if type(value) is Tensor:
        return np.asarray(value.numpy())
    known = _folded(value, {}, kept(_folded, dict), 0)
    if known is not None:
        return known
    array = shape_values(value).of(value) if value.dtype.is_integer else None
    if array is None or not (np.isfinite(array).all() and (np.abs(array) <= value.dtype.max).all()):
        return None
    return array.astype(value.dtype.numpy)


def _folded(tensor: Any, found: dict[Any, Any], known: dict[Any, Any], depth: int) -> np.ndarray | None:
    """The array that operations on constants give; `found` has those without results, `known` those of the others."""
    op = tensor.op
    if op.type == "Const":
        return np.asarray(op.attrs["value"])
    if op.type == "Shape" and None not in (op.inputs[0].shape or (None,)):
        return np.asarray(op.inputs[0].shape, tensor.dtype.numpy)
    if op.type == "PlaceholderWithDefault":  # a run may feed it
        return None
    if op not in known and op not in found:
        values: list[Any] = []
        for one in op.inputs if depth < DEEPEST else ():
            values.append(_folded(one, found, known, depth + 1))
            if values[-1] is None:
                break
        results = folded(op, values) if values and values[-1] is not None else None
        (found if results is None else known)[op] = results
    results = known.get(op)
    return None if results is None else results[tensor.index]
