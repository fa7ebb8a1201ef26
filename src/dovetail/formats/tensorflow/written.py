"""Writing of operations that TensorFlow has and no row can say: each type with the function that adds its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.values.spec import TensorSpec
from dovetail.formats.tensorflow.special import ASSERTION
from dovetail.formats.tensorflow.written_nodes import Place, Ref, writes
from dovetail.formats.wire.tensors import shape_proto
from dovetail.ops.shapes.shape import dims_of

# Dovetail's type → the reason why TensorFlow cannot compute it
NO_WAY = {
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), "a file cannot hold its Python function"),
    **dict.fromkeys(COLLECTIVES, "it is computed by several processes"),
}

# -- inputs, constants and variables ----------------------------------------------------------------------------------


@writes("Placeholder")
def _placeholder(place: Place, dtype: Any, shape: Any, known: Any) -> list[Ref]:
    return place.result("Placeholder", dtype=dtype, shape=shape_proto(shape))


@writes("PlaceholderWithDefault")
def _default(place: Place, x: Ref, shape: Any, any_rank: bool) -> list[Ref]:
    known = place.shapes[0] if shape is None and not any_rank else shape
    return place.result("PlaceholderWithDefault", x, shape=shape_proto(known))


@writes("Const")
def _const(place: Place, value: np.ndarray) -> list[Ref]:
    return [place.nodes.constant(value, place.name)]


@writes("NoOp")
def _nothing(place: Place) -> list[Ref]:
    return place.result("NoOp")


@writes("ReadVariableOp")
def _read(place: Place, variable: Any, in_order: bool) -> list[Ref]:
    return place.result("ReadVariableOp", place.handle(variable), dtype=variable.dtype)


@writes("AssignVariableOp")
def _assign(place: Place, value: Ref, variable: Any, with_value: bool) -> list[Ref]:
    place.result("AssignVariableOp", place.handle(variable), value, dtypes=[])
    return [value]


@writes("IdentityN XlaOptimizationBarrier")
def _identities(place: Place, xs: Sequence[Ref]) -> list[Ref]:
    return place.results(xs)


@writes("Print")
def _print(place: Place, x: Ref, message: str, summarize: int) -> list[Ref]:
    return place.result("Print", x, [x], message=message, summarize=summarize, first_n=-1)


@writes("Assert")
def _assert(place: Place, condition: Ref, data: Sequence[Ref], message: str, summarize: int) -> list[Ref]:
    places = iter(data)
    is_own = message.startswith(f"{ASSERTION} [") and message.count("[{}]") == len(data)
    parts = message.removeprefix(f"{ASSERTION} [")[:-1].split("] [") if is_own else [message, *["{}"] * len(data)]
    words = (np.array(part.encode(), object) for part in parts)
    shown = [next(places) if word == b"{}" else place.constant(word, "message") for word in words]
    axes = place.constant([*range(len(place.shapes[0]))], "axes")
    holds = place.node("All", condition, axes, dtype="bool", keep_dims=False)
    place.result("Assert", holds, shown, dtypes=[], summarize=summarize)
    return [condition]


@writes("EnsureShape", lambda operation: operation.attrs["shape"] is None)
def _any_shape(place: Place, x: Ref, shape: None) -> list[Ref]:
    """Any shape will do; TensorFlow refuses to say so of a value whose rank is known."""
    return place.result("Identity", x)


# -- shapes -----------------------------------------------------------------------------------------------------------


@writes("Iota")
def _iota(place: Place, size: Any, dtype: Any) -> list[Ref]:
    if isinstance(size, Ref) or "size" in place.held:
        is_list = isinstance(size, Ref) or np.ndim(place.held["size"][1])
        limit = place.taken(size, "size")
        limit = place.scalar(limit) if is_list else limit
    else:
        limit = place.constant(size[0], "limit")
    zero, one = place.constant(0, "start"), place.constant(1, "delta")
    if dtype.name == "int32":
        return place.result("Range", zero, limit, one)
    return place.result("Cast", place.node("Range", zero, limit, one), DstT=dtype, Truncate=False)


@writes("SumLike")
def _sum_like(place: Place, g: Ref, like: Ref) -> list[Ref]:
    """As TensorFlow's own gradients of broadcasting."""
    shape, whole = (place.node("Shape", x, dtype="int32", out_type=as_dtype("int32")) for x in (like, g))
    axes, _ = place.several("BroadcastGradientArgs", shape, whole, dtypes=["int32", "int32"])
    return place.result("Reshape", place.node("Sum", g, axes, keep_dims=False), shape)


WINDOW = ("begin_mask", "end_mask", "shrink_axis_mask")


@writes("StridedSlice")
def _strided_slice(place: Place, x: Ref, begin: Any, end: Any, strides: Any, *masks: int) -> list[Ref]:
    window = (place.taken(*pair) for pair in ((begin, "begin"), (end, "end"), (strides, "strides")))
    named = dict(zip(WINDOW, masks, strict=True))
    return place.result("StridedSlice", x, *window, ellipsis_mask=0, new_axis_mask=0, **named)


@writes("StridedSliceGrad")
def _strided_slice_gradient(place: Place, g: Ref, shape: Any, begin: Any, end: Any, strides: Any, *masks: int) -> Any:
    given = zip((shape, begin, end, strides), ("shape", "begin", "end", "strides"), strict=True)
    named = dict(zip(WINDOW, masks, strict=True))
    window = (place.taken(value, name) for value, name in given)
    return place.result("StridedSliceGrad", *window, g, ellipsis_mask=0, new_axis_mask=0, **named)


@writes("PadV2")
def _pad(place: Place, x: Ref, low: Any, high: Any, value: Any) -> list[Ref]:
    if isinstance(low, Ref) or isinstance(high, Ref) or place.held.keys() & {"low", "high"}:
        ends = [place.taken(low, "low"), place.taken(high, "high")]
        paddings = place.node("Pack", ends, dtype="int32", axis=1)
    else:
        paddings = place.constant(np.stack([low, high], 1).astype("int32").reshape(-1, 2), "paddings")
    return place.result("PadV2", x, paddings, place.constant(value, "value", x.dtype))


@writes("GatherV2")
def _gather(place: Place, x: Ref, indices: Ref, axis: int) -> list[Ref]:
    return place.result("GatherV2", x, indices, place.constant(axis, "axis"), batch_dims=0)


@writes("OneHot")
def _one_hot(place: Place, x: Ref, num_classes: Any, axis: int, dtype: Any) -> list[Ref]:
    depth = place.scalar(num_classes) if isinstance(num_classes, Ref) else place.constant(num_classes[0], "depth")
    on, off = (place.constant(value, name, dtype) for value, name in ((1, "on_value"), (0, "off_value")))
    return place.result("OneHot", x, depth, on, off, axis=axis)


@writes("Where")
def _where(place: Place, x: Ref) -> list[Ref]:
    return place.result(
        "Cast", place.node("Where", place.cast(x, "bool"), dtype="int64"), DstT=as_dtype("int32"), Truncate=False
    )


@writes("ArgSort")
def _argsort(place: Place, x: Ref, axis: int) -> list[Ref]:
    """The positions of the largest integers along the last axis, with all bits inverted."""
    size = place.scalar(place.node("Shape", x, dtype="int32", out_type=as_dtype("int32")), -1)
    order = place.several("TopKV2", place.node("Invert", x), size, dtypes=[x.dtype, "int32"], sorted=True)
    return place.results(order[1:])


@writes("TensorScatterMul")
def _scatter_mul(place: Place, x: Ref, indices: Ref, updates: Ref) -> list[Ref]:
    """All rows of the tensor times the products of the numbers that have the row's position."""
    spec, at, _ = (tensor.spec for tensor in place.operation.inputs)

    def rows(given: Any, indices: Any) -> Any:
        sizes = ops.shape(given)[: dims_of(indices)[-1]]
        steps = OPS["Cumprod"](sizes, 0, True, True)
        return ops.sum(ops.cast(indices, "int32") * steps, -1), ops.prod(sizes), ops.shape(given)

    numbers, count, shape = place.computed(rows, (x, spec), (indices, at))
    factors = place.node("Reshape", place.node("UnsortedSegmentProd", updates, numbers, count), shape)
    return place.result("Mul", x, factors)


# -- matrices ---------------------------------------------------------------------------------------------------------


@writes("MatMul", lambda operation: any(len(t.shape) != 2 for t in operation.inputs))
def _matmul(place: Place, x: Ref, y: Ref, transpose_a: bool, transpose_b: bool) -> list[Ref]:
    """The adjoint of the conjugate is the transpose."""
    if place.operation.outputs[0].dtype.is_complex:
        x, y = (place.node("Conj", z) if is_turned else z for z, is_turned in ((x, transpose_a), (y, transpose_b)))
    return place.result("BatchMatMulV2", x, y, adj_x=transpose_a, adj_y=transpose_b)


@writes("Abs", lambda operation: operation.inputs[0].dtype.is_complex)
def _size(place: Place, x: Ref) -> list[Ref]:
    return place.result("ComplexAbs", x, Tout=place.operation.outputs[0].dtype)


@writes("Qr")
def _qr(place: Place, x: Ref, mode: str) -> list[Ref]:
    return place.result("Qr", x, full_matrices=mode == "complete")


@writes("Svd")
def _svd(place: Place, x: Ref, full_matrices: bool, compute_uv: bool) -> list[Ref]:
    """The singular vectors in Dovetail's order, and the singular values as real numbers."""
    matrix = place.operation.inputs[0].spec
    s, u, v = place.several("Svd", x, dtypes=[x.dtype] * 3, compute_uv=compute_uv, full_matrices=full_matrices)
    s = place.node("Real", s, dtype=place.real, Tout=place.real) if matrix.dtype.is_complex else s
    if not compute_uv:
        return place.results([s])
    (adjoint,) = place.computed(lambda v: ops.conj(ops.swapaxes(v, -1, -2)), (v, matrix))
    return place.results([u, s, adjoint])


@writes("SelfAdjointEigV2", lambda operation: operation.inputs[0].dtype.is_complex or not operation.attrs["compute_v"])
def _eigh(place: Place, x: Ref, compute_v: bool) -> list[Ref]:
    w, v = place.several("SelfAdjointEigV2", x, dtypes=[x.dtype] * 2, compute_v=compute_v)
    w = place.node("Real", w, dtype=place.real, Tout=place.real) if place.operation.inputs[0].dtype.is_complex else w
    return place.results([w, v] if compute_v else [w])


@writes("LogMatrixDeterminant", lambda operation: operation.inputs[0].dtype.is_complex)
def _log_determinant(place: Place, x: Ref) -> list[Ref]:
    sign, size = place.several("LogMatrixDeterminant", x, dtypes=[x.dtype] * 2)
    return place.results([sign, place.node("Real", size, dtype=place.real, Tout=place.real)])


@writes("Eig")
def _eig(place: Place, x: Ref) -> list[Ref]:
    return place.result("Eig", x, compute_v=True, Tout=place.operation.outputs[0].dtype)


@writes("Lu")
def _lu(place: Place, x: Ref) -> list[Ref]:
    """LAPACK's exchanges of rows, found from TensorFlow's permutation."""
    lu, order = place.several("Lu", x, dtypes=[x.dtype, "int32"], output_idx_type=as_dtype("int32"))
    *batch, rows, count = place.shapes[0]

    def exchanges(order: Any) -> Any:
        places, swaps = OPS["Iota"](rows), []
        now = ops.zeros_like(order) + places
        for i in range(count):
            at = ops.cast(ops.argmax(ops.equal(now, order[..., i : i + 1]), -1), "int32")
            swaps.append(at)
            now = ops.where(ops.equal(places, ops.expand_dims(at, -1)), now[..., i : i + 1], now)
            now = ops.where(ops.equal(places, i), -1, now)
        return ops.stack(swaps, -1)

    pivots = place.computed(exchanges, (order, TensorSpec((*batch, rows), as_dtype("int32"))))
    return place.results([lu, *pivots])


@writes("RFFT")
def _rfft(place: Place, x: Ref, fft_length: Any) -> list[Ref]:
    return _transform(place, x, "RFFT", fft_length, lambda n: n)


@writes("IRFFT")
def _irfft(place: Place, x: Ref, fft_length: Any) -> list[Ref]:
    return _transform(place, x, "IRFFT", fft_length, lambda n: 2 * (n - 1))


def _transform(place: Place, x: Ref, type: str, length: Any, default: Callable[[Any], Any]) -> list[Ref]:
    spec, dtype = place.operation.inputs[0].spec, place.operation.outputs[0].dtype

    def known(x: Any) -> Any:
        return ops.reshape(ops.convert(default(dims_of(x)[-1]), dtype="int32"), (1,))

    sizes = place.constant([length], "fft_length") if length is not None else place.computed(known, (x, spec))[0]
    return place.result(type, x, sizes, **{"Tcomplex" if type == "RFFT" else "Treal": dtype})


@writes("Polygamma")
def _polygamma(place: Place, n: int, x: Ref) -> list[Ref]:
    return place.result("Polygamma", place.constant(n, "n", x.dtype), x)
