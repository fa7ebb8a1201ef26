"""Tensors of ONNX in messages and in files beside the model, and ONNX's numbers of dtypes."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from dovetail.core.base.errors import FormatError, did_you_mean
from dovetail.core.dtypes import DType, as_dtype
from dovetail.formats.nodes.constants import within
from dovetail.formats.wire.tensors import little_endian

OPEN_ENDS = (2**31 - 1, 2**63 - 1)  # ends of slices that ONNX Runtime takes for none, also where it goes backwards
STRING = 8
NUMBERS = {  # NumPy's name of a dtype → its number
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "object": STRING,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4_e2m1fn": 23,
    "float8_e8m0fnu": 24,
    "uint2": 25,
    "int2": 26,
}
DTYPES = {number: np.dtype(getattr(ml_dtypes, name, name)) for name, number in NUMBERS.items()}
PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}  # numbers of dtypes with several elements in a byte → bits of one
# numbers of dtypes that Dovetail does not have → the dtype that holds all their numbers
CARRIERS = {22: "int8", 26: "int8", 21: "uint8", 25: "uint8", **dict.fromkeys((18, 20, 23, 24), "float32")}
LARGEST, RANKS = 2**40, 64  # elements of a tensor; dimensions

# numbers of dtypes → the field of a message that holds their elements
FIELDS = {
    **dict.fromkeys((1, 14), "float_data"),
    **dict.fromkeys((11, 15), "double_data"),
    **dict.fromkeys((12, 13), "uint64_data"),
    7: "int64_data",
    STRING: "string_data",
}


def dtype_of(number: int) -> DType | None:
    """The dtype of Dovetail that holds the numbers of one of ONNX; None for strings and for unknown ones."""
    numpy_dtype = DTYPES.get(number)
    return None if numpy_dtype is None or numpy_dtype.hasobject else as_dtype(CARRIERS.get(number, numpy_dtype.name))


def carried(array: np.ndarray) -> np.ndarray:
    """An array with the dtype that holds its numbers here."""
    carrier = CARRIERS.get(number_of(array.dtype))
    return array if carrier is None else array.astype(carrier)


def number_of(dtype: Any) -> int:
    """ONNX's number of a dtype.

    Raises:
        TypeError: ONNX has no such dtype.
    """
    name = "object" if getattr(dtype, "kind", "") in ("S", "O", "U") else getattr(dtype, "name", str(dtype))
    if name not in NUMBERS:
        raise TypeError(f"ONNX has no dtype {name!r}. {did_you_mean(name, NUMBERS)}".rstrip())
    return NUMBERS[name]


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of an array's elements in order, without a copy if they lie so."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def data_of(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in files; elements of less than a byte share one."""
    bits = PACKED.get(number_of(array.dtype))
    if bits is None:
        return bytes_of(little_endian(array))
    count = 8 // bits
    parts = np.zeros((-(-array.size // count), count), np.uint8)
    parts.reshape(-1)[: array.size] = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=1).astype(np.uint8)


class Tensors:
    """The reader of the tensors of a model.

    Args:
        file: the model, for errors.
        folder: the folder with its external data; None if it comes from no file.
    """

    def __init__(self, file: str | os.PathLike[str], folder: Path | None) -> None:
        self._file, self._folder = file, folder

    def array(self, proto: Any) -> np.ndarray:
        """The array of a message `TensorProto`; it may share memory with the message or the file.

        Raises:
            FormatError: the values do not fit the shape or the dtype, or external data is not to be had.
        """
        place = f"the tensor {proto.name!r}"
        dtype, shape = DTYPES.get(proto.data_type), tuple(proto.dims)
        if dtype is None:
            raise FormatError(self._file, place, f"the dtype {proto.data_type}", "a dtype of ONNX, 1 to 26")
        if min(shape, default=0) < 0 or len(shape) > RANKS or math.prod(shape) > LARGEST:
            needed = f"at most {RANKS} sizes, and at most {LARGEST} elements"
            raise FormatError(self._file, place, f"the shape {shape[:RANKS]}", needed)
        if proto.HasField("segment"):
            raise FormatError(self._file, place, "a segment of a tensor", "the whole tensor")
        count = math.prod(shape)
        if proto.data_location == 1:
            values = _from_bytes(self._external(proto, place), proto.data_type, count)
        elif proto.HasField("raw_data"):
            values = _from_bytes(np.frombuffer(proto.raw_data, np.uint8), proto.data_type, count)
        else:
            values = _from_field(proto, dtype, count)
        if values is None or len(values) != count:
            actual = "values of another number" if values is None else f"{len(values)} values"
            raise FormatError(self._file, place, actual, f"{count} of {dtype.name}")
        return values.reshape(shape)

    def dense(self, proto: Any) -> np.ndarray:
        """The array of a message `SparseTensorProto`.

        Raises:
            FormatError: as `array`, or a place is outside the shape.
        """
        values, places, shape = self.array(proto.values), self.array(proto.indices), tuple(proto.dims)
        actual = f"the shape {shape[:RANKS]}, and places of the shape {places.shape}"
        is_flat = places.shape == values.shape
        if (
            min(shape, default=0) >= 0
            and len(shape) <= RANKS
            and (is_flat or places.shape == (len(values), len(shape)))
        ):
            within(*shape)
            index = (places,) if is_flat else tuple(places.T)
            dense = np.zeros(shape, values.dtype)
            limits = (dense.size,) if is_flat else shape
            if all(((one >= 0) & (one < size)).all() for one, size in zip(index, limits, strict=True)):
                (dense.reshape(-1) if is_flat else dense)[index] = values
                return dense
        raise FormatError(self._file, f"the sparse tensor {proto.values.name!r}", actual, "places within the shape")

    def _external(self, proto: Any, place: str) -> np.ndarray:
        """The bytes of a tensor in a file beside the model."""
        said = {entry.key: entry.value for entry in proto.external_data}
        name = said.get("location", "")
        if self._folder is None:
            raise FormatError(self._file, place, f"data in the file {name!r}", "a model that is loaded by its path")
        folder = self._folder.resolve()
        try:
            path = (folder / name).resolve()
            is_there = name and not Path(name).is_absolute() and path.is_relative_to(folder) and path.is_file()
        except (OSError, ValueError):  # no name of a file
            is_there = False
        if not is_there:
            raise FormatError(self._file, place, f"data in {name!r}", f"a file in the folder {str(folder)!r}")
        size = path.stat().st_size
        try:
            offset = int(said.get("offset", 0))
            length = int(said.get("length", size - offset))
        except ValueError:
            actual = f"the offset {said.get('offset')!r} and the length {said.get('length')!r}"
            raise FormatError(self._file, place, actual, "numbers") from None
        if offset < 0 or length < 0 or offset + length > size:
            actual = f"the bytes {offset} to {offset + length} of {name!r}"
            raise FormatError(self._file, place, actual, f"bytes within its {size}")
        return np.memmap(path, np.uint8, "r", offset, (length,)) if length else np.zeros(0, np.uint8)


def _from_bytes(data: np.ndarray, number: int, count: int) -> np.ndarray | None:
    """The elements in some bytes; None if their number is another."""
    if number in PACKED:
        return _unpacked(data, number, count)
    dtype = DTYPES[number]
    if dtype.hasobject or len(data) != count * dtype.itemsize:
        return None
    return data.view(dtype.newbyteorder("<")).astype(dtype, copy=False)


def _unpacked(data: np.ndarray, number: int, count: int) -> np.ndarray | None:
    """The elements of which several share a byte, the first one in its lowest bits."""
    bits = PACKED[number]
    if len(data) != -(-count * bits // 8):
        return None
    parts = data.astype(np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8((1 << bits) - 1)
    values: Any = parts.reshape(-1)[:count]
    dtype = DTYPES[number]
    if dtype.name.startswith("int"):
        values = (values.astype(np.int8) ^ (1 << bits - 1)) - (1 << bits - 1)  # the highest bit is the sign
    return values.astype(np.uint8).view(dtype) if "float" in dtype.name else values.astype(dtype)


def _from_field(proto: Any, dtype: np.dtype, count: int) -> np.ndarray | None:
    """The elements in the field of a message for their dtype."""
    number = proto.data_type
    elements = getattr(proto, FIELDS.get(number, "int32_data"))
    if number == STRING:
        values = np.empty(len(elements), object)
        values[:] = [text.decode(errors="replace") for text in elements]
        return values
    if number in (14, 15):
        return np.array(elements, f"f{dtype.itemsize // 2}").view(dtype) if len(elements) % 2 == 0 else None
    values = np.array(elements)
    if number in PACKED:
        return _unpacked(values.astype(np.uint8), number, count)
    if number in (10, 16) or "float8" in dtype.name:  # they are written as the integers of their bits
        return values.astype(f"u{dtype.itemsize}").view(dtype)
    return values.astype(dtype)


__all__ = [
    "CARRIERS",
    "DTYPES",
    "NUMBERS",
    "PACKED",
    "STRING",
    "Tensors",
    "bytes_of",
    "carried",
    "data_of",
    "dtype_of",
    "number_of",
]
