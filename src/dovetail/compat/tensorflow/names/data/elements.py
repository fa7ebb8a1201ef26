"""Elements of pipelines of data: arrays, and tuples and dicts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.tensors import StringTensor
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of
from dovetail.compat.tensorflow.table import constant_value
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped
from dovetail.core.base.tensor_shape import TensorShape, shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.structure import with_values
from dovetail.core.values.value_kinds import is_recorded


@dataclass(frozen=True)
class Leaf:
    """The dtype and shape of a leaf of each element, as known before a run.

    Attributes:
        dtype: its dtype; `STRING` for strings.
        shape: its shape, as far as it is known.
    """

    dtype: Any
    shape: TensorShape

    def with_first(self, size: int | None) -> Leaf:
        """The leaf of stacks of `size` such leaves."""
        return Leaf(self.dtype, shape_of(None if self.shape.rank is None else (size, *self.shape)))

    def without_first(self) -> Leaf:
        """The leaf of slices of such leaves."""
        return Leaf(self.dtype, shape_of(None if self.shape.rank is None else tuple(self.shape)[1:]))

    def or_other(self, other: Leaf) -> Leaf:
        """The leaf of elements of both kinds."""
        if self.shape.rank is None or self.shape.rank != other.shape.rank:
            return Leaf(self.dtype, shape_of(None))
        pairs = zip(self.shape.as_list(), other.shape.as_list(), strict=True)
        return Leaf(self.dtype, shape_of([a if a == b else None for a, b in pairs]))


def leaf_of(x: Any) -> Leaf:
    """The dtype and shape of an array or a tensor."""
    return Leaf(STRING if is_text(x) else as_dtype(x.dtype), shape_of(x.shape))


def leaves_of(dtypes: Any, shapes: Any) -> Any:
    """The leaves of elements, from the dtypes and shapes in their structure."""
    if isinstance(dtypes, dict):
        values = {key: leaves_of(part, None if shapes is None else shapes[key]) for key, part in dtypes.items()}
        return with_values(dtypes, values)
    if isinstance(dtypes, (list, tuple)):
        parts = [None] * len(dtypes) if shapes is None else shapes
        return _with_parts(dtypes, (leaves_of(part, shape) for part, shape in zip(dtypes, parts, strict=True)))
    dims = shapes if shapes is None or hasattr(shapes, "__iter__") else [shapes]
    known = shape_of(dims)
    rank = known.rank
    shape = known if rank is None else shape_of([None if size in (None, -1) else int(size) for size in known.as_list()])
    return Leaf(STRING if is_text(None, dtypes) else as_dtype(dtypes), shape)


# -- structures -------------------------------------------------------------------------------------------------------


def _has_parts(element: Any) -> bool:
    return isinstance(element, tuple) and not isinstance(element, TensorShape)


def _with_parts(like: Any, parts: Iterable[Any]) -> Any:
    """A tuple of these parts, with the names of another one."""
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def each(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """The results of a function for the leaves of elements of one structure, in the order of `leaves`."""
    if isinstance(first, dict):
        values = {key: each(function, first[key], *(other[key] for other in others)) for key in sorted(first)}
        return with_values(first, values)
    if _has_parts(first):
        return _with_parts(first, [each(function, *parts) for parts in zip(first, *others, strict=True)])
    return function(first, *others)


def leaves(element: Any) -> Iterator[Any]:
    """The leaves of an element, in order; of dicts by sorted keys."""
    parts = map(element.get, sorted(element)) if isinstance(element, dict) else element if _has_parts(element) else None
    if parts is None:
        yield element
    else:
        for part in parts:
            yield from leaves(part)


def plain(value: Any) -> Any:
    """A value in dicts and tuples, in which a list of arrays is one array."""
    if isinstance(value, dict):
        return with_values(value, {key: plain(part) for key, part in value.items()})
    return _with_parts(value, map(plain, value)) if _has_parts(value) else value


def is_of_tensorflow(x: Any) -> bool:
    """Whether a value is a data set of TensorFlow itself."""
    return any(kind.__name__ == "DatasetV2" and kind.__module__.startswith("tensorflow.") for kind in type(x).__mro__)


# -- leaves -----------------------------------------------------------------------------------------------------------


def array(value: Any) -> Any:
    """A leaf as an array, with TensorFlow's dtypes for numbers of Python."""
    array_of_value = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "numpy"):  # TensorFlow's defaults
        narrow = {"float64": "float32", "int64": "int32"}.get(array_of_value.dtype.name)
        return array_of_value if narrow is None else array_of_value.astype(narrow)
    return array_of_value


def tensor(leaf: Any) -> Any:
    """A leaf as a tensor; strings stay arrays."""
    return leaf if np.asarray(leaf).dtype.kind in "OSU" else ops.constant(np.asarray(leaf))


def typed(element: Any, dtypes: Any) -> Any:
    """An element of a generator, with the dtypes of the same structure."""
    if isinstance(dtypes, dict):
        return with_values(dtypes, {key: typed(element[key], dtype) for key, dtype in dtypes.items()})
    if isinstance(dtypes, (list, tuple)):
        return _with_parts(dtypes, (typed(part, dtype) for part, dtype in zip(element, dtypes, strict=True)))
    return strings_of(element) if is_text(None, dtypes) else np.asarray(array(element), as_dtype(dtypes).numpy)


def stacked(*parts: Any) -> Any:
    """Leaves of one shape, stacked."""
    if len({np.shape(part) for part in parts}) > 1:
        shapes = [np.shape(part) for part in parts]
        problem = f"tf.data.Dataset.batch: elements must have one shape, but they have {shapes}"
        raise ValueError(f"{problem}: use padded_batch.")
    return np.stack(parts)


def like(element: Any, values: Any) -> Any:
    """Values in the structure of an element; one value, or None, is for all leaves."""
    kind = dict if isinstance(element, dict) else tuple
    if isinstance(element, kind) and not isinstance(values, kind):
        return each(lambda _: values, element)
    if isinstance(element, dict):
        return {key: like(part, values[key]) for key, part in element.items()}
    return tuple(map(like, element, values)) if isinstance(element, tuple) else values


def padded(shape: Any, filling: Any, *parts: Any) -> Any:
    """Leaves of one rank, stacked behind what fills them up."""
    longest = np.max([np.shape(part) for part in parts], axis=0, initial=0).astype(int)
    given = shape.as_list() if isinstance(shape, TensorShape) else shape
    pairs = zip(longest, longest if given is None else given, strict=True)
    sizes = [size if wanted in (None, -1) else int(wanted) for size, wanted in pairs]
    if is_text(parts[0]):
        filled = np.full([len(parts), *sizes], b"" if filling is None else strings_of(filling), object)
    else:
        kind = np.asarray(parts[0]).dtype
        filled = np.full([len(parts), *sizes], 0 if filling is None else array(filling), kind)
    for row, part in enumerate(parts):
        place: Any = (row, *map(slice, np.shape(part)), ...)
        filled[place] = part
    return filled


# -- values of graphs -------------------------------------------------------------------------------------------------

VALUES: Scoped[dict[Any, Any]] = Scoped({})  # a tensor of a graph → its array in the loop that goes on


def is_of_run(x: Any) -> bool:
    """Whether only a run knows a value."""
    return isinstance(x, StringTensor) or is_recorded(x)


def known(x: Any) -> Any:
    """A value in the loop that goes on."""
    if not is_of_run(x):
        return x
    if x not in VALUES.get():
        problem = f"the loop needs the value of {x!r}, which is no part of the pipeline's own source"
        raise op_error(ValueError, "tf.data.Dataset", f"{problem}: give it to the source, and map.")
    return VALUES.get()[x]


def number(x: Any) -> Any:
    """A number of Python, if it is known before a run; else its tensor."""
    if not is_of_run(x):
        return int(x)
    constant = constant_value(x)
    return x if constant is None else int(constant)


def continued(values: dict[Any, Any], elements: Iterator[Any]) -> Iterator[Any]:
    """The rest of a loop, in which tensors have these values."""
    while True:
        with VALUES.scope(VALUES.get() | values):
            try:
                element = next(elements)
            except StopIteration:
                return
        yield element
