"""Attributes of nodes: `AttrValue` → Python, and the converters that rows name, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.dtypes import DType, as_dtype
from dovetail.formats.wire.tensors import DTYPES, REFERENCE, array_of, number_of, shape_of, tensor_proto

LAYOUTS = {"NHWC": "channels_last", "NCHW": "channels_first", "NDHWC": "channels_last", "NCDHW": "channels_first"}
NOTHING: Any = object()


class Unreadable(Exception):
    """A node that has no equivalent here; the text is the reason."""


def value_of(attribute: Any) -> Any:
    """The value of an attribute: a number, text, dtype, shape, array, name of a function, or a list of them."""
    kind = attribute.WhichOneof("value")
    if kind == "list":
        fields = [field for field, _ in attribute.list.ListFields()]
        return [_plain(fields[0].name, item) for item in getattr(attribute.list, fields[0].name)] if fields else []
    return None if kind is None else _plain(kind, getattr(attribute, kind))


def _plain(kind: str, value: Any) -> Any:
    if kind == "s":
        return value.decode(errors="replace")
    if kind == "type":
        return dtype_named(value)
    if kind == "shape":
        return shape_of(value)
    if kind == "tensor":
        return array_of(value)
    return value.name if kind == "func" else value


def dtype_named(number: int) -> DType | None:
    """The dtype with TensorFlow's number; None for strings, resources, and dtypes that Dovetail does not have."""
    found = DTYPES.get(number % REFERENCE)
    try:
        return None if found is None or found.hasobject else as_dtype(found.name)
    except TypeError:
        return None


class Attributes:
    """The attributes of a node, by name.

    Args:
        node: the message `NodeDef`.
    """

    def __init__(self, node: Any) -> None:
        self._node = node

    def __contains__(self, name: str) -> bool:
        return name in self._node.attr

    def __call__(self, name: str, default: Any = NOTHING) -> Any:
        """The value of an attribute; a node may leave out a default.

        Raises:
            Unreadable: there is none, and no default is given.
        """
        if name in self._node.attr:
            return value_of(self._node.attr[name])
        if default is NOTHING:
            raise Unreadable(f"it has no attribute {name!r}")
        return default

    @property
    def layout(self) -> str:
        """The place of the channels, in Dovetail's words."""
        name = self("data_format", "NHWC")
        if name not in LAYOUTS:
            raise Unreadable(f"the layout {name!r} is not known")
        return LAYOUTS[name]

    def spatial(self, name: str, default: Any = NOTHING) -> tuple[int, ...]:
        """The numbers of the spatial axes, from numbers of all axes; batch and channels must have 1."""
        values = [int(number) for number in self(name, default) or default]
        inside = slice(1, -1) if self.layout == "channels_last" else slice(2, None)
        found = tuple(values[inside])
        others = values[:1] + (values[-1:] if self.layout == "channels_last" else values[1:2])
        if others != [1, 1]:
            raise Unreadable(f"{name} {values} is not 1 for the batch and the channels")
        return found

    def padding(self) -> Any:
        """The padding of a window, in Dovetail's words."""
        name = self("padding")
        if name != "EXPLICIT":
            return name.lower()
        numbers = self("explicit_paddings")
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        return pairs[1:-1] if self.layout == "channels_last" else pairs[2:]


def _around(values: Sequence[int], layout: str) -> list[int]:
    return [1, *values, 1] if layout.endswith("C") else [1, 1, *values]


def _put_padding(node: Any, name: str, value: Any, layout: str) -> None:
    if isinstance(value, str):
        node.attr[name].s = value.upper().encode()
        return
    node.attr[name].s = b"EXPLICIT"
    pairs = [(0, 0), *value, (0, 0)] if layout.endswith("C") else [(0, 0), (0, 0), *value]
    node.attr["explicit_paddings"].list.i.extend(number for pair in pairs for number in pair)


Read = Callable[[Attributes, str], Any]  # (attributes, name of one) → a static value
Write = Callable[[Any, str, Any, str], None]  # (node, name of an attribute, static value, layout) → None


def _writer(converted: Callable[[Any, str], Any]) -> Write:
    return lambda node, name, value, layout: set_attribute(node.attr[name], converted(value, layout))


CONVERTERS: dict[str, tuple[Read, Write]] = {
    "": (lambda attrs, name: attrs(name), _writer(lambda value, layout: value)),
    "layout": (lambda attrs, name: attrs.layout, _writer(lambda value, layout: layout)),
    "spatial": (lambda attrs, name: attrs.spatial(name), _writer(_around)),
    "dilations": (lambda attrs, name: attrs.spatial(name, [1] * len(attrs("strides"))), _writer(_around)),
    "padding": (lambda attrs, name: attrs.padding(), _put_padding),
    "lower": (lambda attrs, name: attrs(name).lower(), _writer(lambda value, layout: value.upper())),
    "axes": (lambda attrs, name: attrs(name, []) or None, _writer(lambda value, layout: value or [])),
}


def set_attribute(attribute: Any, value: Any) -> None:
    """Set an attribute to a value of the kinds that `value_of` gives.

    Raises:
        Unreadable: TensorFlow has no attribute for such a value.
    """
    for kind, put in _PUT.items():
        if isinstance(value, kind):
            put(attribute, value)
            return
    if isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value):
        attribute.list.i.extend(value)
        attribute.list.SetInParent()
        return
    raise Unreadable(f"{value!r} is no value of an attribute")


_PUT: dict[Any, Callable[[Any, Any], None]] = {
    bool: lambda attribute, value: setattr(attribute, "b", value),
    int: lambda attribute, value: setattr(attribute, "i", value),
    float: lambda attribute, value: setattr(attribute, "f", value),
    DType: lambda attribute, value: setattr(attribute, "type", number_of(value)),
    str: lambda attribute, value: setattr(attribute, "s", value.encode()),
}


def constant_node(node: Any, array: Any) -> None:
    """Make a node a constant."""
    node.op = "Const"
    node.attr["dtype"].type = number_of(array.dtype)
    node.attr["value"].tensor.CopyFrom(tensor_proto(array))
