"""Attributes of nodes: `AttrValue` → Python, and the converters that rows name, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.dtypes import DType, as_dtype
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.op_defs import DTYPES as NUMBERS
from dovetail.formats.tensorflow.op_defs import MISSING, Attr, definition
from dovetail.formats.wire.tensors import DTYPES, REFERENCE, array_of, number_of, shape_of, shape_proto, tensor_proto

LAYOUTS = {"NHWC": "channels_last", "NCHW": "channels_first", "NDHWC": "channels_last", "NCDHW": "channels_first"}


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
    numpy_dtype = DTYPES.get(number % REFERENCE)
    try:
        return None if numpy_dtype is None or numpy_dtype.hasobject else as_dtype(numpy_dtype.name)
    except TypeError:
        return None


def default_of(attr: Attr) -> Any:
    """The default of an attribute, as `value_of` gives values; `MISSING` if it has none.

    Example:
        >>> [default_of(definition("MaxPool").attrs[name]) for name in ("T", "data_format")]
        ['float32', 'NHWC']
    """
    if attr.default is MISSING or not attr.kind.endswith(("type", "type)")):
        return attr.default
    return list(map(_named, attr.default)) if attr.kind == "list(type)" else _named(attr.default)


def _named(name: str) -> DType | None:
    return dtype_named(NUMBERS[name])


FIELDS = {"string": "s", "int": "i", "float": "f", "bool": "b"}  # TensorFlow's words → names of fields, if not the same


def _is_of_kind(attribute: Any, kind: str) -> bool:
    """Whether the message of an attribute has a value of the kind that a definition says, such as "list(int)"."""
    given, (outer, is_list, inner) = attribute.WhichOneof("value"), kind.rstrip(")").partition("(")
    if not is_list:
        return bool(given == FIELDS.get(outer, outer))
    return given == "list" and all(field.name == FIELDS.get(inner, inner) for field, _ in attribute.list.ListFields())


class Attributes:
    """The attributes of a node, by name.

    Args:
        node: the message `NodeDef`.
    """

    def __init__(self, node: Any) -> None:
        self._node = node

    def __contains__(self, name: str) -> bool:
        return name in self._node.attr

    def __call__(self, name: str, default: Any = MISSING, kind: Any = object) -> Any:
        """The value of an attribute; a node may leave out one that has TensorFlow's default.

        Args:
            name: its name.
            default: for a node without it, if TensorFlow has no default.
            kind: the class or the classes of its values.

        Raises:
            Unreadable: there is none, and no default; or it is of another kind, also than TensorFlow says.
        """
        known = definition(self._node.op)
        theirs = known.attrs.get(name) if known is not None else None
        if name not in self._node.attr:
            default = default if theirs is None or theirs.default is MISSING else default_of(theirs)
            if default is MISSING:
                raise Unreadable(f"it has no attribute {name!r}")
            return default
        if theirs is not None:
            self.check(theirs)
        value = self.given(name)
        if not isinstance(value, kind):
            raise Unreadable(f"its attribute {name!r} is {value!r}")
        return value

    def check(self, theirs: Attr) -> None:
        """Check the value of an attribute that the node has.

        Raises:
            Unreadable: it is of another kind than TensorFlow's definition says, or a word that this does not allow.
        """
        value = self._node.attr[theirs.name]
        if not _is_of_kind(value, theirs.kind):
            raise Unreadable(f"its attribute {theirs.name!r} is no {theirs.kind}")
        word = _plain("s", value.s)
        if theirs.kind == "string" and theirs.allowed and word not in theirs.allowed:
            raise Unreadable(f"its attribute {theirs.name!r} is {word!r}, not one of {theirs.allowed}")

    def given(self, name: str) -> Any:
        """The value of an attribute that the node has."""
        return value_of(self._node.attr[name])

    @property
    def layout(self) -> str:
        """The place of the channels, in Dovetail's words."""
        name = self("data_format", "NHWC")
        if name not in LAYOUTS:
            raise Unreadable(f"the layout {name!r} is not known")
        return LAYOUTS[name]

    def spatial(self, name: str, default: Any = MISSING) -> tuple[int, ...]:
        """The numbers of the spatial axes, from numbers of all axes; batch and channels must have 1."""
        values = [int(number) for number in self(name, default) or default]
        inside = slice(1, -1) if self.layout == "channels_last" else slice(2, None)
        inner = tuple(values[inside])
        others = values[:1] + (values[-1:] if self.layout == "channels_last" else values[1:2])
        if others != [1, 1]:
            raise Unreadable(f"{name} {values} is not 1 for the batch and the channels")
        return inner

    def padding(self) -> Any:
        """The padding of a window, in Dovetail's words."""
        name = self("padding", kind=str)
        numbers = self("explicit_paddings", [])
        if (name == "EXPLICIT") != bool(numbers):
            raise Unreadable(f"explicit_paddings is {numbers}, and padding is {name}")
        if not numbers:
            return name.lower()
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        others = pairs[:1] + (pairs[-1:] if self.layout == "channels_last" else pairs[1:2])
        if others != [(0, 0), (0, 0)]:
            raise Unreadable(f"explicit_paddings {numbers} is not 0 for the batch and the channels")
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


def _as_list(value: Any, layout: str) -> list[int]:
    return [value] if isinstance(value, int) else list(value or ())


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
    "lower": (lambda attrs, name: attrs(name, kind=str).lower(), _writer(lambda value, layout: value.upper())),
    "shape": (lambda attrs, name: attrs(name), _writer(lambda value, layout: shape_proto(value))),
    "complete": (
        lambda attrs, name: "complete" if attrs(name) else "reduced",
        _writer(lambda value, layout: value == "complete"),
    ),
    "axes": (lambda attrs, name: attrs(name, []) or None, _writer(_as_list)),
}


def set_attribute(attribute: Any, value: Any) -> None:
    """Set an attribute to a value of the kinds that `value_of` gives, a message of a shape or a function, or a list.

    Raises:
        Unreadable: TensorFlow has no attribute for such a value.
    """
    if isinstance(value, (list, tuple)):
        attribute.list.SetInParent()
        for item in value:
            field, plain = _field(item)
            getattr(attribute.list, field).append(plain)
        return
    field, plain = _field(value)
    if field in _MESSAGES.values():
        getattr(attribute, field).CopyFrom(plain)
    else:
        setattr(attribute, field, plain)


def _field(value: Any) -> tuple[str, Any]:
    """The field of an attribute that holds a value, and the value as it stands there."""
    for kind, (field, plain) in _FIELDS.items():
        if isinstance(value, kind):
            return field, plain(value)
    name = getattr(getattr(value, "DESCRIPTOR", None), "name", "")
    if name not in _MESSAGES:
        raise Unreadable(f"{value!r} is no value of an attribute")
    return _MESSAGES[name], value


_MESSAGES = {"TensorShapeProto": "shape", "NameAttrList": "func"}  # the message's name → the field that holds it
_FIELDS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bool: ("b", bool),
    int: ("i", int),
    float: ("f", float),
    DType: ("type", number_of),
    str: ("s", str.encode),
}


def constant_node(node: Any, array: Any) -> None:
    """Make a node a constant."""
    node.op = "Const"
    node.attr["dtype"].type = number_of(array.dtype)
    node.attr["value"].tensor.CopyFrom(tensor_proto(array))
