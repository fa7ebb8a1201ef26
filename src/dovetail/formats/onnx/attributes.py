"""Attributes of nodes: `AttributeProto` → Python, and the converters that rows name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.tensors import Tensors, dtype_of

# types of attributes → the field that holds the value; types of lists have the names of fields that repeat
FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 13: "tp", 11: "sparse_tensor"}
LISTS = {6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs", 14: "type_protos", 12: "sparse_tensors"}
Attributes = dict[str, Any]


def attributes_of(protos: Iterable[Any], tensors: Tensors, given: Mapping[str, Any]) -> Attributes:
    """The attributes of a node by name: numbers, texts, arrays, messages `GraphProto`, or lists of them.

    Args:
        protos: the messages.
        tensors: reads arrays.
        given: the attributes of the call of the function that has the node, to which its attributes may refer.
    """
    attributes: Attributes = {}
    for proto in protos:
        if proto.ref_attr_name:
            if proto.ref_attr_name in given:
                attributes[proto.name] = given[proto.ref_attr_name]
        elif (kind := proto.type or _guessed(proto)) in FIELDS:
            attributes[proto.name] = _plain(getattr(proto, FIELDS[kind]), kind, tensors)
        elif kind in LISTS:
            attributes[proto.name] = [_plain(item, kind - 5, tensors) for item in getattr(proto, LISTS[kind])]
    return attributes


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
