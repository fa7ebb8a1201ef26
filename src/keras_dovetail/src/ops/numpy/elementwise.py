"""Elementwise functions of tensors."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.core.dtypes import as_dtype
from dovetail.interop.privates import standardize_dtype
from keras_dovetail.src.dtypes import as_tensor, floating, floating_as_wide, is_float, name_of, promoted
from keras_dovetail.src.ops.calls import binary, bitwise, comparison, of_tensor, shift, unary

angle = unary(ops.angle)
arccos = unary(ops.arccos)
arccosh = unary(ops.arccosh)
arcsin = unary(ops.arcsin)
arcsinh = unary(ops.arcsinh)
arctan = unary(ops.arctan)
arctanh = unary(ops.arctanh)
bitwise_invert = bitwise_not = unary(ops.invert)
ceil = unary(ops.ceil)
conj = conjugate = unary(ops.conj)
copy = unary(ops.identity)
cos = unary(ops.cos)
cosh = unary(ops.cosh)
exp = unary(ops.exp)
exp2 = unary(ops.exp2)
expm1 = unary(ops.expm1)
fabs = of_tensor(ops.absolute, floating)
floor = unary(ops.floor)
imag = unary(ops.imag)
isfinite = unary(ops.isfinite)
isinf = unary(ops.isinf)
isnan = unary(ops.isnan)
log = unary(ops.log)
log10 = unary(ops.log10)
log1p = unary(ops.log1p)
log2 = unary(ops.log2)
logical_not = unary(ops.logical_not)
negative = unary(ops.negative)
real = unary(ops.real)
reciprocal = unary(ops.reciprocal)
round = of_tensor(ops.round)
sign = unary(ops.sign)
sin = unary(ops.sin)
sinh = unary(ops.sinh)
sqrt = unary(ops.sqrt)
square = unary(ops.square)
tan = unary(ops.tan)
tanh = unary(ops.tanh)

add = binary(ops.add, on_bools=ops.logical_or)
arctan2 = binary(ops.arctan2, with_float=True)
divide = true_divide = binary(ops.divide, with_float=True)
divide_no_nan = binary(ops.divide_no_nan, with_float=True)
float_power = binary(ops.power, with_float=True)
floor_divide = binary(ops.floor_divide)
hypot = binary(ops.hypot)
logaddexp = binary(ops.logaddexp, with_float=True)
maximum = binary(ops.maximum)
minimum = binary(ops.minimum)
mod = binary(ops.mod)
multiply = binary(ops.multiply, on_bools=ops.logical_and)
nextafter = binary(ops.nextafter, with_float=True)
power = binary(ops.power)
subtract = binary(ops.subtract)

bitwise_and = bitwise(ops.bitwise_and)
bitwise_left_shift = left_shift = shift(ops.left_shift)
bitwise_or = bitwise(ops.bitwise_or)
bitwise_right_shift = right_shift = shift(ops.right_shift)
bitwise_xor = bitwise(ops.bitwise_xor)

equal = comparison(ops.equal)
greater = comparison(ops.greater)
greater_equal = comparison(ops.greater_equal)
less = comparison(ops.less)
less_equal = comparison(ops.less_equal)
logical_and = comparison(ops.logical_and)
logical_or = comparison(ops.logical_or)
logical_xor = comparison(ops.logical_xor)
not_equal = comparison(ops.not_equal)


def absolute(x: Any) -> Any:
    x = as_tensor(x)
    return x if name_of(x) == "bool" else ops.absolute(x)


abs = absolute


def allclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return ops.allclose(as_tensor(x1), as_tensor(x2), rtol, atol, equal_nan)


def isclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return ops.isclose(as_tensor(x1), as_tensor(x2), rtol, atol, equal_nan)


def cbrt(x: Any) -> Any:
    x = floating(x)
    return ops.sign(x) * ops.power(ops.absolute(x), as_tensor(1 / 3, x.dtype))


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    x = as_tensor(x)
    dtype = "int32" if name_of(x) == "bool" else x.dtype
    return as_tensor(ops.clip(x, x_min, x_max), dtype)


def copysign(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2, with_float=True)
    return ops.where(ops.not_equal(signbit(x1), signbit(x2)), -x1, x1)


def deg2rad(x: Any) -> Any:
    return floating_as_wide(x) * (math.pi / 180)


def rad2deg(x: Any) -> Any:
    return floating_as_wide(x) * (180 / math.pi)


def fmax(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    return ops.where(ops.isnan(x1), x2, ops.where(ops.isnan(x2), x1, ops.maximum(x1, x2)))


def fmin(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    return ops.where(ops.isnan(x1), x2, ops.where(ops.isnan(x2), x1, ops.minimum(x1, x2)))


def fmod(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    if name_of(x1) == "bool":
        x1, x2 = ops.cast(x1, "int32"), ops.cast(x2, "int32")
    rest = ops.mod(ops.absolute(x1), ops.absolute(x2))
    return ops.where(x1 < 0, -rest, rest)


def heaviside(x1: Any, x2: Any) -> Any:
    x1, x2 = (floating(x) for x in promoted(x1, x2))
    step = ops.where(x1 > 0, ops.ones_like(x1), ops.zeros_like(x1))
    return ops.where(x1 == 0, x2, ops.where(ops.isnan(x1), x1, step))


def isneginf(x: Any) -> Any:
    x = as_tensor(x)
    return ops.logical_and(ops.isinf(x), x < 0)


def isposinf(x: Any) -> Any:
    x = as_tensor(x)
    return ops.logical_and(ops.isinf(x), x > 0)


def isreal(x: Any) -> Any:
    return ops.imag(as_tensor(x)) == 0


def ldexp(x1: Any, x2: Any) -> Any:
    x2 = as_tensor(x2)
    if "int" not in name_of(x2):
        raise TypeError(f"ldexp: the exponents x2 must be integers, but their dtype is {x2.dtype}; cast them.")
    x1, x2 = promoted(x1, x2, with_float=True)
    return x1 * ops.exp2(x2)


def logaddexp2(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2, with_float=True)
    return ops.logaddexp(x1 * math.log(2), x2 * math.log(2)) / math.log(2)


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    x = as_tensor(x)
    return x if name_of(x) == "bool" else ops.nan_to_num(x, nan, posinf, neginf)


def _bits(x: Any) -> Any:
    """The bits of floats, as integers with a sign."""
    return ops.bitcast(x, {"float64": "int64", "float32": "int32"}.get(name_of(x), "int16"))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    *choices, selected = promoted(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        selected = ops.where(as_tensor(condition), choice, selected)
    return selected


def signbit(x: Any) -> Any:
    x = as_tensor(x)
    return _bits(x) < 0 if is_float(x) else ops.cast(x, "int64") < 0


def sinc(x: Any) -> Any:
    x = floating(x)
    angle = ops.where(x == 0, ops.ones_like(x), x) * math.pi  # so that the gradient at 0 is not NaN
    return ops.where(x == 0, ops.ones_like(x), ops.sin(angle) / angle)


def trunc(x: Any) -> Any:
    x = as_tensor(x)
    return ops.trunc(x) if is_float(x) else x


def view(x: Any, dtype: Any = None) -> Any:
    x = as_tensor(x)
    if dtype is None:
        return x
    old, new = x.dtype.itemsize, as_dtype(standardize_dtype(dtype)).itemsize
    if old != new and not x.shape:
        raise ValueError(f"view: a scalar of {name_of(x)} has no axis that could be cut or joined to give {dtype}.")
    if new > old:
        x = ops.reshape(x, (*x.shape[:-1], -1, new // old))
    viewed = ops.bitcast(x, standardize_dtype(dtype))
    return ops.reshape(viewed, (*x.shape[:-1], -1)) if new < old else viewed


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    condition = as_tensor(condition)
    if x1 is None or x2 is None:
        return tuple(ops.cast(i, "int32") for i in ops.nonzero(condition))
    return ops.where(condition, *promoted(x1, x2))


def vectorize(pyfunc: Any, *, excluded: Any = None, signature: str | None = None) -> Any:
    from dovetail.interop.privates import vectorize_impl

    return vectorize_impl(pyfunc, _vmap, excluded=excluded, signature=signature)


def _vmap(function: Any, in_axes: Any = 0) -> Any:
    """Map a function over the slices of the arguments that have an axis; the other arguments are the same for all."""

    def mapped(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        moving = [as_tensor(arg) for arg, axis in zip(args, axes, strict=True) if axis is not None]

        def one(slices: Any) -> Any:
            rest = iter(slices)
            return function(*(arg if axis is None else next(rest) for arg, axis in zip(args, axes, strict=True)))

        return ops.vectorized_map(one, tuple(moving))

    return mapped
