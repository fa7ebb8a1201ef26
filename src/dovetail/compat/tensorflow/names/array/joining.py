"""TensorFlow's names for joining and cutting: concatenation, stacks, splits, slices, padding."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names import old_words
from dovetail.compat.tensorflow.names.strings.moved import by_numbers, by_op
from dovetail.compat.tensorflow.table import alike_values, function, of_rank, row
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_recorded, is_tensor, static_shape
from dovetail.ops.shapes.shape import shaped


@function("concat", around=by_op("*values"), around_v1=old_words.axis_first("axis", "values"))
def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Tensors joined along an axis they have.

    Source: `tf.concat`.
    """
    if isinstance(axis, (list, tuple)):
        problem = "the tensors come first, then the axis; TensorFlow before 1.0 had them the other way round"
        raise op_error(TypeError, "tf.concat", f"{problem}: write tf.concat(values, {values!r}).")
    if not isinstance(values, (list, tuple)):
        values = [values]
    return ops.concatenate(alike_values(values), int(axis), name=name)


def _stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    return ops.stack(values if is_tensor(values) else alike_values(list(values)), axis, name=name)


row("stack", _stack, "values axis", around=by_op("*values"))
row("unstack", ops.unstack, "value:x num axis", around=by_numbers("value"))
row("roll", ops.roll, "input:x shift axis", around=by_op("input"))
row("manip.roll", ops.roll, "input:x shift axis", around=by_op("input"))


@function(
    "split",
    scope=True,
    defers=True,
    around=by_numbers("value"),
    around_v1=old_words.axis_first("axis", "num_or_size_splits", "value"),
)
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str | None = None) -> Any:
    """A tensor, cut along an axis into equal parts, or into parts of these sizes.

    Args:
        num: the number of sizes, if it is not known otherwise.

    Source: `tf.split`.
    """
    if is_tensor(num_or_size_splits) and static_shape(num_or_size_splits) == ():
        num_or_size_splits = int(num_or_size_splits)
    if not isinstance(num_or_size_splits, (list, tuple)) and not is_tensor(num_or_size_splits):
        return ops.split(value, int(num_or_size_splits), int(axis))
    sizes = [size if is_tensor(size) else int(size) for size in _listed(num_or_size_splits, num)]
    known = static_shape(ops.convert(value))[int(axis)]
    if known is not None and all(isinstance(s, int) for s in sizes) and -1 not in sizes and sum(sizes) != known:
        raise op_error(ValueError, "tf.split", f"the sizes {sizes} do not add up to {known}.")
    return ops.split_sizes(value, sizes, int(axis))


def _listed(sizes: Any, count: int | None) -> list[Any]:
    """The sizes of parts, one by one."""
    if not is_tensor(sizes) or None not in static_shape(sizes):
        return list(sizes)
    if count is None:
        raise op_error(ValueError, "tf.split", "the number of sizes is not known: say num.")
    return [sizes[i] for i in range(count)]


def _pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    widths = paddings.tolist() if hasattr(paddings, "tolist") else paddings
    if mode.lower() not in ("constant", "reflect", "symmetric"):
        raise op_error(ValueError, "tf.pad", f"the mode is CONSTANT, REFLECT or SYMMETRIC, not {mode!r}.")
    return ops.pad(tensor, widths, mode.lower(), constant_values)  # type: ignore[arg-type]  # checked above


row(
    "pad",
    _pad,
    "tensor paddings mode constant_values",
    v1="tensor paddings mode name constant_values",
    around=by_numbers("tensor constant_values"),
)


@function("reverse reverse_v2", scope=True, around=by_op("tensor"), around_v1=old_words.bool_of_each_axis)
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """A tensor, reversed along axes.

    Source: `tf.reverse`.
    """
    axes = [int(a) for a in axis] if isinstance(axis, (list, tuple)) or is_tensor(axis) else int(axis)
    return ops.identity(tensor) if axes == [] else ops.flip(tensor, axes)


@function("slice", scope=True, around=by_numbers("input_"))
def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """The block with a given beginning and size; a size of -1 means the rest of the axis.

    Source: `tf.slice`.
    """
    x, count = ops.convert(input_), static_shape(shaped(begin))[0]
    x = x if count is None else of_rank(x, count)
    count = len(static_shape(x))
    begin, size = _entries(begin, count), _entries(size, count)
    for start, length, dim in zip(begin, size, static_shape(x), strict=True):
        if all(isinstance(n, int) for n in (start, length, dim)) and not (
            0 <= start <= dim and -1 <= length <= dim - start
        ):
            raise op_error(ValueError, "tf.slice", f"a block at {begin} of size {size} does not fit.", f"{x!r}")
    parts = [
        slice(
            start,
            None
            if isinstance(length, int) and length == -1
            else ops.add(start, length)
            if is_tensor(start) or is_tensor(length)
            else start + length,
        )
        for start, length in zip(begin, size, strict=True)
    ]
    block = ops.getitem(x, tuple(parts))
    if is_recorded(block):  # a block that does not fit is an error
        block.set_shape([n if isinstance(n, int) and n >= 0 else None for n in size])
    return block


def _entries(values: Any, count: int) -> list[Any]:
    """The numbers of a list or a tensor, as ints where they are known."""
    if is_tensor(values):
        values = values.tolist() if hasattr(values, "tolist") else [values[i] for i in range(count)]
    entries = [v if is_tensor(v) else int(v) for v in values]
    if len(entries) != count:
        raise op_error(ValueError, "tf.slice", f"begin and size need one number for each of the {count} axes.")
    return entries


@function("strided_slice", scope=True, around=by_numbers("input_"))
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """The elements that a subscript picks, given as numbers and bit masks.

    Raises:
        NotImplementedError: `var` is given, which would let the slice be assigned.

    Source: `tf.strided_slice`.
    """
    if var is not None:
        raise op_error(NotImplementedError, "tf.strided_slice", "a slice is not assigned: leave var out.")
    count = static_shape(ops.convert(begin))[0]
    begin, end = _entries(begin, count), _entries(end, count)
    strides = [1] * count if strides is None else _entries(strides, count)
    parts: list[Any] = []
    for i in range(count):
        bit = 1 << i
        if ellipsis_mask & bit:
            parts.append(...)
        elif new_axis_mask & bit:
            parts.append(None)
        elif shrink_axis_mask & bit:
            parts.append(begin[i])
        else:
            start, stop = None if begin_mask & bit else begin[i], None if end_mask & bit else end[i]
            parts.append(slice(start, stop, strides[i]))
    return ops.getitem(ops.convert(input_), tuple(parts))
