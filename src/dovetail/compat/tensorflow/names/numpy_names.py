"""TensorFlow's names of NumPy's functions, `tf.experimental.numpy`, as rows with their parameters.

Floats keep their dtype, and Python's numbers are weak, as in all of Dovetail; new tensors have floats of 64 bits.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.table import V2, function, row, value
from dovetail.core.errors import warn
from dovetail.ops.shapes.shape import dims_of

MODULE = "experimental.numpy"

# TensorFlow's parameters → names of functions; Dovetail's names follow colons where they differ.
ROWS = {
    "x": """
        abs:absolute absolute arccos arccosh arcsin arcsinh arctan arctanh ceil conjugate:conj cos cosh exp exp2 expm1
        fabs:absolute floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive:identity reciprocal
        sign sin sinh sqrt square tan tanh""",
    "x1:x x2:y": """
        add bitwise_and bitwise_or bitwise_xor divide equal floor_divide greater greater_equal hypot less less_equal
        logaddexp logical_and logical_or logical_xor matmul maximum minimum mod multiply not_equal power
        remainder:mod subtract true_divide:divide""",
    "x1:y x2:x": "arctan2",
    "x1:x x2:toward": "nextafter",
    "a:x b:y": "dot inner outer vdot",
    "a:x b:y axes": "tensordot",
    "a:x b:y rtol atol equal_nan": "allclose isclose",
    "a:x axis keepdims": "all amax:max amin:min any max mean min prod std sum",
    "a:x axis": "argmax argmin expand_dims sort squeeze",
    "a:x axis weights": "average",
    "a:x n axis": "diff",
    "a:x offset axis1 axis2": "trace",
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
    "z:x": "angle",
    "val:x": "imag real",
}
# The same of functions that give integers of 64 bits.
COUNTS = {"a:x axis": "argsort count_nonzero"}
# The same of functions that make tensors, whose default dtype is float64.
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
    """Wrap a function: its result is of int64."""

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        return ops.cast(target(*args, **kwargs), "int64")

    call.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]
    return call


def _add(rows: dict[str, str], made: Callable[[Any], Any]) -> None:
    for parameters, names in rows.items():
        for name, _, target in (word.partition(":") for word in names.split()):
            row(f"{MODULE}.{name}", made(getattr(ops, target or name)), parameters)


_add(ROWS, lambda target: target)
_add(COUNTS, _as_int64)
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
    found = ops.convert(val, dtype)
    return ops.reshape(found, [*[1] * (ndmin - len(found.shape)), *dims_of(found)])


@function(f"{MODULE}.einsum")
def einsum(subscripts: str, *operands: Any) -> Any:
    """Sums of products, by Einstein's convention.

    Source: `tf.experimental.numpy.einsum`.
    """
    return ops.einsum(subscripts, *operands)


@function(f"{MODULE}.experimental_enable_numpy_behavior")
def enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Warns that tensors get no methods of NumPy's arrays; dtypes are promoted anyway.

    Source: `tf.experimental.numpy.experimental_enable_numpy_behavior`.
    """
    instead = "for x.astype(t), x.T and x.reshape(s) use tf.cast, tf.transpose, tf.reshape."
    text = f"tensors have no methods of NumPy's arrays; {instead}"
    warn(UserWarning, f"tf.{MODULE}.experimental_enable_numpy_behavior", text)


for _name in ("asarray", "asanyarray"):
    value(f"{MODULE}.{_name}", V2[f"{MODULE}.array"])
