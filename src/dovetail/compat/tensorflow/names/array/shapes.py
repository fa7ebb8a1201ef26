"""TensorFlow's names for dtypes and shapes: casting, reshaping, repeating, blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.moved import by_numbers, by_op
from dovetail.compat.tensorflow.names.strings.text import is_text, text
from dovetail.compat.tensorflow.table import constant_value, function, of_rank, row
from dovetail.core.base.errors import op_error
from dovetail.core.base.table import OPS
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of, shaped


def _cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """A tensor of another dtype; a tensor of a graph that has the dtype is returned itself."""
    if is_text(x, dtype):
        return text(x, name)
    if isinstance(x, GraphTensor) and x.dtype == as_dtype(dtype):
        return x
    return ops.cast(ops.convert(x) if type(x) is float else x, dtype, name=name)  # TensorFlow makes it float32 first


cast = row("cast dtypes.cast", _cast, "x dtype")
for _name, _dtype in {
    "to_float": "float32",
    "to_double": "float64",
    "to_int32": "int32",
    "to_int64": "int64",
    "to_bfloat16": "bfloat16",
    "to_complex64": "complex64",
    "to_complex128": "complex128",
}.items():
    row(_name, lambda x, dtype=_dtype, name=None: _cast(x, dtype, name), "x")
row("reshape", ops.reshape, "tensor:x shape", around=by_op("tensor"))
row("stop_gradient", ops.stop_gradient, "input:x")
row("identity", ops.identity, "input:x", around=by_op("input"))
row("broadcast_to", ops.broadcast_to, "input:x shape", around=by_op("input"))


def _tile(x: Any, repeats: Any, name: str | None = None) -> Any:
    count = static_shape(shaped(repeats))[0]
    return ops.tile(x if count is None else of_rank(x, count), repeats, name=name)


row("tile", _tile, "input:x multiples:repeats", around=by_op("input"))


def _shape(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    return of_dtype(ops.shape(input, name=name), out_type or "int32")


def _size(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    return of_dtype(ops.cast(ops.size(input), "int32", name=name), out_type or "int32")


def of_dtype(x: Any, dtype: Any) -> Any:
    """A tensor, cast if it has another dtype."""
    return x if x.dtype == as_dtype(dtype) else ops.cast(x, dtype)


shape = row("shape", _shape, "input out_type", v1="input name out_type", around=by_op("input"))
row("size", _size, "input out_type", v1="input name out_type", around=by_op("input"))


@function("rank", scope=True, around=by_op("input"))
def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes, as an integer tensor.

    Source: `tf.rank`.
    """
    shape = static_shape(shaped(input))
    return ops.reshape(ops.shape(ops.shape(input)), ()) if shape is None else ops.convert(len(shape), "int32")


def _expand_dims(x: Any, axis: Any, name: str | None = None) -> Any:
    (axis,) = np.ravel(axis)  # a list of one number is a number to TensorFlow
    return ops.expand_dims(x, int(axis), name=name)


def _squeeze(x: Any, axis: Any = None, name: str | None = None) -> Any:
    return ops.squeeze(x, tuple(axis) if isinstance(axis, list) else axis or None if axis == [] else axis, name=name)


expand_dims = row("expand_dims", _expand_dims, "input:x axis", v1="+dim:axis", around=by_op("input"))
row("squeeze", _squeeze, "input:x axis", v1="+squeeze_dims:axis", around=by_op("input"))


def _transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    if conjugate:
        a = ops.conj(a)
    if is_tensor(perm) and constant_value(perm) is None:
        return _transposed_by(a, perm)
    return ops.transpose(a, perm if perm is None else [int(axis) for axis in perm], name=name)


def _transposed_by(a: Any, perm: Any) -> Any:
    """A tensor with its axes in an order that a run computes: each element is taken from the flat tensor."""
    rank = len(static_shape(a))
    sizes = ops.stack([ops.cast(size, "int32") for size in dims_of(a)]) if rank else ops.zeros([0], "int32")
    steps = ops.flip(ops.cumprod(ops.flip(ops.concatenate([sizes[1:], ops.ones([1], "int32")]), 0)), 0)
    perm = ops.reshape(ops.cast(perm, "int32"), [rank])
    new_sizes, steps = ops.gather(sizes, perm), ops.gather(steps[:rank], perm)
    places: Any = ops.zeros([1] * rank, "int32")
    for axis in range(rank):
        along = ops.multiply(ops.arange(0, new_sizes[axis]), steps[axis])
        places = ops.add(places, ops.reshape(along, [-1 if each == axis else 1 for each in range(rank)]))
    return ops.gather(ops.reshape(a, [-1]), places)


row("transpose", _transpose, "a perm conjugate", v1="a perm name conjugate", around=by_op("a"))


@function("ensure_shape", scope=True)
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor, whose shape must fit a given shape.

    Source: `tf.ensure_shape`.
    """
    return OPS["EnsureShape"](x, None if shape is None else shape_of(shape))


@function("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape to which two known shapes broadcast.

    Source: `tf.broadcast_static_shape`.
    """
    return shape_of(_broadcast(list(shape_x), list(shape_y)))


@function("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape, as a tensor, to which two shapes broadcast that are tensors.

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


def _blocks(x: Any, block_size: int, data_format: str, split: bool) -> Any:
    """Turn channels into blocks of pixels, or the other way round."""
    x = of_rank(x, 4)
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
    """Channels, turned into blocks of pixels.

    Source: `tf.nn.depth_to_space`.
    """
    return _blocks(input, block_size, data_format, split=True)


@function("space_to_depth nn.space_to_depth", scope=True)
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Any:
    """Blocks of pixels, turned into channels.

    Source: `tf.nn.space_to_depth`.
    """
    return _blocks(input, block_size, data_format, split=False)


row("bitcast", ops.bitcast, "input:x type:dtype")
row("repeat", ops.repeat, "input:x repeats axis", around=by_numbers("input"))


@function("identity_n")
def identity_n(input: Sequence[Any], name: str | None = None) -> list[Any]:
    """Tensors, each unchanged.

    Source: `tf.identity_n`.
    """
    return list(ops.identity_n(list(input), name=name))
