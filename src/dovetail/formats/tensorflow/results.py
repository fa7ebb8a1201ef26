"""The results of nodes: their names, numbers, dtypes and shapes, as TensorFlow's definitions of the types say."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.attributes import Attributes, dtype_named
from dovetail.formats.tensorflow.op_defs import DTYPES, MISSING, Arg, definition
from dovetail.formats.tensorflow.table import SHAPES
from dovetail.formats.tensorflow.values import Spec
from dovetail.formats.wire.tensors import REFERENCE

UNKNOWN = 0  # the number of a dtype that nobody says
FLOWS = ("flow", "flow_out")  # results of TensorArrays that are lists here


def specs_of(type: str, attrs: Attributes, inputs: list[Any]) -> list[Spec]:
    """The specs of the results of a node, as far as its type, attributes and inputs say them.

    Raises:
        Unreadable: it lacks an attribute.
    """
    known: Any = definition(type)
    specs = []
    for number, arg in enumerate(known.results):
        text = SHAPES[type][number] if type in SHAPES else "-"
        for index, dtype in enumerate(arg.dtypes(attrs)):
            dtype = dtype_named(DTYPES[dtype]) if isinstance(dtype, str) and not arg.attribute else dtype
            specs.append(Spec(_shape(text, attrs, inputs, index), None if arg.name in FLOWS else dtype))
    return specs


def _shape(text: str, attrs: Attributes, inputs: list[Any], index: int) -> tuple[int | None, ...] | None:
    if text == "-":
        return None
    if text.startswith("="):
        number = int(text[1:])
        return shape_like(inputs[number]) if number < len(inputs) else None
    dims: list[int | None] = []
    for word in filter(None, text[1:-1].split(",")):
        if not word.isidentifier():
            dims.append(None if word == "?" else int(word))
        elif isinstance(said := attrs(word), int):
            dims.append(said or None)
        elif said[index] is None:
            return None
        else:
            dims += said[index]
    return tuple(dims)


def shape_like(value: Any) -> tuple[int | None, ...] | None:
    """The shape of a value that is known while a graph is read."""
    return getattr(getattr(value, "spec", value), "shape", None)


def first_number(proto: Any, output: str) -> int:
    """The number of the first result of a node with a name, as functions write `node:output:0`.

    Args:
        proto: the node's message.
        output: the name.
    """
    known, at = definition(proto.op), 0
    with suppress(Unreadable):  # an attribute is missing
        for arg in () if known is None else known.results:
            if arg.name == output:
                return at
            at += arg.count(Attributes(proto))
    return 0


def result_name(proto: Any, number: int) -> str:
    """The name of a result of a node, and its number among those of the name, as functions write it.

    Args:
        proto: the node's message.
        number: of the result among all.
    """
    known = definition(proto.op)
    results = () if known is None else known.results
    if len(results) == 1:
        return f"{results[0].name}:{number}"
    for arg in results:
        count = arg.count(Attributes(proto))
        if number < count:
            return f"{arg.name}:{number}"
        number -= count
    return f"output:{number}"


def numbers_of(proto: Any, args: Sequence[Arg]) -> list[int] | None:
    """The numbers of the dtypes of a node's inputs or results; 0 for one that nobody says.

    Args:
        proto: the node's message.
        args: the inputs or the results of its type.

    Returns:
        None if the node does not say how many there are.
    """
    known: Any = definition(proto.op)
    counting = [arg.attribute if arg.is_list else arg.number for arg in args if arg.is_many]
    if any(name not in proto.attr for name in counting):
        return None

    def value(name: str) -> Any:
        given, one = proto.attr, known.attrs[name]
        if name not in given:
            return UNKNOWN if one.default is MISSING else DTYPES[one.default]
        attribute = given[name]
        return attribute.i if one.kind == "int" else attribute.type if one.kind == "type" else attribute.list.type

    return [DTYPES.get(dtype, dtype) % REFERENCE for arg in args for dtype in arg.dtypes(value)]
