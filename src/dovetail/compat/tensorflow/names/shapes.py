"""TensorFlow's names of shapes and indexing: making, joining, cutting, picking, sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, function, row, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.infer import normalize_axis
from dovetail.core.tensor_shape import shape_of
from dovetail.core.value_kinds import is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

# -- dtypes and shapes ------------------------------------------------------------------------------------------------

row("cast dtypes.cast", ops.cast, "x dtype")
for _name, _dtype in {
    "to_float": "float32",
    "to_double": "float64",
    "to_int32": "int32",
    "to_int64": "int64",
    "to_bfloat16": "bfloat16",
    "to_complex64": "complex64",
    "to_complex128": "complex128",
}.items():
    row(_name, lambda x, dtype=_dtype, name=None: ops.cast(x, dtype, name=name), "x")
row("reshape", ops.reshape, "tensor:x shape")
row("stop_gradient", ops.stop_gradient, "input:x")
row("identity", ops.identity, "input:x")
row("broadcast_to", ops.broadcast_to, "input:x shape")
row("tile", ops.tile, "input:x multiples:repeats")
row("fill", ops.full, "dims:shape value:fill_value")
row("zeros_like", ops.zeros_like, "input:x dtype", v1="tensor:x dtype name")
row("ones_like", ops.ones_like, "input:x dtype", v1="tensor:x dtype name")


def _shape(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    return _of(ops.shape(input, name=name), out_type or "int32")


def _size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    return _of(ops.cast(ops.size(input), "int32", name=name), out_type or "int32")


def _of(x: Any, dtype: Any) -> Any:
    return x if x.dtype == as_dtype(dtype) else ops.cast(x, dtype)


row("shape", _shape, "input out_type", v1="input name out_type")
row("size", _size, "input out_type", v1="input name out_type")


@function("rank")
def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes, as an integer tensor.

    Source: `tf.rank`.
    """
    return ops.convert(len(dims_of(ops.convert(input))), "int32")


def _expand_dims(x: Any, axis: Any, name: str | None = None) -> Any:
    return ops.expand_dims(x, int(axis), name=name)


def _squeeze(x: Any, axis: Any = None, name: str | None = None) -> Any:
    return ops.squeeze(x, tuple(axis) if isinstance(axis, list) else axis or None if axis == [] else axis, name=name)


row("expand_dims", _expand_dims, "input:x axis", v1="+dim:axis")
row("squeeze", _squeeze, "input:x axis", v1="+squeeze_dims:axis")


def _transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    if conjugate:
        a = ops.conj(a)
    return ops.transpose(a, perm if perm is None else [int(axis) for axis in perm], name=name)


row("transpose", _transpose, "a perm conjugate", v1="a perm name conjugate")


@function("ensure_shape", scope=True)
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor, whose shape must fit the one that is said.

    Source: `tf.ensure_shape`.
    """
    x = ops.identity(x)
    x.set_shape(shape)
    return x


@function("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape to which two known shapes broadcast.

    Source: `tf.broadcast_static_shape`.
    """
    return shape_of(_broadcast(list(shape_x), list(shape_y)))


@function("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape to which two shapes broadcast, which are tensors.

    Source: `tf.broadcast_dynamic_shape`.
    """
    x, y = ops.convert(shape_x), ops.convert(shape_y)
    length = max(x.shape[0], y.shape[0])
    x, y = (ops.pad(v, [(length - v.shape[0], 0)], constant_values=1) for v in (x, y))
    fits = ops.all(ops.logical_or(ops.equal(x, y), ops.logical_or(ops.equal(x, 1), ops.equal(y, 1))))
    if not getattr(fits, "op", None) and not bool(fits):
        raise op_error(ValueError, "tf.broadcast_dynamic_shape", f"{shape_x} and {shape_y} do not broadcast.")
    return ops.where(ops.equal(x, 1), y, x)


def _broadcast(x: list[Any], y: list[Any]) -> list[Any]:
    length = max(len(x), len(y))
    pairs = list(zip([1] * (length - len(x)) + x, [1] * (length - len(y)) + y, strict=True))
    if any(None not in (a, b) and a != b and 1 not in (a, b) for a, b in pairs):
        raise op_error(ValueError, "tf.broadcast_static_shape", f"{tuple(x)} and {tuple(y)} do not broadcast.")
    return [b if a == 1 else a if b == 1 or b is None else b for a, b in pairs]


# -- making -----------------------------------------------------------------------------------------------------------


@function("zeros")
def zeros(shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None) -> Any:
    """A tensor of zeros.

    Source: `tf.zeros`.
    """
    return ops.zeros(shape, as_dtype(dtype))


@function("ones")
def ones(shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None) -> Any:
    """A tensor of ones.

    Source: `tf.ones`.
    """
    return ops.ones(shape, as_dtype(dtype))


@function("eye linalg.eye")
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
    """So many evenly spaced numbers, the last one among them.

    Source: `tf.linspace`.
    """
    return ops.linspace(start, stop, int(num), axis=axis)


@function("one_hot", scope=True)
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Vectors with one value where the index says, and another elsewhere.

    Source: `tf.one_hot`.
    """
    given = [v for v in (on_value, off_value) if v is not None]
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
    """Which steps of sequences are there, by their lengths.

    Source: `tf.sequence_mask`.
    """
    lengths = ops.convert(lengths)
    steps = ops.arange(0, ops.max(lengths) if maxlen is None else maxlen)
    mask = ops.less(ops.cast(steps, lengths.dtype), ops.expand_dims(lengths, -1))
    return _of(mask, dtype)


@function("meshgrid")
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
    """The coordinates of a grid.

    Source: `tf.meshgrid`.
    """
    return ops.meshgrid(*args, indexing=indexing)  # type: ignore[arg-type]  # the op checks the word


# -- joining and cutting ----------------------------------------------------------------------------------------------


@function("concat")
def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Tensors joined along an axis they have.

    Source: `tf.concat`.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    return ops.concatenate(alike_values(values), int(axis), name=name)


def _stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    return ops.stack(values if is_tensor(values) else alike_values(list(values)), axis, name=name)


row("stack", _stack, "values axis")
row("unstack", ops.unstack, "value:x num axis")
row("roll", ops.roll, "input:x shift axis")
row("manip.roll", ops.roll, "input:x shift axis")


@function("split", scope=True)
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str | None = None) -> Any:
    """A tensor, cut along an axis into equal parts, or into parts of these sizes.

    Source: `tf.split`.
    """
    if is_tensor(num_or_size_splits) and static_shape(num_or_size_splits) == ():
        num_or_size_splits = int(num_or_size_splits)
    if not isinstance(num_or_size_splits, (list, tuple)) and not is_tensor(num_or_size_splits):
        return ops.split(value, int(num_or_size_splits), int(axis))
    sizes = [size if is_tensor(size) else int(size) for size in num_or_size_splits]
    known = static_shape(ops.convert(value))[int(axis)]
    if -1 not in sizes and known is not None and all(isinstance(s, int) for s in sizes) and sum(sizes) != known:
        raise op_error(ValueError, "tf.split", f"the sizes {sizes} do not add up to {known}.")
    return ops.split_sizes(value, sizes, int(axis))


def _pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None) -> Any:
    widths = paddings.tolist() if hasattr(paddings, "tolist") else paddings
    if mode.lower() not in ("constant", "reflect", "symmetric"):
        raise op_error(ValueError, "tf.pad", f"the mode is CONSTANT, REFLECT or SYMMETRIC, not {mode!r}.")
    return ops.pad(tensor, widths, mode.lower(), constant_values)  # type: ignore[arg-type]  # checked above


row("pad", _pad, "tensor paddings mode constant_values", v1="tensor paddings mode name constant_values")


@function("reverse reverse_v2", scope=True)
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """A tensor, turned round along axes.

    Source: `tf.reverse`.
    """
    axes = [int(a) for a in axis] if isinstance(axis, (list, tuple)) or is_tensor(axis) else int(axis)
    return ops.identity(tensor) if axes == [] else ops.flip(tensor, axes)


@function("slice", scope=True)
def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """The block that begins somewhere and has a size; of size -1 all from there on.

    Source: `tf.slice`.
    """
    x = ops.convert(input_)
    count = len(dims_of(x))
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
    return ops.getitem(x, tuple(parts))


def _entries(values: Any, count: int) -> list[Any]:
    """The numbers of a list or a tensor, as ints where they are known."""
    if is_tensor(values):
        values = values.tolist() if hasattr(values, "tolist") else [values[i] for i in range(count)]
    found = [v if is_tensor(v) else int(v) for v in values]
    if len(found) != count:
        raise op_error(ValueError, "tf.slice", f"begin and size need one number for each of the {count} axes.")
    return found


@function("strided_slice", scope=True)
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
    """What a subscript picks, said in numbers and in bits.

    Source: `tf.strided_slice`.
    """
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


# -- picking ----------------------------------------------------------------------------------------------------------


def _gather(params: Any, indices: Any, axis: Any = None, batch_dims: int = 0, name: str | None = None) -> Any:
    if batch_dims < 0:
        batch_dims += len(dims_of(ops.convert(indices)))
    return ops.gather(params, indices, batch_dims if axis is None else int(axis), batch_dims)


@function("gather", "v2", scope=True)
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices at positions of an axis.

    Source: `tf.gather`.
    """
    return _gather(params, indices, axis, batch_dims)


@function("gather", "v1", scope=True)
def gather_v1(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """The slices at positions of an axis.

    Source: `tf.compat.v1.gather`.
    """
    return _gather(params, indices, axis, batch_dims)


@function("batch_gather", scope=True)
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """The slices at positions of the last axis that both have, each batch's own.

    Source: `tf.compat.v1.batch_gather`.
    """
    axis = len(dims_of(ops.convert(indices))) - 1
    return ops.gather(params, indices, axis, axis)


def _gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    for _ in range(int(batch_dims)):
        batch = dims_of(ops.convert(indices))[0]
        rows = ops.arange(0, batch)
        shape = [batch, *[1] * (len(dims_of(ops.convert(indices))) - 1)]
        rows = ops.broadcast_to(ops.reshape(rows, shape), [*dims_of(ops.convert(indices))[:-1], 1])
        indices = ops.concatenate([ops.cast(rows, ops.convert(indices).dtype), indices], -1)
        if batch_dims > 1:
            raise op_error(NotImplementedError, "tf.gather_nd", "more than one batch axis; reshape them into one.")
    return ops.gather_nd(params, indices, name=name)


row("gather_nd", _gather_nd, "params indices batch_dims", v1="params indices name batch_dims")


def _boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str | None = None) -> Any:
    return ops.boolean_mask(tensor, mask, 0 if axis is None else int(axis))


row("boolean_mask", _boolean_mask, "tensor mask axis", v1="tensor mask name axis")


@function("where where_v2", "v2", scope=True)
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Elements of one tensor or the other; of a condition alone, where it is true.

    Source: `tf.where`.
    """
    if (x is None) != (y is None):
        raise op_error(ValueError, "tf.where", "it needs both x and y, or neither.")
    if x is None:
        return ops.cast(ops.positions(condition), "int64")
    return ops.where(condition, *alike_values([x, y]))


@function("where", "v1", scope=True)
def where_v1(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Elements of one tensor or the other; a condition of one axis chooses whole rows.

    Source: `tf.compat.v1.where`.
    """
    condition = ops.convert(condition)
    if x is not None and len(condition.shape) == 1:
        extra = len(dims_of(ops.convert(x))) - 1
        condition = ops.reshape(condition, [*dims_of(condition), *[1] * extra])
    return where(condition, x, y)


row("scatter_nd", ops.scatter_nd, "indices updates:values shape")
row("tensor_scatter_nd_update tensor_scatter_update", ops.tensor_scatter_update, "tensor:x indices updates")
row("tensor_scatter_nd_add tensor_scatter_add", ops.tensor_scatter_add, "tensor:x indices updates")
row("tensor_scatter_nd_max", ops.tensor_scatter_max, "tensor:x indices updates")
row("tensor_scatter_nd_min", ops.tensor_scatter_min, "tensor:x indices updates")


@function("tensor_scatter_nd_sub tensor_scatter_sub", scope=True)
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """A tensor, with updates subtracted at positions.

    Source: `tf.tensor_scatter_nd_sub`.
    """
    return ops.tensor_scatter_add(tensor, indices, ops.negative(updates))


def _reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: str | None = None
) -> Any:
    x = ops.convert(input)
    axes = 0 if seq_axis is None else int(seq_axis), 0 if batch_axis is None else int(batch_axis)
    steps, batch = (normalize_axis(axis, len(dims_of(x))) for axis in axes)
    if steps == batch:
        raise op_error(ValueError, "tf.reverse_sequence", "seq_axis and batch_axis must be two axes.")
    x = ops.moveaxis(x, (batch, steps), (0, 1))
    lengths = ops.expand_dims(ops.cast(seq_lengths, "int32"), -1)
    place = ops.expand_dims(ops.arange(0, dims_of(x)[1]), 0)
    order = ops.where(ops.less(place, lengths), ops.subtract(ops.subtract(lengths, 1), place), place)
    return ops.moveaxis(ops.gather(x, order, 1, 1), (0, 1), (batch, steps))


row(
    "reverse_sequence",
    _reverse_sequence,
    "input seq_lengths seq_axis batch_axis",
    v1="+seq_dim:seq_axis batch_dim:batch_axis",
)

# -- sorting and sets -------------------------------------------------------------------------------------------------


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise op_error(ValueError, "tf.sort", f"the direction is ASCENDING or DESCENDING, not {direction!r}.")
    return direction == "DESCENDING"


@function("sort", scope=True)
def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """A tensor, sorted along an axis.

    Source: `tf.sort`.
    """
    found = ops.sort(values, int(axis))
    return ops.flip(found, int(axis)) if _descending(direction) else found


@function("argsort", scope=True)
def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Any:
    """The order in which the elements along an axis are sorted; equal ones stay in theirs.

    Source: `tf.argsort`.
    """
    if not _descending(direction):
        return ops.argsort(values, int(axis))
    turned = ops.argsort(ops.flip(values, int(axis)), int(axis))
    last = ops.subtract(dims_of(ops.convert(values))[int(axis)], 1)
    return ops.subtract(ops.cast(last, "int32"), ops.flip(turned, int(axis)))


@function("searchsorted", scope=True)
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = "int32", name: str | None = None
) -> Any:
    """Where values would be put into sorted sequences.

    Source: `tf.searchsorted`.
    """
    sequence, values = ops.convert(sorted_sequence), ops.convert(values)
    if len(dims_of(sequence)) == 1:
        return _of(ops.searchsorted(sequence, values, side), out_type)  # type: ignore[call-overload]  # the op checks it
    compare = ops.less if side == "left" else ops.less_equal
    before = compare(ops.expand_dims(sequence, -2), ops.expand_dims(values, -1))
    return ops.sum(ops.cast(before, out_type), -1)


class Unique(NamedTuple):
    """What `tf.unique` returns."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """What `tf.unique_with_counts` returns."""

    y: Any
    idx: Any
    count: Any


@function("unique_with_counts", scope=True)
def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> UniqueWithCounts:
    """The different elements of a vector, in the order in which they come, their numbers, and how often each is there.

    Source: `tf.unique_with_counts`.
    """
    if len(dims_of(ops.convert(x))) != 1:
        raise op_error(ValueError, "tf.unique", "it needs a vector.")
    values, inverse, counts = ops.unique(x)
    count, length = dims_of(values)[0], dims_of(inverse)[0]
    first = ops.tensor_scatter_min(
        ops.broadcast_to(ops.cast(length, "int32"), [count]), ops.expand_dims(inverse, -1), ops.arange(0, length)
    )
    order = ops.argsort(first)
    place = ops.argsort(order)
    found = ops.gather(values, order), ops.gather(place, inverse), ops.gather(counts, order)
    return UniqueWithCounts(found[0], _of(found[1], out_idx), _of(found[2], out_idx))


@function("unique", scope=True)
def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """The different elements of a vector, in the order in which they come, and their numbers.

    Source: `tf.unique`.
    """
    return Unique(*unique_with_counts(x, out_idx)[:2])


# -- blocks and bits --------------------------------------------------------------------------------------------------


def _blocks(x: Any, block_size: int, data_format: str, split: bool) -> Any:
    """Channels to blocks of pixels, or the other way round."""
    x = ops.convert(x)
    if data_format not in ("NHWC", "NCHW"):
        raise op_error(ValueError, "tf.depth_to_space", f"the data_format is NHWC or NCHW, not {data_format!r}.")
    if block_size < 2:
        raise op_error(ValueError, "tf.depth_to_space", f"the block_size must be 2 or more, not {block_size}.")
    if data_format == "NCHW":
        x = ops.transpose(x, (0, 2, 3, 1))
    n, rows, columns, channels = dims_of(x)
    size = block_size
    if split:
        if isinstance(channels, int) and channels % size**2:
            problem = f"the {channels} channels are no multiple of {size**2}."
            raise op_error(ValueError, "tf.depth_to_space", problem)
        x = ops.reshape(x, (n, rows, columns, size, size, channels // size**2))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (n, rows * size, columns * size, channels // size**2))
    else:
        x = ops.reshape(x, (n, rows // size, size, columns // size, size, channels))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (n, rows // size, columns // size, channels * size**2))
    return ops.transpose(x, (0, 3, 1, 2)) if data_format == "NCHW" else x


@function("depth_to_space nn.depth_to_space", scope=True)
def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Any:
    """Channels, made blocks of pixels.

    Source: `tf.nn.depth_to_space`.
    """
    return _blocks(input, block_size, data_format, split=True)


@function("space_to_depth nn.space_to_depth", scope=True)
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Any:
    """Blocks of pixels, made channels.

    Source: `tf.nn.space_to_depth`.
    """
    return _blocks(input, block_size, data_format, split=False)


row("bitcast", ops.bitcast, "input:x type:dtype")
row("repeat", ops.repeat, "input:x repeats axis")


@function("identity_n")
def identity_n(input: Sequence[Any], name: str | None = None) -> list[Any]:
    """Tensors, each as it is.

    Source: `tf.identity_n`.
    """
    return list(ops.identity_n(list(input), name=name))


@function("tuple", "v2")
def tuple_(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """Tensors that are there once all of them are.

    Source: `tf.tuple`.
    """
    return _together(tensors)


@function("tuple", "v1")
def tuple_v1(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Tensors that are there once all of them are.

    Source: `tf.compat.v1.tuple`.
    """
    return _together(tensors)


def _together(tensors: Sequence[Any]) -> list[Any]:
    there = [t for t in tensors if t is not None]
    found = iter(ops.identity_n(there) if there else ())
    return [None if t is None else next(found) for t in tensors]


value("newaxis", None)
