"""Structures of arguments and results as messages `StructuredValue`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import Any

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.dtypes import DType
from dovetail.formats.nodes.constants import is_tensor
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.names import parameter_name
from dovetail.formats.tensorflow.values import Host
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import STRING, number_of, shape_proto

PLAIN = {bool: "bool_value", int: "int64_value", float: "float64_value", str: "string_value"}


def parts_of(structure: Any) -> list[tuple[str, Any]] | None:
    """The parts of a list, tuple, dict or named tuple with their keys, in TensorFlow's order; None for a leaf."""
    if isinstance(structure, Mapping):
        return [(str(key), structure[key]) for key in sorted(structure)]
    if isinstance(structure, (list, tuple)):
        names = getattr(structure, "_fields", None) or map(str, range(len(structure)))
        return list(zip(names, structure, strict=True))
    return None


def typed(value: Any) -> tuple[Any, int] | None:
    """The shape and the number of the dtype of a graph tensor, or of a value of the host; None of others."""
    if isinstance(value, Host):
        return value.spec.shape, STRING if value.spec.dtype is None else number_of(value.spec.dtype)
    return (value.shape, number_of(value.dtype)) if is_tensor(value) else None


def tensors_in(structure: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The graph tensors in a structure, each with the name of the argument that has it."""
    parts = parts_of(structure)
    for key, part in parts or ():
        yield from tensors_in(part, f"{name}_{key}" if name else key)
    if parts is None and is_tensor(structure):
        yield name, structure


def structured(value: Any, name: str = "") -> Any:
    """A structure as a message; graph tensors in it become their specs.

    Args:
        value: the structure.
        name: of the tensor, if it is one.

    Raises:
        Unreadable: it has a value that no message can hold.
    """
    message = TENSORFLOW.StructuredValue()
    tensor, parts = typed(value), None if typed(value) else parts_of(value)
    if tensor is not None:
        spec = message.tensor_spec_value
        spec.name, spec.dtype = name, tensor[1]
        spec.shape.CopyFrom(shape_proto(tensor[0]))
    elif value is None:
        message.none_value.SetInParent()
    elif isinstance(value, Mapping):
        message.dict_value.SetInParent()
        for key, part in parts or ():
            message.dict_value.fields[key].CopyFrom(structured(part, key))
    elif hasattr(value, "_fields"):
        message.named_tuple_value.name = type(value).__name__
        for key, part in parts or ():
            message.named_tuple_value.values.add(key=key).value.CopyFrom(structured(part, key))
    elif parts is not None:
        items = message.list_value if isinstance(value, list) else message.tuple_value
        items.SetInParent()
        items.values.extend(structured(part, f"{name}_{key}" if name else key) for key, part in parts)
    elif isinstance(value, DType):
        message.tensor_dtype_value = number_of(value)
    elif isinstance(value, (bool, int, float, str, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        setattr(message, PLAIN[type(plain)], plain)
    else:
        raise Unreadable(f"a file of TensorFlow cannot hold {describe(value)}")
    return message


def argument_spec(names: list[str], keywords: list[str], defaults: tuple[Any, ...] = ()) -> Any:
    """The parameters of a function, as `inspect.getfullargspec` gives them.

    Raises:
        ValueError: TensorFlow refuses a keyword when it loads the file.
    """
    plain = [parameter_name(keyword) for keyword in keywords]
    for name, keyword in zip(plain, keywords, strict=True):
        if iskeyword(name) or name in ("", "self") or plain.count(name) > 1:
            others = [other for other, one in zip(keywords, plain, strict=True) if one == name and other != keyword]
            reason = f"which TensorFlow also makes of {others[0]!r}" if others else "which it refuses"
            problem = f"TensorFlow would call the input {keyword!r} {name!r}, {reason}; give it another name"
            raise op_error(ValueError, "saved_model.save", f"{problem}, by its spec or rename().")
    message = TENSORFLOW.StructuredValue()
    spec = message.named_tuple_value
    spec.name = "FullArgSpec"
    values: dict[str, Any] = {
        "args": names,
        "varargs": None,
        "varkw": None,
        "defaults": defaults or None,
        "kwonlyargs": keywords,
        "kwonlydefaults": None,
        "annotations": {},
    }
    for key, value in values.items():
        spec.values.add(key=key).value.CopyFrom(structured(value))
    return message
