"""TensorFlow's names for NumPy's functions, `tf.experimental.numpy`, as rows with their parameters.

As in all of Dovetail, floats keep their dtype, and integers and Python's numbers take it if they meet floats.  New
tensors have floats of 64 bits; sums and products of integers have integers of 64 bits.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.entries import second, value
from dovetail.compat.tensorflow.table import function, row
from dovetail.core.base.errors import op_error, warn
from dovetail.core.dtypes import native_to_dtype
from dovetail.core.values.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

MODULE = "experimental.numpy"

# TensorFlow's parameters → names of functions; Dovetail's names follow colons where they differ.
ROWS = {
    "x": """
        abs:absolute absolute arccos arccosh arcsin arcsinh arctan arctanh ceil conj conjugate:conj cos cosh exp exp2
        expm1 fabs:absolute floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive:identity
        reciprocal sign sin sinh sqrt square tan tanh""",
    "x1:x x2:y": """
        add bitwise_and bitwise_or bitwise_xor divide equal floor_divide greater greater_equal hypot less less_equal
        logaddexp logical_and logical_or logical_xor matmul maximum minimum mod multiply not_equal power
        remainder:mod subtract true_divide:divide""",
    "x1:y x2:x": "arctan2",
    "x1:x x2:toward": "nextafter",
    "a:x b:y": "dot inner outer vdot",
    "a:x b:y axes": "tensordot",
    "a:x b:y rtol atol equal_nan": "allclose isclose",
    "a:x axis keepdims": "all amax:max amin:min any max mean min std",
    "a:x axis": "argmax argmin expand_dims sort squeeze",
    "a:x axis weights": "average",
    "a:x n axis": "diff",
    "a:x": "ndim ravel",
    "a:x decimals": "around:round round",
    "a:x a_min:x_min a_max:x_max": "clip",
    "a:x newshape:shape": "reshape",
    "a:x repeats axis": "repeat",
    "a:x reps:repeats": "tile",
    "a:x shift axis": "roll",
    "a:x source destination": "moveaxis",
    "a:x axis1 axis2": "swapaxes",
    "a:x axes": "transpose",
    "a:x indices axis": "take",
    "arr:x indices axis": "take_along_axis",
    "a:x dtype": "ones_like zeros_like",
    "a:x fill_value dtype": "full_like",
    "array:x shape": "broadcast_to",
    "array:x pad_width mode constant_values": "pad",
    "arys:xs axis": "concatenate",
    "arrays:xs axis": "stack",
    "ary:x indices_or_sections axis": "split",
    "condition x y": "where",
    "m:x axis": "flip",
    "m:x k": "tril triu",
    "v:x k": "diag",
    "z": "angle",
    "val:x": "imag real",
}
# The same for functions that give integers of 64 bits.
COUNTS = {"a:x axis": "argsort count_nonzero"}
# The same for functions that add or multiply integers in 64 bits.
TOTALS = {"a:x axis keepdims": "prod sum", "a:x offset axis1 axis2": "trace"}
# The same for functions that make tensors, with float64 as the default dtype.
NEW = {
    "shape dtype": "empty:zeros ones zeros",
    "N:rows M:columns k dtype": "eye tri",
    "n:rows dtype": "identity:eye",
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "newaxis": None}
DTYPES = "bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128"


def _with_doubles(target: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: its default dtype is float64."""

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **{"dtype": "float64", **kwargs})

    call.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]
    return call


def _as_int64(target: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: its results are of int64."""

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return ops.cast(target(*args, **kwargs), "int64")

    call.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]
    return call


def _in_64_bits(target: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function: it computes with integers, and with bools, in 64 bits."""

    @functools.wraps(target)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return target(_widened(x, "uint64"), *args, **kwargs)

    call.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]
    return call


def _widened(x: Any, unsigned: str) -> Any:
    """A tensor of 64 bits for bools or integers; floats stay."""
    kind = _dtype_of(x).kind
    return ops.cast(x, {"b": "int64", "i": "int64", "u": unsigned}[kind]) if kind in "biu" else x


def _dtype_of(*values: Any) -> np.dtype[Any]:
    """The common dtype of tensors, arrays and lists, for which Python's numbers have 64 bits."""
    dtypes = [native_to_dtype(dtype_of(v)).numpy if is_tensor(v) else np.asarray(v).dtype for v in values]
    return np.result_type(*dtypes)


def _add(rows: dict[str, str], made: Callable[[Any], Any]) -> None:
    for parameters, names in rows.items():
        for name, _, target in (word.partition(":") for word in names.split()):
            row(f"{MODULE}.{name}", made(getattr(ops, target or name)), parameters)


_add(ROWS, lambda target: target)
_add(COUNTS, _as_int64)
_add(TOTALS, _in_64_bits)
_add(NEW, _with_doubles)
for _name, _constant in CONSTANTS.items():
    value(f"{MODULE}.{_name}", _constant)
for _name in DTYPES.split():
    value(f"{MODULE}.{_name}", np.dtype(getattr(np, _name)).type)


@function(f"{MODULE}.array")
def array(val: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """A value as a tensor with at least `ndmin` axes.

    Source: `tf.experimental.numpy.array`.
    """
    tensor = ops.convert(val, dtype)
    return ops.reshape(tensor, [*[1] * (ndmin - len(tensor.shape)), *dims_of(tensor)])


@function(f"{MODULE}.arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers from `start` up to `stop`, or from 0 up to `start`, in equal steps.

    Source: `tf.experimental.numpy.arange`.
    """
    given = [start, step] if stop is None else [start, step, stop]
    return ops.arange(start, stop, step, dtype or _dtype_of(*given))


@function(f"{MODULE}.full")
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A tensor of one value.

    Source: `tf.experimental.numpy.full`.
    """
    return ops.full(shape, fill_value, dtype or _dtype_of(fill_value))


@function(f"{MODULE}.linspace")
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = "float64",
    axis: int = 0,
) -> Any:
    """Numbers at equal distances, and the distance if `retstep` is true.

    Source: `tf.experimental.numpy.linspace`.
    """
    start, stop = (ops.cast(value, "float64") for value in (start, stop))
    numbers = ops.cast(ops.linspace(start, stop, num, endpoint, axis), dtype)
    return (numbers, (stop - start) / (num - endpoint)) if retstep else numbers


@function(f"{MODULE}.var")
def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The variance along axes: squared differences are divided by their count, less `ddof`.

    Raises:
        ValueError: `out` is given, which TensorFlow does not take either.

    Source: `tf.experimental.numpy.var`.
    """
    if out is not None:
        raise op_error(ValueError, f"tf.{MODULE}.var", "out must be None: tensors are not written to. Use the result.")
    x = ops.convert(a) if dtype is None else ops.cast(a, dtype)
    variance = ops.var(x, axis, keepdims)
    if not ddof:
        return variance
    count = ops.cast(ops.size(x) / ops.maximum(ops.size(variance), 1), variance.dtype)
    return variance * count / (count - ddof)


def _cumulative(name: str) -> None:
    target = getattr(ops, name)

    def call(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = _widened(a, "int64") if dtype is None else ops.cast(a, dtype)
        return target(ops.ravel(x), 0) if axis is None else target(x, axis)

    call.__doc__ = f"""Cumulative results along an axis, or over all elements; see `dovetail.ops.{name}`.

    Source: `tf.experimental.numpy.{name}`.
    """
    function(f"{MODULE}.{name}")(call)


for _name in ("cumprod", "cumsum"):
    _cumulative(_name)


@function(f"{MODULE}.diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of matrices, whose axes are the first two.

    Source: `tf.experimental.numpy.diagonal`.
    """
    return ops.diagonal(a, offset, axis1, axis2)


@function(f"{MODULE}.nonzero")
def nonzero(a: Any) -> Any:
    """The indices of the elements that are not zero, a tensor for each axis.

    Source: `tf.experimental.numpy.nonzero`.
    """
    return [ops.cast(indices, "int64") for indices in ops.nonzero(a)]


@function(f"{MODULE}.meshgrid")
def meshgrid(*xi: Any, indexing: Literal["xy", "ij"] = "xy") -> Any:
    """The coordinates of a grid, a tensor for each axis.

    Source: `tf.experimental.numpy.meshgrid`.
    """
    return ops.meshgrid(*xi, indexing=indexing)


@function(f"{MODULE}.hstack")
def hstack(tup: Any) -> Any:
    """Tensors joined along the second axis, or along the only one.

    Source: `tf.experimental.numpy.hstack`.
    """
    parts = [ops.reshape(x, [1]) if not len(static_shape(x)) else x for x in map(ops.convert, tup)]
    return ops.concatenate(parts, min(1, len(static_shape(parts[0])) - 1))


@function(f"{MODULE}.vstack")
def vstack(tup: Any) -> Any:
    """Tensors joined along the first axis; tensors with fewer than two axes are rows.

    Source: `tf.experimental.numpy.vstack`.
    """
    return ops.concatenate([array(x, ndmin=2) for x in tup], 0)


@function(f"{MODULE}.einsum")
def einsum(subscripts: str, *operands: Any) -> Any:
    """Sums of products, by Einstein's convention.

    Source: `tf.experimental.numpy.einsum`.
    """
    return ops.einsum(subscripts, *operands)


@function(f"{MODULE}.experimental_enable_numpy_behavior")
def enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Warn that tensors get no methods of NumPy's arrays; dtypes are promoted anyway.

    Source: `tf.experimental.numpy.experimental_enable_numpy_behavior`.
    """
    instead = "for x.astype(t), x.T and x.reshape(s) use tf.cast, tf.transpose, tf.reshape."
    text = f"tensors have no methods of NumPy's arrays; {instead}"
    warn(UserWarning, f"tf.{MODULE}.experimental_enable_numpy_behavior", text)


for _name in ("asarray", "asanyarray"):
    second(f"{MODULE}.{_name}", f"{MODULE}.array", "v1 v2", of="v2")
