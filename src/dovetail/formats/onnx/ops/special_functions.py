"""Bodies of ops that ONNX's operators compute together, since it has no operator for them, or not for all dtypes."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.formats.nodes.bodies import add_wider, by, of
from dovetail.formats.onnx.table import body
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of

# Dtypes with too few digits, or that ONNX Runtime refuses as it runs.  `formats.nodes.kernels` knows those without a
# kernel.
WIDER = """
Lgamma Polygamma Erfc Erfinv BesselI0 BesselI1: float16 bfloat16 float32 > float64
Expm1 Log1p: float16 bfloat16 > float32
LeftShift RightShift: int8 int16 uint16 > int32
TensorScatterAdd TensorScatterMul TensorScatterMax TensorScatterMin: float16 > float32
MaxPool1DGrad MaxPoolGrad MaxPool3DGrad: float16 > float32
TensorScatterMax TensorScatterMin: bool > int32
"""

add_wider(body, WIDER)


def _has_no_axis(operation: Operation) -> bool:
    return operation.attrs["axis"] == ()


body("Sum Prod Max Min Mean", _has_no_axis)(lambda op, x, axis, keepdims: x)
body("LogicalXor", of("bool"))(by("NotEqual"))


@body("ClipByValue", lambda operation: not _is_in_order(operation))
def _clip(op: Any, *args: Any) -> Any:
    return op.body(*args)


def _is_in_order(operation: Operation) -> bool:
    """Whether the lower end is known to be below the upper one, for ONNX gives the upper one if it is not."""
    ends = [tensor.op.attrs["value"] for tensor in operation.inputs[1:] if tensor.op.type == "Const"]
    return len(operation.inputs) == 2 or (len(ends) == 2 and bool(ends[0] <= ends[1]))


@body("Einsum", lambda operation: len({_dots(operation, i) for i in range(len(operation.inputs))} - {0}) > 1)
def _einsum(op: Any, inputs: Any, equation: str) -> Any:
    """Give each ellipsis as many axes as the others have."""
    letters = equation.partition("->")[0].split(",")
    counts = [len(x.shape) - len(part.replace("...", "").strip()) for x, part in zip(inputs, letters, strict=True)]
    missing = [max(counts) - count if "..." in part else 0 for count, part in zip(counts, letters, strict=True)]
    at = [part.strip().index(".") if "." in part else 0 for part in letters]
    filled = zip(inputs, at, missing, strict=True)
    return op([ops.reshape(x, [*dims_of(x)[:i], *[1] * n, *dims_of(x)[i:]]) for x, i, n in filled], equation)


def _dots(operation: Operation, number: int) -> int:
    """The number of axes for which the ellipsis of an input stands."""
    part = operation.attrs["equation"].partition("->")[0].split(",")[number].strip()
    shape: Any = operation.inputs[number].shape
    return len(shape) - len(part) + 3 if "..." in part else 0


@body("Mean", lambda operation: 0 in (operation.inputs[0].shape or ()))
def _mean(op: Any, *args: Any) -> Any:
    return op.body(*args)


@body("Softmax LogSoftmax", lambda operation: not isinstance(operation.attrs["axis"], int))
def _along_axes(op: Any, x: Any, axis: Any) -> Any:
    return op(x, axis[0]) if axis is not None and len(axis) == 1 else op.body(x, axis)


# -- exponentials -----------------------------------------------------------------------------------------------------


@body("Expm1")
def _expm1(op: Any, x: Any) -> Any:
    """Near 0 by the hyperbolic tangent of the half, which loses no digits there."""
    half = ops.tanh(ops.minimum(ops.maximum(x, -1), 1) * 0.5)
    return ops.where(ops.less(ops.absolute(x), 1), 2 * half / (1 - half), ops.exp(x) - 1)


@body("Log1p")
def _log1p(op: Any, x: Any) -> Any:
    """The logarithm of the rounded sum, with the rounding taken back."""
    near = ops.minimum(x, 1)
    total = 1 + near
    ratio = ops.where(ops.equal(total, 1), ops.ones_like(x), near / (total - 1))
    small = ops.where(ops.equal(total, 1), near, ops.log(total) * ratio)
    return ops.where(ops.less(x, 1), small, ops.log(1 + x))


def _each_before(x: Any, axis: int, exclusive: bool, reverse: bool, fill: float) -> Any:
    """For each element those before it along an axis, on a new last axis; another number in place of those behind."""
    rank, size = len(x.shape), dims_of(x)[axis]
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    moved = ops.expand_dims(ops.transpose(x, order), -2)
    rows, columns = ops.expand_dims(OPS["Iota"](size), 1), ops.expand_dims(OPS["Iota"](size), 0)
    compare = {(False, False): ops.less_equal, (True, False): ops.less}
    compare |= {(False, True): ops.greater_equal, (True, True): ops.greater}
    before = ops.where(compare[exclusive, reverse](columns, rows), moved, ops.full_like(moved, fill))
    return ops.transpose(before, [*(order.index(i) for i in range(rank)), rank])


@body("CumulativeLogsumexp")
def _cumulative(op: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    before = _each_before(x, axis, exclusive, reverse, -math.inf)
    most = ops.max(before, -1, keepdims=True)
    safe = ops.where(ops.isfinite(most), most, ops.zeros_like(most))
    return ops.squeeze(ops.log(ops.sum(ops.exp(before - safe), -1, keepdims=True)) + safe, -1)


@body("Cumprod")
def _cumulative_product(op: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return ops.prod(_each_before(x, axis, exclusive, reverse, 1), -1)


# -- integers ---------------------------------------------------------------------------------------------------------


@body("FloorMod", lambda operation: operation.inputs[0].dtype.is_floating)
def _floor_mod(op: Any, x: Any, y: Any) -> Any:
    return x - ops.floor(x / y) * y


@body("FloorDiv", lambda operation: operation.inputs[0].dtype.is_floating)
def _floor_div(op: Any, x: Any, y: Any) -> Any:
    return ops.floor(x / y)


@body("RightShift", of("int32", "int64"))
def _right_shift(op: Any, x: Any, y: Any) -> Any:
    """The bits of negative numbers are inverted, shifted and inverted again."""
    unsigned, is_negative = as_dtype(f"u{x.dtype.name}"), ops.less(x, 0)
    plain = ops.cast(ops.where(is_negative, ops.invert(x), x), unsigned)
    shifted = ops.cast(op(plain, ops.cast(y, unsigned)), x.dtype)
    return ops.where(is_negative, ops.invert(shifted), shifted)


@body("LeftShift", of("int32", "int64"))
def _left_shift(op: Any, x: Any, y: Any) -> Any:
    unsigned = as_dtype(f"u{x.dtype.name}")
    return ops.cast(op(ops.cast(x, unsigned), ops.cast(y, unsigned)), x.dtype)


# -- special functions, in double precision ---------------------------------------------------------------------------


def _polynomial(x: Any, coefficients: Any) -> Any:
    """A polynomial, from the highest power on."""
    first, *others = coefficients
    total = ops.zeros_like(x) + first
    for one in others:
        total = total * x + one
    return total


LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


@body("Lgamma", of("float64"))
def _lgamma(op: Any, x: Any) -> Any:
    """Lanczos' approximation, reflected for small numbers."""
    is_small = ops.less(x, 0.5)
    y = ops.where(is_small, 1 - x, x) - 1
    series = ops.zeros_like(x) + LANCZOS[0]
    for number, one in enumerate(LANCZOS[1:], 1):
        series = series + one / (y + number)
    t = y + 7.5
    plain = 0.5 * math.log(2 * math.pi) + (y + 0.5) * ops.log(t) - t + ops.log(series)
    plain = ops.where(ops.equal(ops.absolute(x), math.inf), ops.absolute(x), plain)
    from_nearest = x - ops.floor(x)
    sine = ops.sin(math.pi * ops.minimum(from_nearest, 1 - from_nearest))
    reflected = math.log(math.pi) - ops.log(ops.absolute(sine)) - plain
    return ops.where(is_small, ops.where(ops.equal(x, -math.inf), ops.absolute(x), reflected), plain)


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
SHIFT = 8  # terms before the asymptotic series


@body("Polygamma", of("float64"))
def _polygamma(op: Any, n: int, x: Any) -> Any:
    """Terms of the series one by one, and Stirling's asymptotic series for the rest."""
    if n == 0:
        reflected = ops.less(x, 0)
        at = ops.where(reflected, 1 - x, x)
        angle = math.pi * (x - ops.floor(x))
        return _psi(at, 0) - ops.where(reflected, math.pi * ops.cos(angle) / ops.sin(angle), ops.zeros_like(x))
    return _psi(x, n) * (-1.0) ** (n + 1)


def _psi(x: Any, n: int) -> Any:
    y = x + SHIFT
    if n == 0:
        tail = ops.log(y) - 0.5 / y
        for k, one in enumerate(BERNOULLI, 1):
            tail = tail - one / (2 * k) * y ** (-2.0 * k)
        return tail - sum(1 / (x + i) for i in range(SHIFT))
    tail = math.factorial(n - 1) * y ** (-1.0 * n) + math.factorial(n) / 2 * y ** (-1.0 * n - 1)
    for k, one in enumerate(BERNOULLI, 1):
        tail = tail + one * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * y ** (-2.0 * k - n)
    return tail + math.factorial(n) * sum((x + i) ** (-1.0 * n - 1) for i in range(SHIFT))


ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)


@body("Erfc", of("float64"))
def _erfc(op: Any, x: Any) -> Any:
    """Chebyshev's approximation, with a relative error of 1e-7 also where the values are small."""
    size = ops.absolute(x)
    t = 1 / (1 + 0.5 * size)
    upper = t * ops.exp(_polynomial(t, ERFC) - size * size)
    return ops.where(ops.less(x, 0), 2 - upper, upper)


CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
OUTER = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@body("Erfinv", of("float64"))
def _erfinv(op: Any, x: Any) -> Any:
    """Giles' polynomials: one in the middle, one near the ends."""
    w = -ops.log((1 - x) * (1 + x))
    is_central = ops.less(w, 5)
    inner = _polynomial(ops.minimum(w, 5) - 2.5, CENTRAL)
    outer = _polynomial(ops.sqrt(ops.maximum(ops.minimum(w, 100), 5)) - 3, OUTER)
    inside = x * ops.where(is_central, inner, outer)
    return ops.where(ops.equal(ops.absolute(x), 1), x * math.inf, inside)


I0 = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
I0_LARGE = (
    0.00392377,
    -0.01647633,
    0.02635537,
    -0.02057706,
    0.00916281,
    -0.00157565,
    0.00225319,
    0.01328592,
    0.39894228,
)
I1 = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5)
I1_LARGE = (
    -0.00420059,
    0.01787654,
    -0.02895312,
    0.02282967,
    -0.01031555,
    0.00163801,
    -0.00362018,
    -0.03988024,
    0.39894228,
)


@body("BesselI0", of("float64"))
def _bessel_0(op: Any, x: Any) -> Any:
    return _bessel(ops.absolute(x), I0, I0_LARGE, 1)


@body("BesselI1", of("float64"))
def _bessel_1(op: Any, x: Any) -> Any:
    size = ops.absolute(x)
    return ops.sign(x) * _bessel(size, I1, I1_LARGE, size)


def _bessel(size: Any, near: Any, far: Any, factor: Any) -> Any:
    """The approximations 9.8.1 to 9.8.4 of Abramowitz and Stegun."""
    low, high = ops.minimum(size, 3.75) / 3.75, ops.maximum(size, 3.75)
    large = ops.exp(high) / ops.sqrt(high) * _polynomial(3.75 / high, far)
    return ops.where(ops.less(size, 3.75), factor * _polynomial(low * low, near), large)


@body("Atan2")
def _atan2(op: Any, y: Any, x: Any) -> Any:
    """The angle of the quotient, turned by half a circle on the left."""
    is_down = ops.logical_or(ops.less(y, 0), ops.logical_and(ops.equal(y, 0), ops.less(1 / y, 0)))
    is_left = ops.logical_or(ops.less(x, 0), ops.logical_and(ops.equal(x, 0), ops.less(1 / x, 0)))
    are_zeros = ops.logical_and(ops.equal(y, 0), ops.equal(x, 0))
    are_infinite = ops.logical_and(ops.equal(ops.absolute(y), math.inf), ops.equal(ops.absolute(x), math.inf))
    ratio = ops.where(are_infinite, ops.sign(y) * ops.sign(x), y / ops.where(are_zeros, ops.ones_like(x), x))
    turn = ops.where(is_left, ops.where(is_down, -math.pi, math.pi), 0.0)
    return ops.arctan(ratio) + ops.cast(turn, y.dtype)


# -- positions --------------------------------------------------------------------------------------------------------


@body("StridedSliceGrad")
def _scattered(op: Any, g: Any, shape: Any, begin: Any, end: Any, strides: Any, *masks: int) -> Any:
    """The numbers of the positions are sliced, and the gradient put there among zeros."""
    sizes = ops.convert(shape, dtype="int32")
    count = ops.prod(sizes)
    places = OPS["StridedSlice"](ops.reshape(OPS["Iota"](count), shape), begin, end, strides, *masks)
    zeros = OPS["Fill"](ops.reshape(count, (1,)), ops.zeros((), g.dtype))
    flat = OPS["TensorScatterUpdate"](zeros, ops.reshape(places, (-1, 1)), ops.reshape(g, (-1,)))
    return ops.reshape(flat, shape)


@body("LogMatrixDeterminant", of("float32", "float64"))
def _log_determinant(op: Any, x: Any) -> Any:
    determinant = OPS["MatrixDeterminant"](x)
    return ops.sign(determinant), ops.log(ops.absolute(determinant))
