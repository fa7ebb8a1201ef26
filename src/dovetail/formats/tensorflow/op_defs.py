"""The definitions of TensorFlow's ops, each a line of `op_defs.txt` ↔ a message `OpDef`.

    ExpandDims: input/T dim/Tdim -> output/T; T type; Tdim type [il] = i

An input or a result has a dtype, fixed or of an attribute.  `*N` after it means N tensors, `...` a list of dtypes; `&`
before it means a reference.  An attribute has its kind, its least number, allowed values, and its default after `=`.
A letter is a dtype, as in `DTYPES`.
`python -m tests.formats.tensorflow.op_defs` writes the file by TensorFlow's own registry.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.formats.kernels import LETTERS
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import NUMBERS

FILE = Path(__file__).parent / "op_defs.txt"
FLAGS = "is_commutative", "is_aggregate", "is_stateful", "allows_uninitialized_input", "is_distributed_communication"
DTYPES = {  # letter or name → number
    **{letter: NUMBERS[name] for name, letter in LETTERS.items()},
    **{name: NUMBERS[name] for name in LETTERS},
    **dict(zip("qQxwWSRV", (11, 12, 13, 15, 16, 7, 20, 21), strict=True)),
    **dict(zip(("qint8", "quint8", "qint32", "string", "resource", "variant"), (11, 12, 13, 7, 20, 21), strict=True)),
}
_FIELDS = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}  # kind → the field with its value


@functools.cache
def _lines() -> Mapping[str, str]:
    """Type → the rest of its line."""
    return dict(line.split(": ", 1) for line in FILE.read_text().splitlines())


@functools.cache
def op_def(type: str) -> Any:
    """The definition of an op of TensorFlow, a message `OpDef`; None if no line has the type.

    Source: TensorFlow's registry of ops, without the descriptions.

    Example:
        >>> found = op_def("BiasAdd")
        >>> [one.name for one in found.input_arg], found.attr[1].default_value.s
        (['value', 'bias'], b'NHWC')
    """
    if type not in _lines():
        return None
    args, *attrs = _lines()[type].split("; ")
    *attrs, flags = attrs if attrs and attrs[-1].startswith("!") else [*attrs, "!"]
    found = TENSORFLOW.OpDef(name=type, attr=map(_attr, attrs), **dict.fromkeys(flags[1:].split(), True))
    names = {one.name for one in found.attr}
    for field, text in zip(("input_arg", "output_arg"), f" {args} ".split(" -> "), strict=True):
        getattr(found, field).extend(_arg(one, names) for one in text.split())
    return found


def _arg(text: str, attrs: set[str]) -> Any:
    name, _, dtype = text.partition("/")
    given = {"name": name, "is_ref": dtype.startswith("&")}
    dtype, _, number = dtype.removeprefix("&").partition("*")
    if dtype.endswith("..."):
        given["type_list_attr"] = dtype.removesuffix("...")
    elif dtype in attrs:
        given["type_attr"] = dtype
    else:
        given["type"] = DTYPES[dtype]
    return TENSORFLOW.OpDef.ArgDef(number_attr=number, **given)


def _attr(text: str) -> Any:
    text, _, default = text.partition(" = ")
    name, kind, *more = text.split(" ")
    found = TENSORFLOW.OpDef.AttrDef(name=name, type=kind)
    for limit in more:
        if limit.startswith(">="):
            found.has_minimum, found.minimum = True, int(limit[2:])
        else:
            _set_value(found.allowed_values, f"list({kind.removeprefix('list(').removesuffix(')')})", limit)
    if default:
        _set_value(found.default_value, kind, default)
    return found


def _set_value(message: Any, kind: str, text: str) -> None:
    """Give an `AttrValue` the value of a text."""
    if kind == "shape":
        message.shape.unknown_rank = True
    elif not kind.startswith("list("):
        setattr(message, _FIELDS[kind], _value(kind, text))
    else:
        kind = kind[5:-1]
        message.list.SetInParent()
        items = text[1:-1] if kind == "type" else json.loads(text)
        getattr(message.list, _FIELDS.get(kind, kind)).extend(
            _value(kind, item if kind == "type" else json.dumps(item)) for item in items
        )


def _value(kind: str, text: str) -> Any:
    if kind == "type":
        return DTYPES[text]
    found = json.loads(text)
    return found.encode() if kind == "string" else found
