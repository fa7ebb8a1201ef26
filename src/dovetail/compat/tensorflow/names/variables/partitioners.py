"""TensorFlow 1's partitioners, which say in how many parts a variable is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dovetail.compat.tensorflow.names.variables.partitions import SaveSliceInfo
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype

Partitioner = Callable[..., list[int]]


def partitions_by(partitioner: Any, shape: Any, dtype: Any, name: str) -> list[int]:
    """The numbers of parts along the axes of a variable.

    Args:
        partitioner: a function of `shape` and `dtype`.
        name: of the variable, for errors.

    Raises:
        ValueError: the shape is not known, or the partitioner gives no numbers that fit it.
    """
    title = "tf.get_variable"
    if not callable(partitioner):
        raise op_error(ValueError, title, f"the partitioner is a function, not {partitioner!r}.")
    if not shape.is_fully_defined() or not len(shape):
        problem = f"the shape of a variable in parts must be known, with an axis or more; of {name!r} it is {shape}."
        raise op_error(ValueError, title, problem)
    counts = partitioner(shape=shape, dtype=dtype)
    is_sequence = isinstance(counts, Sequence) and len(counts) == len(shape)
    if not is_sequence or min(counts) < 1 or sum(count > 1 for count in counts) > 1:
        problem = (
            f"the partitioner gives {counts!r} for {name!r}; it needs a number for each axis of {shape}, one above 1."
        )
        raise op_error(ValueError, title, problem)
    return [int(count) for count in counts]


def slices_of(name: str, shape: Sequence[Any], partitions: Sequence[int]) -> Iterator[SaveSliceInfo]:
    """The parts of a variable, of which the first ones have a row more if the rows do not divide."""
    axis = next((axis for axis, count in enumerate(partitions) if count > 1), 0)
    least, longer = divmod(shape[axis], partitions[axis])
    offset, size = [0] * len(shape), list(shape)
    for number in range(partitions[axis]):
        size[axis] = least + (number < longer)
        yield SaveSliceInfo(name, list(shape), list(offset), list(size))
        offset[axis] += size[axis]


def _along(axis: int, count: Callable[[Any, Any], int]) -> Partitioner:
    """A partitioner of one axis; `count` is a function of the shape and of the bytes of an element."""

    def partitioner(shape: Any, dtype: Any = "float32", **others: Any) -> list[int]:
        counts = [1] * len(shape)
        counts[axis] = count(shape_of(shape), dtype)
        return counts

    return partitioner


@function("fixed_size_partitioner", "v1")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner into a number of parts along an axis, or as many as it has rows.

    Source: `tf.compat.v1.fixed_size_partitioner`.
    """
    return _along(axis, lambda shape, dtype: min(num_shards, shape[axis]))


@function("min_max_variable_partitioner", "v1")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """A partitioner into as many parts along an axis as have some bytes each, and at most a number of them.

    Source: `tf.compat.v1.min_max_variable_partitioner`.
    """

    def count(shape: Any, dtype: Any) -> int:
        size = shape.num_elements() * _bytes(dtype, bytes_per_string_element)
        return max(1, min(shape[axis], max_partitions, math.ceil(size / min_slice_size)))

    return _along(axis, count)


@function("variable_axis_size_partitioner", "v1")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner into as few parts along an axis as have at most some bytes each.

    Raises:
        ValueError: a number is not positive.

    Source: `tf.compat.v1.variable_axis_size_partitioner`.
    """
    if min(max_shard_bytes, bytes_per_string_element) < 1 or (max_shards is not None and max_shards < 1):
        title = "tf.variable_axis_size_partitioner"
        raise op_error(ValueError, title, "max_shard_bytes, bytes_per_string_element and max_shards must be positive.")

    def count(shape: Any, dtype: Any) -> int:
        row = shape.num_elements() / shape[axis] * _bytes(dtype, bytes_per_string_element)
        needed = math.ceil(shape[axis] / max(1, math.floor(max_shard_bytes / row)))
        return min(needed, max_shards or needed)

    return _along(axis, count)


def _bytes(dtype: Any, of_text: int) -> int:
    """The bytes of an element."""
    return of_text if dtype == "string" else as_dtype(dtype).numpy.itemsize
