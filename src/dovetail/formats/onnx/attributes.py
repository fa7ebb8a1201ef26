"""Attributes of nodes: `AttributeProto` → Python, and the converters that rows name.

`attributes.txt` lists the types of attributes, and the names that have them in ONNX's definitions of types of nodes.
`tests.formats.type_lists` makes it of the schemas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.tensors import Tensors, dtype_of
from dovetail.formats.wire.messages import ONNX

# types of attributes → the field that holds the value; types of lists have the names of fields that repeat
FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 13: "tp", 11: "sparse_tensor"}
LISTS = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs", 14: "type_protos", 12: "sparse_tensors"}


MICROSOFT = (  # of ONNX Runtime's own domain, like the lines of `attributes.txt`
    "INT K N bits block_size channels_last unidirectional",
    "FLOAT activation_alpha activation_beta activation_gamma mask_filter_value",
    "FLOATS activation_params",
    "INTS qkv_hidden_sizes",
)


class Attributes(dict[str, Any]):
    """The attributes of a node by name: numbers, texts, arrays, messages `GraphProto`, or lists of them."""

    def __missing__(self, name: str) -> Any:
        raise Unreadable(f"it has no attribute {name!r}")


def attributes_of(protos: Iterable[Any], tensors: Tensors, given: Mapping[str, Any]) -> Attributes:
    """The attributes of a node.

    Args:
        protos: the messages.
        tensors: reads arrays.
        given: the attributes of the call of the function that has the node, to which its attributes may refer.
    """
    attributes = Attributes()
    for proto in protos:
        if proto.ref_attr_name:
            if proto.ref_attr_name in given:
                attributes[proto.name] = given[proto.ref_attr_name]
        elif (kind := proto.type or _guessed(proto)) in FIELDS:
            attributes[proto.name] = _plain(getattr(proto, FIELDS[kind]), kind, tensors)
        elif kind in LISTS:
            attributes[proto.name] = [_plain(item, kind - 5, tensors) for item in getattr(proto, LISTS[kind])]
    return attributes


@functools.cache
def _types() -> Mapping[str, list[str]]:
    """The name of an attribute → the types that definitions of types of nodes give it."""
    types: dict[str, list[str]] = {}
    for line in (*Path(__file__).with_name("attributes.txt").read_text().splitlines(), *MICROSOFT):
        type, *names = line.split()
        for name in names:
            types.setdefault(name, []).append(type)
    return types


def check_types(attributes: Attributes) -> None:
    """Check the types of the attributes of a node.

    Raises:
        Unreadable: one has a type that no definition of ONNX gives an attribute of its name.
    """
    for name, value in attributes.items():
        allowed, type = _types().get(name), _type(value)
        if allowed and type not in allowed and not (value == [] and any(one.endswith("S") for one in allowed)):
            raise Unreadable(f"its attribute {name!r} has the type {type or 'list'}, not {' or '.join(allowed)}")


def _type(value: Any) -> str:
    """ONNX's type of the value of an attribute; "" of an empty list, or of what is no value."""
    if isinstance(value, list):
        return f"{_type(value[0])}S" if value else ""
    return next((type for kind, type in _types_of_values().items() if isinstance(value, kind)), "")


@functools.cache
def _types_of_values() -> dict[type, str]:
    """Messages are classes of protobuf, which may not be installed."""
    return {
        float: "FLOAT",
        int: "INT",
        str: "STRING",
        np.ndarray: "TENSOR",
        ONNX.GraphProto: "GRAPH",
        ONNX.TypeProto: "TYPE_PROTO",
        ONNX.SparseTensorProto: "SPARSE_TENSOR",
    }


def _guessed(proto: Any) -> int:
    """The type of an attribute in an old file, which does not say it."""
    known = {name: number for number, name in (*FIELDS.items(), *LISTS.items())}
    return next((known[field.name] for field, _ in proto.ListFields() if field.name in known), 0)


def _plain(value: Any, kind: int, tensors: Tensors) -> Any:
    if kind == 3:
        return value.decode(errors="replace")
    return tensors.array(value) if kind == 4 else value


def _dtype(value: Any) -> Any:
    dtype = dtype_of(value) if isinstance(value, int) else None
    if dtype is None:
        raise Unreadable(f"Dovetail does not compute with ONNX's dtype {value}")
    return dtype


# a converter's name → (the value of an attribute) → a static value
CONVERTERS: dict[str, Callable[[Any], Any]] = {"": lambda value: value, "bool": bool, "dtype": _dtype}
