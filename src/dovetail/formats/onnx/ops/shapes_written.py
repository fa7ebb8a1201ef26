"""Writing of operations that ONNX has and no row can say: each type with the function that adds its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.base import threefry
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.formats.onnx.table import no_way, writes
from dovetail.formats.onnx.written_nodes import LAST, Place, Ref

SHORT = 2**31 - 2  # an index behind all elements that ONNX Runtime does not take for none
COPIES = 13  # the last opset in which a 0 in a shape is the size of the input, which for a batch of none is the same
no_way(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "a file cannot hold its Python function")
no_way(COLLECTIVES, "it is computed by several processes")
no_way(("Conj", "FFT", "IFFT", "FFT2D", "IFFT2D", "IRFFT"), "it has few operators for complex numbers")
no_way(("Cholesky", "Lu", "Qr", "SelfAdjointEigV2", "Eig", "Svd"), "it decomposes no matrices")
no_way(("MatrixSolve", "MatrixTriangularSolve"), "it solves no equations")

# -- inputs, constants and variables ----------------------------------------------------------------------------------


@writes("Placeholder")
def _placeholder(place: Place, dtype: Any, shape: Any, known: Any) -> list[Ref]:
    raise place.refused(ValueError, "it is a placeholder that is no input of the model; name it among the inputs.")


@writes("Const")
def _const(place: Place, value: np.ndarray) -> Ref:
    return place.nodes.writer.constant(value, place.name)


@writes("ReadVariableOp")
def _read(place: Place, variable: Any, in_order: bool) -> Ref:
    return place.nodes.writer.variable(variable)


@writes("Identity StopGradient PlaceholderWithDefault Tap Print CheckNumerics EnsureShape PreventGradient")
def _same(place: Place, x: Ref, *args: Any) -> Ref:
    return x


@writes("Cast", lambda operation: operation.inputs[0].dtype == operation.attrs["dtype"])
def _cast_nothing(place: Place, x: Ref, dtype: Any) -> Ref:
    return x


@writes("IdentityN XlaOptimizationBarrier")
def _same_each(place: Place, xs: Sequence[Ref]) -> Sequence[Ref]:
    return xs


@writes("Assert")
def _holds(place: Place, condition: Ref, *args: Any) -> Ref:
    return condition


# -- shapes -----------------------------------------------------------------------------------------------------------


@writes("Shape")
def _shape(place: Place, x: Ref) -> list[Ref]:
    return place.result("Cast", place.shape(x), to=as_dtype("int32"))


@writes("Reshape")
def _reshape(place: Place, x: Ref, shape: Any) -> list[Ref]:
    has_zero = place.opset > COPIES if isinstance(shape, Ref) else 0 in shape
    return place.result("Reshape", x, place.ints(shape), allowzero=int(has_zero) or None)


@writes("BroadcastTo")
def _expand(place: Place, x: Ref, shape: Any) -> list[Ref]:
    return place.result("Expand", x, place.ints(shape))


@writes("SumLike")
def _sum_like(place: Place, g: Ref, like: Ref) -> list[Ref]:
    """A sum over the axes along which a value was repeated."""
    whole, part = place.shapes
    if whole is not None and part is not None and None not in (*whole[len(whole) - len(part) :], *part):
        added = len(whole) - len(part)
        axes = [*range(added), *(added + i for i, n in enumerate(part) if n == 1 and whole[added + i] != 1)]
        total = place.node("ReduceSum", g, place.constant(axes), keepdims=0) if axes else g
        return place.result("Reshape", total, place.ints(part), allowzero=int(0 in part) or None)
    if part is None or whole is None:
        raise place.refused(ValueError, "the ranks of its inputs must be known; give them by set_shape(shape).")
    added = len(whole) - len(part)
    total = place.node("ReduceSum", g, place.constant([*range(added)]), keepdims=0) if added else g
    for axis, size in enumerate(part):
        if size == 1 and whole[added + axis] != 1:
            total = place.node("ReduceSum", total, place.constant([axis]), keepdims=1)
        elif size is None:
            total = _sum_along(place, total, like, axis)
    return place.result("Identity", total)


def _sum_along(place: Place, total: Ref, like: Ref, axis: int) -> Ref:
    """A sum along an axis if the size of the other value is 1 there: the axis as (repetitions, size), and their sum."""
    whole, part = place.shape(total), place.shape(like)
    size = place.node("Slice", part, place.constant([axis]), place.constant([axis + 1]))
    all_of_it = place.node("Slice", whole, place.constant([axis]), place.constant([axis + 1]))
    one = place.node("Max", size, place.constant([1]))
    parts = [
        place.node("Slice", whole, place.constant([0]), place.constant([axis])),
        place.node("Div", all_of_it, one),
        size,
        place.node("Slice", whole, place.constant([axis + 1]), place.constant([LAST])),
    ]
    shape = place.node("Concat", parts, axis=0)
    repeated = place.node("Reshape", total, shape, allowzero=int(place.opset > COPIES) or None)
    return place.node("ReduceSum", repeated, place.constant([axis]), keepdims=0)


@writes("Squeeze")
def _squeeze(place: Place, x: Ref, axis: Any) -> list[Ref]:
    return place.result("Squeeze", x, None if axis is None else place.constant(np.atleast_1d(axis)))


@writes("Transpose")
def _transpose(place: Place, x: Ref, axes: Any) -> list[Ref]:
    return place.result("Transpose", x, perm=axes)


@writes("Iota")
def _iota(place: Place, size: Any, dtype: Any) -> list[Ref]:
    if not isinstance(size, Ref):
        values = np.arange(size[0]).astype(dtype.numpy)
        return [place.nodes.writer.constant(values, place.name)]
    scalar = place.node("Squeeze", place.ints(size), place.constant([0]))
    return place.result("Cast", place.node("Range", place.constant(0), scalar, place.constant(1)), to=dtype)


@writes("StridedSlice")
def _strided_slice(
    place: Place, x: Ref, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, shrink: int
) -> list[Ref]:
    if any(isinstance(one, Ref) for one in (begin, end, strides)):
        block = _slice_at(place, x, begin, end, strides, (begin_mask, end_mask, shrink))
    else:
        block = _slice_static(place, x, begin, end, strides, (begin_mask, end_mask, shrink))
    axes = [axis for axis in range(64) if shrink >> axis & 1]
    if axes:
        return place.result("Squeeze", block, place.constant(axes))
    return [block]


def _slice_static(place: Place, x: Ref, begin: Any, end: Any, strides: Any, masks: tuple[int, int, int]) -> Ref:
    starts, ends, axes, steps = [], [], [], []
    dims: Any = place.operation.inputs[0].shape
    for axis, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        no_begin, no_end, is_one = (mask >> axis & 1 for mask in masks)
        if no_begin and no_end and step == 1 and not is_one:
            continue
        if is_one:
            first, last, step, no_begin, no_end = first, (first + 1) or LAST, 1, 0, 0
        if step < 0 and not no_begin and first < 0:
            size = dims[axis]
            if size is None and first < -1:  # whether it is before the first element depends on the size
                return _slice_at(place, x, begin, end, strides, masks)
            if size is not None and first < -size:  # ONNX would begin at the first element
                first = last = no_end = 0
        if step < 0:
            last = min(last, SHORT)
        starts.append((0 if step > 0 else LAST) if no_begin else first)
        ends.append((LAST if step > 0 else -LAST) if no_end else last)
        axes.append(axis)
        steps.append(step)
    return place.node("Slice", x, *map(place.constant, (starts, ends, axes, steps))) if axes else x


def _slice_at(place: Place, x: Ref, begin: Any, end: Any, strides: Any, masks: tuple[int, int, int]) -> Ref:
    """A slice whose ends are values of the graph."""
    count = next(
        t.shape[0] if isinstance(one, Ref) else len(one)
        for one, t in _with_tensors(place, (begin, end, strides))
        if not isinstance(one, Ref) or t.shape
    )
    no_begin, no_end, is_one = ([mask >> axis & 1 for axis in range(count)] for mask in masks)
    starts, ends, steps = (place.ints(one) for one in (begin, end, strides))
    ahead = place.node("Greater", steps, place.constant([0]), dtype="bool")

    def chosen(flags: Sequence[int], yes: Ref, no: Ref) -> Ref:
        return place.node("Where", place.constant(flags, "bool"), yes, no, dtype="int64") if any(flags) else no

    zero, last, least, one, short = (place.constant([n]) for n in (0, LAST, -LAST, 1, SHORT))
    next_one = place.node("Add", starts, one)
    after = place.node("Where", place.node("Equal", next_one, zero, dtype="bool"), last, next_one, dtype="int64")
    starts = chosen(no_begin, place.node("Where", ahead, zero, last, dtype="int64"), starts)
    ends = chosen(no_end, place.node("Where", ahead, last, least, dtype="int64"), ends)
    ends = chosen(is_one, after, ends)
    if isinstance(strides, Ref) or min(strides) < 0:  # none from before the first element; ONNX would begin at it
        size = place.node("Slice", place.shape(x), zero, place.constant([count]))
        before = place.node("Less", starts, place.node("Neg", size), dtype="bool")
        before = place.node("And", before, place.node("Less", steps, zero, dtype="bool"), dtype="bool")
        ends = place.node("Where", place.node("Less", steps, zero, dtype="bool"), place.node("Min", ends, short), ends)
        starts, ends = (place.node("Where", before, zero, value, dtype="int64") for value in (starts, ends))
    return place.node("Slice", x, starts, ends, place.constant([*range(count)]), chosen(is_one, one, steps))


def _with_tensors(place: Place, values: Sequence[Any]) -> Any:
    tensors = dict(zip((ref.text for ref in place.inputs), place.operation.inputs, strict=True))
    return [(value, tensors.get(value.text) if isinstance(value, Ref) else None) for value in values]


@writes("Slice")
def _slice(place: Place, x: Ref, start: Ref, size: Any) -> list[Ref]:
    begin = place.ints(start)
    return place.result("Slice", x, begin, place.node("Add", begin, place.ints(size)))


@writes("PadV2", lambda operation: operation.inputs[0].shape == ())
def _pad_nothing(place: Place, x: Ref, *args: Any) -> Ref:
    return x


@writes("PadV2")
def _pad(place: Place, x: Ref, low: Any, high: Any, value: Any) -> list[Ref]:
    pads = place.constant([*low, *high]) if not isinstance(low, Ref) and not isinstance(high, Ref) else None
    pads = pads or place.node("Concat", [place.ints(low), place.ints(high)], axis=0)
    return place.result("Pad", x, pads, place.constant(value, x.dtype))


@writes("OneHot", lambda operation: operation.inputs[0].shape != ())
def _one_hot(place: Place, x: Ref, num_classes: Any, axis: int, dtype: Any) -> list[Ref]:
    """Nowhere one for positions that are negative, or too large."""
    depth = place.node("Squeeze", place.ints(num_classes), place.constant([0]))
    is_valid = place.node("GreaterOrEqual", x, place.constant(0, x.dtype), dtype="bool")
    at = place.node("Where", is_valid, place.cast(x, "int64"), depth, dtype="int64")
    rows = place.node("OneHot", at, depth, place.constant([0, 1], "float32"), dtype="float32", axis=axis)
    return place.result("Cast", rows, to=dtype)


@writes("Where")
def _where(place: Place, x: Ref) -> list[Ref]:
    places = place.node("NonZero", place.cast(x, "bool"), dtype="int64")
    return place.result("Cast", place.node("Transpose", places, perm=[1, 0]), to=as_dtype("int32"))


@writes("SplitV")
def _split(place: Place, x: Ref, sizes: Any, axis: int) -> list[Ref]:
    return place.result("Split", x, place.ints(sizes), axis=axis)


# -- orders -----------------------------------------------------------------------------------------------------------


@writes("ArgMax ArgMin")
def _position(place: Place, x: Ref, axis: Any, keepdims: bool) -> list[Ref]:
    type, is_flat = place.operation.type, axis is None
    flat = place.node("Reshape", x, place.constant([-1])) if is_flat else x
    position = place.node(
        type, flat, dtype="int64", axis=0 if is_flat else axis, keepdims=int(keepdims and not is_flat)
    )
    if is_flat and keepdims:
        position = place.node("Reshape", position, place.constant([1] * len(place.shapes[0])))
    return place.result("Cast", position, to=place.operation.outputs[0].dtype)


@writes("TopKV2")
def _top(place: Place, x: Ref, k: int) -> list[Ref]:
    values, order = place.several("TopK", x, place.constant([k]), dtypes=[x.dtype, "int64"])
    return [values, place.cast(order, "int32")]


@writes("ArgSort")
def _order(place: Place, x: Ref, axis: int) -> list[Ref]:
    """The positions of all, the smallest first."""
    size = place.node("Gather", place.shape(x), place.constant([axis]))
    _, order = place.several("TopK", x, size, dtypes=[x.dtype, "int64"], axis=axis, largest=0)
    return place.result("Cast", order, to=as_dtype("int32"))


@writes("TakeAlongAxis")
def _take_along(place: Place, x: Ref, indices: Ref, axis: int) -> list[Ref]:
    """Both tensors have the same sizes along the other axes, or are repeated."""
    shapes = [[*shape[:axis], 1, *shape[axis:][1:]] for shape in place.shapes]
    if shapes[0] != shapes[1] or None in shapes[0]:
        x, indices = _spread(place, x, indices, axis), _spread(place, indices, x, axis)
    return place.result("GatherElements", x, indices, axis=axis)


def _spread(place: Place, x: Ref, other: Ref, axis: int) -> Ref:
    """A value that is repeated to the sizes of another, but not along an axis."""
    rank = len(place.shapes[0])
    is_axis = place.constant([number == axis % rank for number in range(rank)], "bool")
    sizes = place.node("Where", is_axis, place.constant([1]), place.shape(other), dtype="int64")
    return place.node("Expand", x, sizes)


@writes("LeftShift RightShift", lambda operation: operation.inputs[0].dtype.name in ("uint8", "uint32", "uint64"))
def _shift(place: Place, x: Ref, y: Ref) -> list[Ref]:
    return place.result("BitShift", x, y, direction=place.operation.type.removesuffix("Shift").upper())


@writes("FloorDiv")
def _floor_div(place: Place, x: Ref, y: Ref) -> list[Ref]:
    """ONNX rounds quotients of integers towards zero, so the rest, with the divisor's sign, is taken away before."""
    rest = place.node("Mod", x, y)
    return place.result("Div", place.node("Sub", x, rest), y)


@writes("Bitcast")
def _bits(place: Place, x: Ref, dtype: Any) -> list[Ref]:
    """Integers of the same size are cast: values that do not fit wrap around."""
    if x.dtype.itemsize != dtype.itemsize:
        raise place.refused(NotImplementedError, "ONNX's BitCast keeps the size of elements. Cut the graph before it.")
    if x.dtype.is_integer and dtype.is_integer:
        return place.result("Cast", x, to=dtype)
    return place.result("BitCast", x, to=dtype)


# -- complex numbers: their parts are on a last axis of two elements --------------------------------------------------

HAVE_PARTS = ("Complex", "Real", "Imag", "Abs", "RFFT", "Shape")


@writes("Complex")
def _complex(place: Place, x: Ref, y: Ref) -> list[Ref]:
    """Both parts, which have the same shape."""
    return place.result("Concat", [place.node("Unsqueeze", one, place.constant([-1])) for one in (x, y)], axis=-1)


@writes("Real Imag", lambda operation: operation.inputs[0].dtype.is_complex)
def _part(place: Place, x: Ref) -> list[Ref]:
    return place.result("Gather", x, place.constant(int(place.operation.type == "Imag")), axis=-1)


@writes("Abs", lambda operation: operation.inputs[0].dtype.is_complex)
def _length(place: Place, x: Ref) -> list[Ref]:
    axes = (x, place.constant([-1])) if place.opset >= 18 else (x,)
    return place.result("ReduceL2", *axes, axes=None if len(axes) > 1 else [-1], keepdims=0)


@writes("RFFT")
def _transform(place: Place, x: Ref, fft_length: int | None) -> list[Ref]:
    """The discrete transform; an axis of one element says that the numbers are real."""
    rank = len(place.shapes[0])
    parts = place.node("Unsqueeze", x, place.constant([-1]))
    length = None if fft_length is None else place.constant(fft_length)
    if place.opset < 20:
        return place.result("DFT", parts, length, axis=rank - 1, onesided=1)
    return place.result("DFT", parts, length, place.constant(rank - 1), onesided=1)


# -- random bits ------------------------------------------------------------------------------------------------------

WORD = 2**32


@writes("StatelessRandomUniformFullInt")
def _random(place: Place, key: Ref, shape: Any, counter: Ref | None, part: Ref | None) -> list[Ref]:
    """Threefry, as `core.base.threefry` has it, in int64 whose values are words of 32 bits."""
    mask = place.constant(WORD - 1)

    def word(x: Ref) -> Ref:
        return place.node("BitwiseAnd", x, mask)

    def add(*parts: Any) -> Ref:
        total = parts[0]
        for part in parts[1:]:
            total = place.node("Add", total, part if isinstance(part, Ref) else place.constant(part))
        return word(total)

    def xor(x: Ref, y: Any) -> Ref:
        return place.node("BitwiseXor", x, y if isinstance(y, Ref) else place.constant(y))

    def pair(x: Ref) -> tuple[Ref, ...]:
        words = word(place.ints(x))
        return tuple(place.node("Gather", words, place.constant([number])) for number in range(2))

    sizes = place.ints(shape)
    size = place.node("ReduceProd", sizes, keepdims=0)
    is_row = part is not None and len(place.operation.outputs[0].shape or ()) == 1
    zero, one, two = (place.constant(number) for number in range(3))

    def half(count: Ref) -> Ref:
        return place.node("Div", place.node("Add", count, one), two)

    if part is None:
        x = place.node("Range", zero, half(size), one)
    else:
        offset, total = (place.node("Gather", part, number) for number in (zero, one))
        count = place.node("Gather", sizes, place.constant(-1))
        columns = place.node("Add", offset, place.node("Range", zero, count, one))
        period = half(total) if is_row else total
        is_first = place.node("Less", columns, period, dtype="bool")
        x = place.node("Where", is_first, columns, place.node("Sub", columns, period))
    y = place.node("Sub", x, x)
    if counter is not None:
        x, y = (add(one, start) for one, start in zip((x, y), pair(counter), strict=True))
    k0, k1 = pair(key)
    keys = k0, k1, xor(xor(k0, k1), threefry.PARITY)
    x, y = add(x, k0), add(y, k1)
    for turn in range(5):
        for bits in threefry.ROTATIONS[turn % 2]:
            x = add(x, y)
            wide = place.node("Mul", y, place.constant(1 << bits))
            y = xor(place.node("Add", word(wide), place.node("Div", wide, place.constant(WORD))), x)
        x, y = add(x, keys[(turn + 1) % 3]), add(y, keys[(turn + 2) % 3], turn + 1)
    if is_row:
        words = place.node("Where", is_first, x, y)
    else:
        words = place.node("Slice", place.node("Concat", [x, y], axis=0), place.constant([0]), _row(place, size))
    is_high = place.node("GreaterOrEqual", words, place.constant(WORD // 2), dtype="bool")
    signed = place.node("Where", is_high, place.node("Sub", words, place.constant(WORD)), words, dtype="int64")
    return place.result("Reshape", place.cast(signed, "int32"), sizes, allowzero=1)


def _row(place: Place, x: Ref) -> Ref:
    return place.node("Unsqueeze", x, place.constant([0]))


# -- matrices ---------------------------------------------------------------------------------------------------------


@writes("MatMul", lambda operation: operation.attrs["transpose_a"] or operation.attrs["transpose_b"])
def _matmul(place: Place, x: Ref, y: Ref, transpose_a: bool, transpose_b: bool) -> list[Ref]:
    if all(len(shape) == 2 for shape in place.shapes) and x.dtype.is_floating:
        return place.result("Gemm", x, y, transA=int(transpose_a), transB=int(transpose_b))
    x, y = (
        _swapped(place, ref, len(shape)) if is_swapped else ref
        for ref, shape, is_swapped in zip((x, y), place.shapes, (transpose_a, transpose_b), strict=True)
    )
    return place.result("MatMul", x, y)


def _swapped(place: Place, x: Ref, rank: int) -> Ref:
    return place.node("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])
