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
    kinds, proto = ONNX.AttributeProto, ONNX.AttributeProto(name=name)
    if isinstance(value, np.ndarray):
        proto.type = kinds.TENSOR
        proto.t.CopyFrom(tensor_proto(value))
    elif isinstance(value, ONNX.GraphProto):
        proto.type = kinds.GRAPH
        proto.g.CopyFrom(value)
    elif isinstance(value, DType):
        proto.type, proto.i = kinds.INT, number_of(value)
    elif isinstance(value, str):
        proto.type, proto.s = kinds.STRING, value.encode()
    elif isinstance(value, float):
        proto.type, proto.f = kinds.FLOAT, value
    elif isinstance(value, (int, np.integer)):
        proto.type, proto.i = kinds.INT, int(value)
    elif value and isinstance(value[0], str):
        proto.type = kinds.STRINGS
        proto.strings.extend(one.encode() for one in value)
    elif value and isinstance(value[0], float):
        proto.type = kinds.FLOATS
        proto.floats.extend(value)
    else:
        proto.type = kinds.INTS
        proto.ints.extend(map(int, value))
    return proto
