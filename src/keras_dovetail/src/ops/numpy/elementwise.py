"""Elementwise functions of tensors."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.core.dtypes import as_dtype
from dovetail.interop.privates import standardize_dtype
from keras_dovetail.src.dtypes import as_tensor, floating, floating_as_wide, is_float, name_of, promoted
from keras_dovetail.src.ops.calls import binary, bitwise, comparison, functions, of_tensor, shift, unary

UNARY = """
angle arccos arccosh arcsin arcsinh arctan arctanh bitwise_invert=invert bitwise_not=invert ceil conj conjugate=conj
copy=identity cos cosh exp exp2 expm1 floor imag isfinite isinf isnan log log10 log1p log2 logical_not negative real
reciprocal sign sin sinh sqrt square tan tanh
"""
BINARY = "floor_divide hypot maximum minimum mod power subtract"
OF_FLOATS = "arctan2 divide divide_no_nan float_power=power logaddexp nextafter true_divide=divide"
COMPARISONS = "equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal"
SHIFTS = "bitwise_left_shift=left_shift bitwise_right_shift=right_shift left_shift right_shift"

globals().update(
    functions(unary, UNARY)
    | functions(binary, BINARY)
    | functions(binary, OF_FLOATS, with_float=True)
    | functions(comparison, COMPARISONS)
    | functions(bitwise, "bitwise_and bitwise_or bitwise_xor")
    | functions(shift, SHIFTS)
)
add = binary(ops.add, on_bools=ops.logical_or)
fabs = of_tensor(ops.absolute, floating)
i0 = of_tensor(ops.bessel_i0, floating_as_wide)
multiply = binary(ops.multiply, on_bools=ops.logical_and)
round = of_tensor(ops.round)


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


def gcd(x1: Any, x2: Any) -> Any:
    x1, x2 = (ops.absolute(x) for x in promoted(x1, x2))
    x1, x2 = x1 + ops.zeros_like(x2), x2 + ops.zeros_like(x1)  # of one shape, since loop variables keep theirs

    def remains(a: Any, b: Any) -> Any:
        return ops.any(b != 0)

    def step(a: Any, b: Any) -> Any:
        rest = ops.mod(a, ops.where(b == 0, ops.ones_like(b), b))
        return ops.where(b == 0, a, b), ops.where(b == 0, b, rest)

    return ops.while_loop(remains, step, (x1, x2))[0]


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


def lcm(x1: Any, x2: Any) -> Any:
    x1, x2 = promoted(x1, x2)
    divisor = gcd(x1, x2)
    safe = ops.maximum(divisor, ops.ones_like(divisor))
    return ops.absolute(ops.floor_divide(x1, safe) * x2)


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
