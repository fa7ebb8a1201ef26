"""Arithmetic, activations and products."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of, is_tensor
from dovetail.formats.onnx.ops.normalization import by_channel
from dovetail.formats.onnx.table import row
from dovetail.ops.shapes.shape import dims_of


def widened(dtype: Any) -> Any:
    """The dtype in which halves are added up and raised, as ONNX's definitions do."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


@row("Div: x y")
def divided(x: Any, y: Any) -> Any:
    """The quotient; of integers, without its fraction."""
    if x.dtype.is_floating:
        return ops.divide(x, y)
    if not x.dtype.is_signed_integer:
        return ops.floor_divide(x, y)
    low = ops.floor_divide(x, y)
    is_below = ops.logical_and(ops.not_equal(low * y, x), ops.logical_xor(ops.less(x, 0), ops.less(y, 0)))
    return ops.where(is_below, low + 1, low)


@row("Mod 10: x y; fmod")
def _(x: Any, y: Any, fmod: int = 0) -> Any:
    """The rest that has the sign of x."""
    if not x.dtype.is_signed_integer and not x.dtype.is_floating:
        return OPS["FloorMod"](x, y)
    if x.dtype.is_integer:  # the least integer has no absolute value
        rest = OPS["FloorMod"](x, y)
        is_other = ops.logical_xor(ops.less(x, 0), ops.less(y, 0))
        return ops.where(ops.logical_and(ops.not_equal(rest, 0), is_other), rest - y, rest)
    rest = OPS["FloorMod"](ops.absolute(x), ops.absolute(y))
    return ops.where(ops.less(x, 0), -rest, rest)


@row("Pow: x y")
def _(x: Any, y: Any) -> Any:
    if x.dtype == y.dtype:
        return ops.power(x, y)
    wide = "float64" if "64" in x.dtype + y.dtype else "float32"
    is_whole = x.dtype.is_integer and y.dtype.is_integer
    return ops.cast(ops.power(x, ops.cast(y, x.dtype)) if is_whole else _float_power(x, y, wide), x.dtype)


def _float_power(x: Any, y: Any, dtype: str) -> Any:
    return ops.power(ops.cast(x, dtype), ops.cast(y, dtype))


def _variadic(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda xs: functools.reduce(function, xs)


row("Max: xs*")(_variadic(ops.maximum))
row("Min: xs*")(_variadic(ops.minimum))
row("Sum: xs*")(_variadic(ops.add))


@row("Mean: xs*")
def _(xs: Sequence[Any]) -> Any:
    return functools.reduce(ops.add, xs) / len(xs)


@row("IsInf: x; detect_negative:low detect_positive:high")
def _(x: Any, low: int = 1, high: int = 1) -> Any:
    is_infinite = ops.isinf(x)
    return ops.logical_and(is_infinite, ops.less(x, 0) if low else ops.greater(x, 0) if high else False)


@row("Clip 11: x low high")
def _(x: Any, low: Any = None, high: Any = None) -> Any:
    """Limits are tried one after the other, since the upper one counts if it is below the lower one.

    A limit that is left out is the largest or least finite number.
    """
    if x.dtype.is_floating:
        low, high = (x.dtype.min if low is None else low), (x.dtype.max if high is None else high)
    known = [constant_of(limit) if is_tensor(limit) else np.asarray(limit) for limit in (low, high)]
    if None not in (low, high) and all(one is not None for one in known) and np.all(known[0] <= known[1]):  # type: ignore[operator]
        return ops.clip(x, low, high)
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


# -- activations ------------------------------------------------------------------------------------------------------


@row("HardSigmoid: x; alpha beta")
def hard_sigmoid(x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return ops.clip(x * alpha + beta, 0, 1)


@row("Selu: x; alpha gamma")
def _(x: Any, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return ops.elu(x, alpha) * gamma


@row("ThresholdedRelu: x; alpha")
def _(x: Any, alpha: float = 1.0) -> Any:
    return ops.where(ops.greater(x, alpha), x, ops.zeros_like(x))


@row("Shrink: x; lambd bias")
def _(x: Any, lambd: float = 0.5, bias: float = 0.0) -> Any:
    low, high = (ops.cast(shifted, x.dtype) for shifted in (x + bias, x - bias))
    return ops.where(ops.less(x, -lambd), low, ops.where(ops.greater(x, lambd), high, ops.zeros_like(x)))


@row("PRelu 1-6: x slope")
def _(x: Any, slope: Any) -> Any:
    return _parametric(x, by_channel(slope, x))


@row("PRelu 7: x slope")
def _parametric(x: Any, slope: Any) -> Any:
    return ops.where(ops.less(x, 0), x * slope, x)


@row("Swish 24: x; alpha")
def _(x: Any, alpha: float = 1.0) -> Any:
    return x * ops.sigmoid(x * alpha)


@row("SwiGLU: x gate; alpha")
def _(x: Any, gate: Any, alpha: float = 1.0) -> Any:
    return x * ops.sigmoid(x * alpha) * gate


@row("Hardmax 1-12: x; axis")
def _(x: Any, axis: int = 1) -> Any:
    return _flattened(_hardmax, x, axis)


@row("Hardmax 13: x; axis")
def _hardmax(x: Any, axis: int = -1) -> Any:
    return ops.one_hot(ops.argmax(x, axis), dims_of(x)[axis], axis, x.dtype)


@row("Softmax 1-12: x; axis")
def _(x: Any, axis: int = 1) -> Any:
    return _flattened(ops.softmax, x, axis)


@row("LogSoftmax 1-12: x; axis")
def _(x: Any, axis: int = 1) -> Any:
    return _flattened(ops.log_softmax, x, axis)


def _flattened(function: Callable[[Any, int], Any], x: Any, axis: int) -> Any:
    """A function along all axes from one on, as if they were one."""
    return ops.reshape(function(as_matrix(x, axis), 1), dims_of(x))


@row("Flatten: x; axis")
def as_matrix(x: Any, axis: int = 1) -> Any:
    """A matrix: the axes before one become its rows."""
    dims = dims_of(x)
    axis = axis + len(dims) if axis < 0 else axis
    rows, columns = _product(dims[:axis]), _product(dims[axis:])
    return ops.reshape(x, [rows, columns])


def _product(dims: Sequence[Any]) -> Any:
    return functools.reduce(lambda a, b: a * b, dims, 1)


# -- products ---------------------------------------------------------------------------------------------------------


@row("Gemm: a b c; alpha beta transA transB")
def _(a: Any, b: Any, c: Any = None, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> Any:
    product = ops.matmul(ops.transpose(a) if transA else a, ops.transpose(b) if transB else b)
    product = product if alpha == 1 else ops.cast(product * alpha, a.dtype)
    return product if c is None else product + (c if beta == 1 else ops.cast(c * beta, c.dtype))


@row("MatMul: x y")
def matmul(x: Any, y: Any) -> Any:
    """A product of matrices, or of vectors as rows and columns."""
    rows, columns = len(x.shape) == 1, len(y.shape) == 1
    product = ops.matmul(ops.expand_dims(x, 0) if rows else x, ops.expand_dims(y, 1) if columns else y)
    product = ops.squeeze(product, -1) if columns else product
    return ops.squeeze(product, -1 if columns else -2) if rows else product


@row("Einsum: xs*; equation")
def _(xs: Sequence[Any], equation: str) -> Any:
    """Letters that a tensor has twice are those of a diagonal."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms, operands = left.split(","), []
    for i, x in enumerate(xs):
        head, dots, tail = terms[i].rpartition("...")
        for letter in dict.fromkeys(tail):
            while tail.count(letter) > 1:
                first, second = tail.index(letter), tail.rindex(letter)
                x = OPS["MatrixDiagPart"](x, 0, first - len(tail), second - len(tail))
                tail = "".join(c for n, c in enumerate(tail) if n not in (first, second)) + letter
        terms[i] = head + dots + tail
        operands.append(x)
    return ops.einsum(f"{','.join(terms)}{arrow}{right}", *operands)
