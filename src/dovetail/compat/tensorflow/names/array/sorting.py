"""TensorFlow's names for sorting, searching in sorted values, and distinct values."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.names.array.shapes import of_dtype
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.strings.tensors import as_numbers, with_strings
from dovetail.compat.tensorflow.names.strings.text import is_text, text
from dovetail.compat.tensorflow.table import function, of_rank
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of

_unique = of_type("UniqueWithCounts")


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise op_error(ValueError, "tf.sort", f"the direction is ASCENDING or DESCENDING, not {direction!r}.")
    return direction == "DESCENDING"


@function("sort", scope=True)
def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """A tensor, sorted along an axis.

    Source: `tf.sort`.
    """
    ascending = ops.sort(values, int(axis))
    return ops.flip(ascending, int(axis)) if _descending(direction) else ascending


@function("argsort", scope=True, defers=True)
def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Any:
    """The order in which the elements along an axis are sorted; equal elements keep their order.

    Source: `tf.argsort`.
    """
    if not _descending(direction):
        return ops.argsort(values, int(axis))
    turned = ops.argsort(ops.flip(values, int(axis)), int(axis))
    last = ops.subtract(dims_of(ops.convert(values))[int(axis)], 1)
    return ops.subtract(ops.cast(last, "int32"), ops.flip(turned, int(axis)))


@function("searchsorted", scope=True, defers=True)
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = "int32", name: str | None = None
) -> Any:
    """The positions at which values would be inserted into sorted sequences.

    Source: `tf.searchsorted`.
    """
    sequence, values = ops.convert(sorted_sequence), ops.convert(values)
    if len(static_shape(sequence)) == 1:
        return of_dtype(ops.searchsorted(sequence, values, side), out_type)  # type: ignore[call-overload]  # the op checks it
    compare = ops.less if side == "left" else ops.less_equal
    before = compare(ops.expand_dims(sequence, -2), ops.expand_dims(values, -1))
    return ops.sum(ops.cast(before, out_type), -1)


class Unique(NamedTuple):
    """The result of `tf.unique`."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """The result of `tf.unique_with_counts`."""

    y: Any
    idx: Any
    count: Any


@function("unique_with_counts", scope=True)
def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> UniqueWithCounts:
    """The distinct elements of a vector in order of appearance, the index of each element among them, and their counts.

    Source: `tf.unique_with_counts`.
    """
    x, texts = as_numbers(text(x) if is_text(x) else x)
    x = of_rank(x, 1)
    if len(static_shape(x)) != 1:
        raise op_error(ValueError, "tf.unique", "it needs a vector.")
    y, places, counts = _unique(x)
    return UniqueWithCounts(with_strings(y, texts), of_dtype(places, out_idx), of_dtype(counts, out_idx))


@function("unique", scope=True)
def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """The distinct elements of a vector in order of appearance, and the index of each element among them.

    Source: `tf.unique`.
    """
    return Unique(*unique_with_counts(x, out_idx)[:2])
