"""TensorFlow's names for making tensors of numbers: zeros, ranges, masks, one-hot codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.array.shapes import of_dtype
from dovetail.compat.tensorflow.names.strings.moved import by_numbers, by_op
from dovetail.compat.tensorflow.table import constant_value, function, row
from dovetail.core.base.dimension import dimension, plain
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor
from dovetail.ops.shapes.shape import dims_of, shaped

row("fill", ops.full, "dims:shape value:fill_value", scope=True, around=by_numbers("value"))
zeros_like = row("zeros_like", ops.zeros_like, "input:x dtype", v1="tensor:x dtype name", around=by_op("tensor input"))
row("ones_like", ops.ones_like, "input:x dtype", v1="tensor:x dtype name", around=by_op("tensor input"))


@function("zeros", scope=True)
def zeros(shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None) -> Any:
    """A tensor of zeros.

    Source: `tf.zeros`.
    """
    return ops.zeros(_sizes(shape), as_dtype(dtype))


@function("ones", scope=True)
def ones(shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None) -> Any:
    """A tensor of ones.

    Source: `tf.ones`.
    """
    return ops.ones(_sizes(shape), as_dtype(dtype))


def _sizes(shape: Any) -> Any:
    """A shape, in which programs of TensorFlow 1 give whole floats, too."""
    if not isinstance(shape, (list, tuple)):
        return shape
    return [plain(dimension(size)) if isinstance(size, (float, np.floating)) else size for size in shape]


@function("eye linalg.eye", scope=True)
def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Identity matrices.

    Source: `tf.eye`.
    """
    one = ops.eye(num_rows, num_columns, dtype=as_dtype(dtype))
    return one if batch_shape is None else ops.broadcast_to(one, [*batch_shape, *dims_of(one)])


@function("range", scope=True)
def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range") -> Any:
    """Evenly spaced numbers, up to but without the limit.

    Source: `tf.range`.
    """
    if not any(map(is_tensor, (start, limit, delta))) and delta == 0:
        raise op_error(ValueError, "tf.range", "delta must not be 0.")
    return ops.arange(start, limit, delta, dtype)


@function("linspace lin_space", scope=True)
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Any:
    """A number of evenly spaced numbers, including the last one.

    Source: `tf.linspace`.
    """
    count = constant_value(num)
    if count is not None:
        return ops.linspace(start, stop, int(count), axis=axis)
    start, steps = ops.convert(start), ops.arange(num)
    spacing = ops.divide(ops.subtract(stop, start), ops.cast(ops.maximum(num - 1, 1), start.dtype))
    numbers = ops.add(start, ops.multiply(ops.cast(steps, start.dtype), spacing))
    return ops.where(ops.logical_and(ops.equal(steps, num - 1), ops.greater(num, 1)), stop, numbers)


@function("one_hot", scope="one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Vectors with one value at an index, and another value elsewhere.

    Source: `tf.one_hot`.
    """
    indices, given = shaped(indices), [v for v in (on_value, off_value) if v is not None]
    if dtype is None:
        dtype = ops.convert(given[0]).dtype if given else "float32"
    axis = -1 if axis is None else axis
    if not given:
        return ops.one_hot(indices, depth, axis, as_dtype(dtype))
    hot = ops.one_hot(indices, depth, axis, "bool")
    on, off = (ops.cast(default if v is None else v, dtype) for v, default in ((on_value, 1), (off_value, 0)))
    return ops.where(hot, on, off)


@function("sequence_mask", scope=True)
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None) -> Any:
    """The mask of the steps within the lengths of sequences.

    Source: `tf.sequence_mask`.
    """
    lengths = ops.convert(lengths)
    steps = ops.arange(0, ops.max(lengths) if maxlen is None else maxlen)
    mask = ops.less(steps, ops.expand_dims(ops.saturate_cast(lengths, "int32"), -1))
    return of_dtype(mask, dtype)


@function("meshgrid", scope=True)
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
    """The coordinates of a grid.

    Source: `tf.meshgrid`.
    """
    return ops.meshgrid(*args, indexing=indexing)  # type: ignore[arg-type]  # the op checks the word
