"""Values of ONNX as messages: dtypes, tensors, types of values and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.dtypes import DType
from dovetail.formats.onnx.tensors import data_of, number_of
from dovetail.formats.wire.messages import ONNX


def tensor_proto(array: np.ndarray, name: str = "") -> Any:
    """An array as a message, with its data inside."""
    proto = ONNX.TensorProto(name=name, dims=array.shape, data_type=number_of(array.dtype))
    proto.raw_data = data_of(array).tobytes()
    return proto


def value_info(name: str, dtype: Any, shape: Sequence[int | None] | None, symbols: Sequence[str] = ()) -> Any:
    """A value's name and type.

    Args:
        name: its name.
        dtype: of its elements.
        shape: its shape, with None for unknown dimensions; None if the rank is unknown.
        symbols: the names of dimensions if they are unknown; by default, each has its own.
    """
    info = ONNX.ValueInfoProto(name=name)
    tensor = info.type.tensor_type
    tensor.elem_type = number_of(dtype)
    if shape is not None:
        tensor.shape.SetInParent()
        for axis, size in enumerate(shape):
            symbol = symbols[axis] if axis < len(symbols) else f"{name}_{axis}"
            tensor.shape.dim.add(**({"dim_param": symbol} if size is None else {"dim_value": size}))
    return info


def attribute(name: str, value: Any) -> Any:
    """An attribute of a node, of the type that its value says."""
    kinds, found = ONNX.AttributeProto, ONNX.AttributeProto(name=name)
    if isinstance(value, np.ndarray):
        found.type = kinds.TENSOR
        found.t.CopyFrom(tensor_proto(value))
    elif isinstance(value, ONNX.GraphProto):
        found.type = kinds.GRAPH
        found.g.CopyFrom(value)
    elif isinstance(value, DType):
        found.type, found.i = kinds.INT, number_of(value)
    elif isinstance(value, str):
        found.type, found.s = kinds.STRING, value.encode()
    elif isinstance(value, float):
        found.type, found.f = kinds.FLOAT, value
    elif isinstance(value, (int, np.integer)):
        found.type, found.i = kinds.INT, int(value)
    elif value and isinstance(value[0], str):
        found.type = kinds.STRINGS
        found.strings.extend(one.encode() for one in value)
    elif value and isinstance(value[0], float):
        found.type = kinds.FLOATS
        found.floats.extend(value)
    else:
        found.type = kinds.INTS
        found.ints.extend(map(int, value))
    return found
