"""Keras' rules for dtypes, which differ from Dovetail's lattice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.interop.privates import dtypes
from keras_dovetail.src.tensors import convert_to_tensor as as_tensor
from keras_dovetail.src.tensors import is_tensor

WIDE = {  # sums and products of small integers are wider, as on Keras' jax backend
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32",
}  # fmt: skip


def name_of(x: Any) -> str:
    """The name of a tensor's dtype."""
    return str(x.dtype)


def result_type(*values: Any) -> str:
    """The common dtype of tensors, dtypes and Python numbers; the numbers are weak."""
    return dtypes.result_type(*map(_dtype_of, values))


def _dtype_of(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return int  # also of a dimension
    return getattr(value, "dtype", value if isinstance(value, (str, type)) else type(value))


def promoted(*values: Any, with_float: bool = False) -> list[Any]:
    """Tensors, cast to their common dtype; with `with_float`, at least to a float dtype."""
    values = tuple(v if isinstance(v, (bool, int, float)) else as_tensor(v) for v in values)
    if not with_float and len({getattr(v, "dtype", type(v)) for v in values}) == 1 and is_tensor(values[0]):
        return list(values)
    dtype = result_type(*values, *([float] if with_float else []))
    return [as_tensor(v, dtype) for v in values]


def alike(values: Sequence[Any]) -> list[Any]:
    """The tensors of a list, cast to their common dtype."""
    return promoted(*values) if len(values) else []


def is_float(x: Any) -> bool:
    """Whether a tensor holds floats."""
    return "float" in name_of(x)


def floating(x: Any) -> Any:
    """A tensor of floats: integers become floats of Keras' `floatx`."""
    x = as_tensor(x)
    return x if is_float(x) or "complex" in name_of(x) else ops.cast(x, result_type("int32", float))


def floating_as_wide(x: Any) -> Any:
    """A tensor of floats, of 64 bits for integers of 64 bits, as some of Keras' functions compute."""
    x = as_tensor(x)
    return ops.cast(x, "float64") if name_of(x) == "int64" else floating(x)


def widened(x: Any) -> Any:
    """A tensor in the dtype in which Keras adds and multiplies its numbers."""
    x = as_tensor(x)
    return as_tensor(x, WIDE.get(name_of(x)))
