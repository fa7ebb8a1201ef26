"""Rules of elementwise ops: arithmetic, comparisons, special functions, casts."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from dovetail.core.dtypes import DType
from dovetail.core.rules import EAGER, NATIVE, PROGRAM, Rule
from dovetail.engines.numpy_like import integer_power
from dovetail.engines.tensorflow.tables import HALVES, UNSIGNED, cast, kernel, rules, widened

# Ops for which TensorFlow has a kernel of the same name for every dtype that they take.
_UNARY = (
    *("Reciprocal", "Square", "Sqrt", "Rsqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Tan", "Asin", "Acos"),
    *("Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Floor", "Ceil", "Erf", "Erfc"),
    *("LogicalNot", "IsNan", "IsInf", "IsFinite"),
)
_BINARY = (*("AddV2", "Sub", "Mul", "RealDiv", "Equal", "NotEqual", "LogicalAnd", "LogicalOr"),)

rules |= {name: kernel(name, "x") for name in _UNARY}
rules |= {name: kernel(name, "x", "y") for name in _BINARY}
rules |= {
    "Atan2": kernel("Atan2", "y", "x"),
    "SelectV2": kernel("SelectV2", "condition", "t", "e"),
    "LogicalXor": rules["NotEqual"],
    "Rint": widened(HALVES)(kernel("Rint", "x")),
    "Lgamma": widened({tf.bfloat16: tf.float32})(kernel("Lgamma", "x")),
    "Digamma": widened({tf.bfloat16: tf.float32})(lambda x: tf.where(x == 0, -1 / x, tf.raw_ops.Digamma(x=x))),
    "Igamma": widened(HALVES)(kernel("Igamma", "a", "x")),
    "BesselI0": widened({tf.bfloat16: tf.float32})(kernel("BesselI0", "x")),
    "BesselI1": widened({tf.bfloat16: tf.float32})(kernel("BesselI1", "x")),
    "Neg": widened(UNSIGNED)(kernel("Neg", "x")),
    "FFT": kernel("FFT", "input"),
    "IFFT": kernel("IFFT", "input"),
    "FFT2D": kernel("FFT2D", "input"),
    "IFFT2D": kernel("IFFT2D", "input"),
    "RFFT": lambda x, length: tf.signal.rfft(x, None if length is None else [length]),
    "IRFFT": lambda x, length: tf.signal.irfft(x, None if length is None else [length]),
}


def _ordered(name: str) -> Rule:
    compare = kernel(name, "x", "y")
    return lambda x, y: compare(cast(x, tf.uint8), cast(y, tf.uint8)) if x.dtype == tf.bool else compare(x, y)


def _of_bools(numbers: Rule, bools: Rule) -> Rule:
    return lambda x, *y: (bools if x.dtype == tf.bool else numbers)(x, *y)


rules |= {name: _ordered(name) for name in ("Less", "LessEqual", "Greater", "GreaterEqual")}
rules |= {
    "Maximum": _of_bools(kernel("Maximum", "x", "y"), rules["LogicalOr"]),
    "Minimum": _of_bools(kernel("Minimum", "x", "y"), rules["LogicalAnd"]),
    "BitwiseAnd": _of_bools(kernel("BitwiseAnd", "x", "y"), rules["LogicalAnd"]),
    "BitwiseOr": _of_bools(kernel("BitwiseOr", "x", "y"), rules["LogicalOr"]),
    "BitwiseXor": _of_bools(kernel("BitwiseXor", "x", "y"), rules["NotEqual"]),
    "Invert": _of_bools(kernel("Invert", "x"), rules["LogicalNot"]),
}


@rules("Erfinv")
@widened(HALVES)
def _(x: Any) -> Any:
    y = tf.raw_ops.Erfinv(x=x)
    # The kernel loses digits near 0; there a step of Newton's method finds them.
    step = (tf.raw_ops.Erf(x=y) - x) * (math.sqrt(math.pi) / 2) * tf.exp(y * y)
    return tf.where(tf.abs(x) < 0.5, y - step, y)


@rules("Abs")
def _(x: Any) -> Any:
    if x.dtype.is_complex:
        return tf.raw_ops.ComplexAbs(x=x, Tout=x.dtype.real_dtype)
    return x if x.dtype.is_unsigned else tf.raw_ops.Abs(x=x)


@rules("Sign")
def _(x: Any) -> Any:
    return cast(x != 0, x.dtype) if x.dtype.is_unsigned else tf.raw_ops.Sign(x=x)


@rules("Polygamma")
def _(n: int, x: Any) -> Any:
    wide = cast(x, HALVES.get(x.dtype, x.dtype))
    return cast(tf.raw_ops.Polygamma(a=tf.fill(tf.shape(wide), tf.constant(n, wide.dtype)), x=wide), x.dtype)


# -- division and powers ----------------------------------------------------------------------------------------------


def _unless_zero(divide: Rule, x: Any, y: Any) -> Any:
    """Integer division that gives 0 where `y` is 0, for which TensorFlow would raise an error."""
    zero = y == 0
    one = tf.ones((), y.dtype)
    return tf.where(zero, one - one, divide(x, tf.where(zero, one, y)))


@rules("FloorMod")
def _(x: Any, y: Any) -> Any:
    mod = kernel("FloorMod", "x", "y")
    return mod(x, y) if x.dtype.is_floating else _unless_zero(mod, x, y)


@rules("FloorDiv")
def _(x: Any, y: Any) -> Any:
    if not x.dtype.is_floating:
        return _unless_zero(kernel("FloorDiv", "x", "y"), x, y)
    return _floored_quotient(x, y)


@widened(HALVES)
def _floored_quotient(x: Any, y: Any) -> Any:
    x, y = tf.stop_gradient(x), tf.stop_gradient(y)  # TruncateMod has no gradient, and the quotient needs none
    rest = tf.raw_ops.TruncateMod(x=x, y=y)
    quotient = (x - rest) / y  # a whole number, except for rounding
    quotient = tf.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    return tf.where(y == 0, x / y, tf.round(quotient))


@rules("Pow")
@widened(UNSIGNED)
def _(x: Any, y: Any) -> Any:
    power = kernel("Pow", "x", "y")
    return integer_power(tf, power, x, y) if x.dtype.is_integer else power(x, y)


# -- shifts -----------------------------------------------------------------------------------------------------------


def _shift(name: str) -> Rule:
    shift = kernel(name, "x", "y")

    def rule(x: Any, y: Any) -> Any:
        last = x.dtype.size * 8 - 1  # the largest shift of the kernel
        beyond = (y < 0) | (y > last)
        y = tf.where(beyond, tf.constant(last, y.dtype), y)
        stays = name == "RightShift" and not x.dtype.is_unsigned  # the sign fills everything
        return shift(x, y) if stays else tf.where(beyond, tf.zeros((), x.dtype), shift(x, y))

    return rule


rules["LeftShift"] = _shift("LeftShift")
rules["RightShift"] = _shift("RightShift")


# -- complex numbers and casts ----------------------------------------------------------------------------------------


@rules("Complex")
def _(x: Any, y: Any) -> Any:
    x, y = (cast(part, HALVES.get(part.dtype, part.dtype)) for part in (x, y))
    return tf.raw_ops.Complex(real=x, imag=y, Tout=tf.complex128 if x.dtype == tf.float64 else tf.complex64)


@rules("Real")
def _(x: Any) -> Any:
    return tf.raw_ops.Real(input=x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else x


@rules("Imag")
def _(x: Any) -> Any:
    return tf.raw_ops.Imag(input=x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else tf.zeros_like(x)


def _cast(x: Any, dtype: DType) -> Any:
    return x != 0 if dtype.is_bool and x.dtype != tf.bool else cast(x, tf.as_dtype(dtype))


rules("Cast", layers=(EAGER,))(_cast)


@rules("Cast", layers=(PROGRAM, NATIVE))
def _(x: Any, dtype: DType) -> Any:
    if x.dtype == tf.bool and dtype.is_differentiable and dtype.itemsize > 1:
        # XLA computes a converted mask times x as a selection of x or 0, which is not NaN where x is infinite.
        return tf.where(x, tf.ones((), dtype), tf.zeros((), dtype))
    return _cast(x, dtype)
