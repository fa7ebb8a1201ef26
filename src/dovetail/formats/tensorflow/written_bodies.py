"""Bodies of ops that TensorFlow computes by others, since its kernels know fewer dtypes, axes and positions.

They are traced, and written below the operation's name.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base import threefry
from dovetail.core.base.hooks import hooks
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.accumulation import HALVES
from dovetail.core.values.spec import spec
from dovetail.core.values.value_kinds import static_shape
from dovetail.formats.nodes.bodies import add_common, add_wider, by, of
from dovetail.formats.nodes.ways import When
from dovetail.formats.tensorflow.written_nodes import body
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of

# -- dtypes -----------------------------------------------------------------------------------------------------------


def has(name: str, *kinds: Any) -> When:
    """Whether a static argument of an operation is of some kinds."""
    return lambda operation: isinstance(operation.attrs.get(name), kinds)


add_common(body)
add_wider(body, "Tile: uint16 > int32")  # whose kernel refuses them as it runs
body("LogicalXor")(by("NotEqual"))
body("Round", lambda operation: operation.inputs[0].dtype.is_integer)(
    lambda op, *args: op.body(*args)
)  # kernels give 0
body("Bitcast", of("bool"))(lambda op, x, dtype: op(ops.cast(x, "uint8"), dtype))
body("Unique")(lambda op, x: op.body(x))  # the values ascend; TensorFlow's Unique keeps the order of the input


@body("Cast", lambda operation: operation.inputs[0].dtype.is_complex and operation.attrs["dtype"].is_bool)
def _is_other_than_zero(op: Any, x: Any, dtype: Any) -> Any:
    """Kernels look at real parts alone."""
    return ops.not_equal(x, 0)


def _may_shift_out(operation: Operation) -> bool:
    """Whether a number may be shifted by as many bits as it has, or more; kernels shift by one bit less then."""
    maker, bits = operation.inputs[1].op, 8 * operation.inputs[0].dtype.itemsize
    if maker.type == "Const":
        return bool((maker.attrs["value"] >= bits).any() or (maker.attrs["value"] < 0).any())
    return maker.type != "SelectV2" or maker.inputs[0].op.type != "GreaterEqual"  # as below


@body("LeftShift RightShift", _may_shift_out)
def _shift(op: Any, x: Any, y: Any) -> Any:
    last = 8 * x.dtype.itemsize - 1
    places = ops.cast(y, f"u{x.dtype.name.removeprefix('u')}")  # negative ones are large
    is_out = ops.greater_equal(places, ops.full_like(places, last + 1))
    shifted = op(x, ops.where(is_out, ops.full_like(y, last), y))
    if op.name == "RightShift" and not x.dtype.name.startswith("u"):
        return shifted
    return ops.where(is_out, ops.zeros_like(shifted), shifted)


@body("Sign", of("uint8", "uint16", "uint32", "uint64"))
def _sign(op: Any, x: Any) -> Any:
    return ops.cast(ops.not_equal(x, 0), x.dtype)


@body("EuclideanNorm", of("complex64", "complex128"))
def _norm(op: Any, *args: Any) -> Any:
    return op.body(*args)


@body("Fill", lambda operation: operation.attrs["dtype"] is not None)
def _fill(op: Any, shape: Any, value: Any, dtype: Any) -> Any:
    return op(shape, ops.cast(value, dtype))


@body("Einsum", lambda operation: len(operation.inputs) > 2)
def _einsum(op: Any, inputs: Sequence[Any], equation: str) -> Any:
    """A sum over more than two tensors: one after the other."""
    parts, result = equation.replace(" ", "").split("->")
    letters, *others = parts.split(",")
    product, *rest = inputs
    for number, (x, part) in enumerate(zip(rest, others, strict=True)):
        later = {*result, *"".join(others[number + 1 :])}
        kept = "".join(dict.fromkeys(c for c in letters + part if c in later)) if number + 1 < len(rest) else result
        product, letters = op([product, x], f"{letters},{part}->{kept}"), kept
    return product


# -- axes -------------------------------------------------------------------------------------------------------------


@body("ExpandDims", has("axis", tuple))
def _expand(op: Any, x: Any, axis: Sequence[int]) -> Any:
    rank = len(x.shape) + len(axis)
    for number in sorted(one % rank for one in axis):
        x = op(x, number)
    return x


@body("ReverseV2", has("axis", int))
def _reverse(op: Any, x: Any, axis: int) -> Any:
    return op(x, (axis,))


@body("Roll", lambda operation: not (has("shift", tuple)(operation) and has("axis", tuple)(operation)))
def _roll(op: Any, x: Any, shift: Any, axis: Any) -> Any:
    if axis is None:
        return ops.reshape(op(ops.reshape(x, (-1,)), (shift,), (0,)), dims_of(x))
    shifts, axes = (value if isinstance(value, tuple) else (value,) for value in (shift, axis))
    count = max(len(shifts), len(axes))
    return op(x, shifts * (count // len(shifts)), axes * (count // len(axes)))


@body("ArgMax ArgMin", lambda operation: operation.attrs["axis"] is None or operation.attrs["keepdims"])
def _position(op: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    position = op(ops.reshape(x, (-1,)) if axis is None else x, axis or 0)
    if not keepdims:
        return position
    return ops.reshape(position, (1,) * len(x.shape)) if axis is None else ops.expand_dims(position, axis)


@body(
    "ArgSort",
    lambda operation: (
        not operation.inputs[0].dtype.is_integer
        or operation.attrs["axis"] not in (-1, len(operation.inputs[0].shape) - 1)
    ),
)
def _argsort(op: Any, x: Any, axis: int) -> Any:
    """The order of integers along the last axis: for floats, of their bits."""
    if not x.dtype.is_integer:
        return op(_bits_in_order(x), axis)
    order = [*range(len(x.shape))]
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(op(ops.transpose(x, order), -1), order)


def _bits_in_order(x: Any) -> Any:
    """Integers in the order of the values: NaN after infinity, and both zeros alike."""
    if x.dtype.is_bool:
        return ops.cast(x, "uint8")
    x = ops.cast(x, "float32") if x.dtype.name in HALVES else x
    integer = as_dtype("int64" if x.dtype.name == "float64" else "int32")
    plain = ops.where(ops.equal(x, 0), ops.zeros_like(x), ops.where(ops.isnan(x), ops.full_like(x, math.nan), x))
    bits = OPS["Bitcast"](plain, integer)
    return ops.where(ops.less(bits, 0), ops.bitwise_xor(bits, integer.max), bits)


def _is_short(operation: Operation) -> bool:
    """Whether the last axis of a Fourier transform must be filled up with zeros."""
    length, x = operation.attrs["fft_length"], operation.inputs[0]
    if length is None or x.shape is None or x.shape[-1] is None:
        return length is not None and x.op.type != "PadV2"  # as below
    return bool(x.shape[-1] < _needed(operation.type, length))


def _needed(type: str, length: int) -> int:
    return length if type == "RFFT" else length // 2 + 1


@body("RFFT IRFFT", _is_short)
def _transform(op: Any, x: Any, length: int) -> Any:
    *others, size = dims_of(x)
    none = [0] * len(others)
    missing = _needed(op.name, length) - size
    missing = missing if isinstance(missing, int) else ops.maximum(missing, 0)
    return op(OPS["PadV2"](x, [*none, 0], [*none, missing]), length)


@body("InTopKV2", lambda operation: len(operation.inputs[1].shape) != 2)
def _in_top(op: Any, targets: Any, predictions: Any, k: int) -> Any:
    rows = ops.reshape(predictions, (-1, dims_of(predictions)[-1]))
    return ops.reshape(op(ops.reshape(targets, (-1,)), rows, k), dims_of(targets))


@body("MatrixSolve", lambda operation: operation.inputs[0].shape[:-2] != operation.inputs[1].shape[:-2])
def _solve(op: Any, matrix: Any, rhs: Any, adjoint: bool) -> Any:
    shapes = [ops.zeros(dims_of(x)[:-2]) for x in (matrix, rhs)]
    batch = dims_of(ops.add(*shapes))
    return op(*(ops.broadcast_to(x, [*batch, *dims_of(x)[-2:]]) for x in (matrix, rhs)), adjoint)


@body("ConcatV2", lambda operation: len(operation.inputs) == 1)
def _alone(op: Any, xs: Sequence[Any], axis: int) -> Any:
    return xs[0]


# -- positions: TensorFlow counts from the front only -----------------------------------------------------------------

POSITIONS = ("Const", "Iota", "ArgMax", "ArgMin", "ArgSort", "Where", "Range", "Unique")


def _may_be_negative(operation: Operation) -> bool:
    """Whether positions may count from the end."""
    indices = operation.inputs[1]
    maker = indices.op
    if indices.dtype.name.startswith("u"):
        return False
    if maker.type == "Const":
        return bool(maker.attrs["value"].min(initial=0) < 0)
    is_counted = maker.type == "SelectV2" and maker.inputs[0].op.type == "Less"  # as below
    return maker.type not in POSITIONS and not (is_counted and maker.inputs[0].op.inputs[0] is maker.inputs[2])


def _counted(indices: Any, sizes: Any) -> Any:
    return ops.where(ops.less(indices, 0), indices + ops.cast(sizes, indices.dtype), indices)


@body("GatherV2", _may_be_negative)
def _gather(op: Any, x: Any, indices: Any, axis: int) -> Any:
    return op(x, _counted(indices, dims_of(x)[axis]), axis)


@body(
    "GatherNd TensorScatterUpdate TensorScatterAdd TensorScatterMul TensorScatterMax TensorScatterMin", _may_be_negative
)
def _at(op: Any, x: Any, indices: Any, *updates: Any) -> Any:
    depth = dims_of(indices)[-1]
    sizes = ops.cast(ops.shape(x)[:depth], indices.dtype)
    return op(x, _counted(indices, sizes), *updates)


# -- random bits ------------------------------------------------------------------------------------------------------


@functools.cache
def _cipher() -> Any:
    """The graph of the cipher, from a key and the words of the counters."""
    graph = hooks.new_graph("threefry")
    given = [
        graph.placeholder(spec(shape, "uint32"), name)
        for shape, name in (((2,), "key"), ((None,), "x"), ((None,), "y"))
    ]
    with graph.as_default():
        key, x, y = given
        graph.outputs = threefry.encrypt(key, x, y, signed=False)
    return graph


@body("StatelessRandomUniformFullInt")
def _bits(op: Any, key: Any, shape: Any, counter: Any, part: Any) -> Any:
    sizes = ops.convert(shape, dtype="int32")
    size = ops.prod(sizes)
    is_row = part is not None and static_shape(sizes) == (1,)
    if part is None:
        x = ops.arange((size + 1) // 2)
    else:
        columns = part[0] + ops.cast(ops.arange(sizes[-1]), "int64")
        period = threefry.part_period(part[1], is_row)
        is_first = columns < period
        x = ops.where(is_first, columns, columns - period)
    x = ops.cast(x, "uint32")
    y = ops.zeros_like(x)
    if counter is not None:
        words = OPS["Bitcast"](counter, "uint32")
        x, y = x + words[0], y + words[1]
    words = OPS["Call"]([OPS["Bitcast"](key, "uint32"), x, y], _cipher())
    words = ops.where(is_first, *words) if is_row else ops.concatenate(words, 0)[:size]
    return ops.reshape(OPS["Bitcast"](words, "int32"), shape)
