"""Tensors in messages: `TensorProto` ↔ NumPy arrays, and the numbers of TensorFlow's dtypes.

A tensor of strings is an array of `bytes`, with NumPy's dtype `object`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from dovetail.core.base.errors import FormatError, did_you_mean
from dovetail.core.base.read_limits import fold
from dovetail.core.dtypes import DATATYPES
from dovetail.formats.wire.messages import TENSORFLOW

STRING, VARIANT = 7, 21
NUMBERS = {**DATATYPES, "object": STRING, "int4": 29, "uint4": 30}  # NumPy's name of a dtype → its number
DTYPES = {number: np.dtype(getattr(ml_dtypes, name, name)) for name, number in NUMBERS.items()}
QUANTIZED = {11: "int8", 12: "uint8", 13: "int32", 15: "int16", 16: "uint16"}  # numbers of an unknown scale
DTYPES |= {number: np.dtype(name) for number, name in QUANTIZED.items()}
REFERENCE = 100  # added to the number of a dtype for a reference to a variable of TensorFlow 1
LARGEST, MOST, RANKS = 2**40, 2**26, 64  # elements of a tensor; bytes that one value may fill; dimensions

# numbers of dtypes → the field that holds one element, or one half of it
FIELDS = {
    1: "float_val",
    2: "double_val",
    8: "scomplex_val",
    18: "dcomplex_val",
    9: "int64_val",
    10: "bool_val",
    14: "half_val",
    19: "half_val",
    22: "uint32_val",
    23: "uint64_val",
    STRING: "string_val",
    **dict.fromkeys((3, 4, 5, 6, 17, 29, 30, *QUANTIZED), "int_val"),
    **dict.fromkeys((24, 25), "float8_val"),
}

PLAIN = ("float_val", "double_val", "int_val", "int64_val", "bool_val", "uint32_val", "uint64_val")


def number_of(dtype: Any) -> int:
    """TensorFlow's number of a dtype.

    Raises:
        TypeError: TensorFlow has no such dtype.

    Example:
        >>> number_of("float32"), number_of(np.dtype("S3"))
        (1, 7)
    """
    name = "object" if getattr(dtype, "kind", "") in ("S", "O") else getattr(dtype, "name", str(dtype))
    if name not in NUMBERS:
        raise TypeError(f"files of TensorFlow have no dtype {name!r}. {did_you_mean(name, NUMBERS)}".strip())
    return NUMBERS[name]


def dtype_of(number: int, file: str | os.PathLike[str], place: str) -> np.dtype:
    """The dtype with a number.

    Raises:
        FormatError: it is the number of no dtype of values, as a resource's.
    """
    dtype = DTYPES.get(number % REFERENCE)
    if dtype is None:
        raise FormatError(file, place, f"the dtype {number}", "numbers or strings")
    return dtype


def shape_proto(shape: Sequence[int | None] | None) -> Any:
    """A shape as a message; None is an unknown dimension, or an unknown rank."""
    if shape is None or getattr(shape, "rank", 0) is None:
        return TENSORFLOW.TensorShapeProto(unknown_rank=True)
    dim = TENSORFLOW.TensorShapeProto.Dim
    return TENSORFLOW.TensorShapeProto(dim=[dim(size=-1 if size is None else size) for size in shape])


def shape_of(proto: Any) -> tuple[int | None, ...] | None:
    """The shape in a message; None as in `shape_proto`."""
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


def known_shape(proto: Any, file: str | os.PathLike[str], place: str, least: bool = False) -> tuple[int, ...]:
    """The shape of values.

    Args:
        proto: the message.
        file, place: for errors.
        least: whether dimensions may be unknown, which are 0 then; so may the rank be.

    Raises:
        FormatError: a dimension is not known, or it is too large for an array.
    """
    sizes = tuple(max(dim.size, 0) if least else dim.size for dim in proto.dim)
    is_known = least or not proto.unknown_rank
    if not is_known or min(sizes, default=0) < 0 or len(sizes) > RANKS or math.prod(sizes) > LARGEST:
        given = "of an unknown rank" if proto.unknown_rank else str(sizes[:RANKS])
        raise FormatError(file, place, f"the shape {given}", f"a known shape of at most {LARGEST} elements")
    return sizes


def tensor_proto(array: Any) -> Any:
    """An array as a message.

    Args:
        array: numbers, or `bytes` in an array of objects.

    Raises:
        TypeError: TensorFlow has no such dtype.
    """
    array = np.asarray(array)
    proto = TENSORFLOW.TensorProto(dtype=number_of(array.dtype), tensor_shape=shape_proto(array.shape))
    field = FIELDS[proto.dtype]
    if proto.dtype == STRING:
        proto.string_val.extend(array.reshape(-1).tolist())
    elif array.size == 1 and field in PLAIN:
        getattr(proto, field).append(array.item())
    else:
        proto.tensor_content = little_endian(array).tobytes()
    return proto


def little_endian(array: np.ndarray) -> np.ndarray:
    """An array with the bytes of its elements in the order of files."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def array_of(proto: Any, file: str | os.PathLike[str] = "", place: str = "a tensor") -> np.ndarray:
    """The array in a message.

    Returns:
        An array that may share the memory of the message, or repeat one value; copy it before writing to it.

    Raises:
        FormatError: the values do not fit the shape or the dtype.
    """
    dtype, shape = dtype_of(proto.dtype, file, place), known_shape(proto.tensor_shape, file, place)
    count = math.prod(shape)
    if proto.tensor_content:
        if len(proto.tensor_content) != count * dtype.itemsize or dtype.kind == "O":
            needed = f"{count} elements of {dtype.name}"
            raise FormatError(file, place, f"{len(proto.tensor_content)} bytes", needed)
        return np.frombuffer(proto.tensor_content, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
    values = _values(proto, dtype, file, place)
    if len(values) == count:
        return values.reshape(shape)
    if len(values) <= 1:  # one value for all elements; without one it is 0
        return np.broadcast_to(values.reshape(()) if len(values) else _zero(dtype), shape)
    if len(values) > count or count * dtype.itemsize > max(MOST, 64 * values.nbytes):
        raise FormatError(file, place, f"{len(values)} values", f"{count} values, or fewer of which the last repeats")
    fold(count * dtype.itemsize)
    return np.concatenate([values, np.full(count - len(values), values[-1], dtype)]).reshape(shape)


def _zero(dtype: np.dtype) -> np.ndarray:
    return np.array(b"", object) if dtype.kind == "O" else np.zeros((), dtype)


def _values(proto: Any, dtype: np.dtype, file: str | os.PathLike[str], place: str) -> np.ndarray:
    elements = getattr(proto, FIELDS[proto.dtype % REFERENCE])
    try:
        if dtype.kind == "O":
            return _objects(elements)
        if dtype.kind == "c":
            return np.array(elements, f"f{dtype.itemsize // 2}").view(dtype)
        if isinstance(elements, bytes):
            return np.frombuffer(elements, dtype)
        if proto.dtype % REFERENCE in (14, 19):  # halves are written as the integers of their bits
            return np.array(elements, np.uint16).view(dtype)
        return np.array(list(elements), np.int64 if dtype.name in ("int4", "uint4") else dtype).astype(
            dtype, copy=False
        )
    except (ValueError, OverflowError) as error:
        raise FormatError(file, place, f"values that are no {dtype.name} ({error})", f"{dtype.name}") from None


def _objects(values: Sequence[bytes]) -> np.ndarray:
    """An array of strings, whose elements stay objects."""
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array
