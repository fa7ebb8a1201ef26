"""The definitions of TensorFlow's ops, each a line of `op_defs.txt`: the one statement of what a type takes and gives.

    ExpandDims: input/T dim:axis/Tdim -> output/T; T type; Tdim type [il] = i

An input or a result has a dtype, fixed or of an attribute.  `*N` after it means N tensors, `...` a list of dtypes; `&`
before it means a reference.  After `:` stands the word of TensorFlow's function, if it is another one.  An attribute
has its kind, its least number, allowed values, and its default after `=`.  A letter is a dtype, as in `NAMES`.
`python -m tests.formats.tensorflow.op_defs` writes the file by TensorFlow's own registry.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.formats.nodes.kernels import LETTERS
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import NUMBERS

FILE = Path(__file__).parent / "op_defs.txt"
FLAGS = "is_commutative", "is_aggregate", "is_stateful", "allows_uninitialized_input", "is_distributed_communication"
OTHERS = {"qint8": "q", "quint8": "Q", "qint32": "x", "qint16": "w", "quint16": "W"}
OTHERS |= {"string": "S", "resource": "R", "variant": "V"}
NAMES = {letter: name for name, letter in (LETTERS | OTHERS).items()}  # letter → dtype
DTYPES = {  # dtype → TensorFlow's number
    **{name: NUMBERS[name] for name in LETTERS},
    **dict(zip(OTHERS, (11, 12, 13, 15, 16, 7, 20, 21), strict=True)),
}
FIELDS = {"int": "i", "float": "f", "bool": "b", "string": "s"}  # kind → the field of an `AttrValue`
NO_VALUES = ("string", "resource", "variant")  # dtypes that are no numbers
MISSING: Any = object()  # the default of an attribute that each node has
MOST = 1 << 16  # tensors of one input or result


class Arg(NamedTuple):
    """An input or a result of a type.

    Attributes:
        name: TensorFlow's.
        word: the parameter of TensorFlow's function of the type.
        dtype: the name of its dtype, or the attribute that says it.
        attribute: the attribute with its dtype, or with a list of dtypes; empty if the dtype is fixed.
        number: the attribute with the number of such tensors; empty for one tensor, or for a list of dtypes.
        is_list: whether there is a tensor for each dtype of a list.
        is_ref: whether it is a reference to a variable of TensorFlow 1.
    """

    name: str
    word: str
    dtype: str
    attribute: str
    number: str
    is_list: bool
    is_ref: bool

    @property
    def is_many(self) -> bool:
        """Whether there may be several such tensors."""
        return self.is_list or bool(self.number)

    def count(self, value: Callable[[str], Any]) -> int:
        """The number of such tensors of a node, by a function from the name of an attribute to its value."""
        if not self.is_many:
            return 1
        return min(len(value(self.attribute)) if self.is_list else value(self.number), MOST)

    def dtypes(self, value: Callable[[str], Any]) -> list[Any]:
        """The dtypes of such tensors of a node: the name of a fixed one, others as the attributes have them."""
        dtype = value(self.attribute) if self.attribute else self.dtype
        return list(dtype)[:MOST] if self.is_list else [dtype] * self.count(value)


class Attr(NamedTuple):
    """An attribute of a type: its name, word, kind, and least number, the values that it may have, and its default.

    A dtype is its name, and a shape of any rank None.  `least` and `allowed` are None if there is no limit.
    """

    name: str
    word: str
    kind: str
    least: int | None
    allowed: list[Any] | None
    default: Any


class OpDef(NamedTuple):
    """What a type takes and gives: its inputs, results, attributes by name, and flags."""

    type: str
    inputs: tuple[Arg, ...]
    results: tuple[Arg, ...]
    attrs: Mapping[str, Attr]
    flags: tuple[str, ...]

    @property
    def free(self) -> list[Attr]:
        """The attributes that the inputs do not say, those without a default first."""
        said = {name for one in self.inputs for name in (one.attribute, one.number)}
        return sorted(
            (one for one in self.attrs.values() if one.name not in said), key=lambda one: one.default is not MISSING
        )


@functools.cache
def _lines() -> Mapping[str, str]:
    """Type → the rest of its line."""
    return dict(line.split(": ", 1) for line in FILE.read_text().splitlines())


@functools.cache
def definition(type: str) -> OpDef | None:
    """What TensorFlow says of a type; None if no line has it.

    Source: TensorFlow's registry of ops.

    Example:
        >>> found = definition("BiasAdd")
        >>> [one.name for one in found.inputs], found.attrs["data_format"].default
        (['value', 'bias'], 'NHWC')
    """
    if type not in _lines():
        return None
    args, *texts = _lines()[type].split("; ")
    *texts, flags = texts if texts and texts[-1].startswith("!") else [*texts, "!"]
    attrs = {one.name: one for one in map(_attr, texts)}
    inputs, results = (tuple(_arg(one, attrs) for one in text.split()) for text in f" {args} ".split(" -> "))
    return OpDef(type, inputs, results, attrs, tuple(flags[1:].split()))


def types() -> Iterable[str]:
    """All types that have a definition."""
    return _lines().keys()


def _arg(text: str, attrs: Mapping[str, Attr]) -> Arg:
    name, _, dtype = text.partition("/")
    dtype, _, number = dtype.partition("*")
    name, _, word = name.partition(":")
    plain = dtype.removeprefix("&").removesuffix("...")
    return Arg(
        name, word or name, plain, plain if plain in attrs else "", number, dtype.endswith("..."), dtype.startswith("&")
    )


def _attr(text: str) -> Attr:
    text, _, default = text.partition(" = ")
    name, kind, *limits = text.split(" ")
    least = next((int(limit[2:]) for limit in limits if limit.startswith(">=")), None)
    one = kind.removeprefix("list(").removesuffix(")")
    allowed = next((_value(f"list({one})", limit) for limit in limits if limit.startswith("[")), None)
    name, _, word = name.partition(":")
    return Attr(name, word or name, kind, least, allowed, _value(kind, default) if default else MISSING)


def _value(kind: str, text: str) -> Any:
    """The value in a text: a dtype by its name, and None for a shape of any rank."""
    if kind == "list(type)":
        return [NAMES[letter] for letter in text[1:-1]]
    return NAMES[text] if kind == "type" else None if kind == "shape" else json.loads(text)


# -- as messages ------------------------------------------------------------------------------------------------------


@functools.cache
def op_def(type: str) -> Any:
    """The definition of a type as a message `OpDef`; None if no line has the type.

    Example:
        >>> found = op_def("BiasAdd")
        >>> [one.name for one in found.input_arg], found.attr[1].default_value.s
        (['value', 'bias'], b'NHWC')
    """
    known = definition(type)
    if known is None:
        return None
    made = TENSORFLOW.OpDef(name=type, **dict.fromkeys(known.flags, True))
    for field, args in ((made.input_arg, known.inputs), (made.output_arg, known.results)):
        field.extend(map(_arg_message, args))
    for one in known.attrs.values():
        attr = made.attr.add(name=one.name, type=one.kind)
        if one.least is not None:
            attr.has_minimum, attr.minimum = True, one.least
        if one.allowed is not None:
            _fill(attr.allowed_values.list, one.kind.removeprefix("list(").removesuffix(")"), one.allowed)
        if one.default is not MISSING and one.kind.startswith("list("):
            _fill(attr.default_value.list, one.kind[5:-1], one.default)
        elif one.default is not MISSING:
            _put(attr.default_value, one.kind, one.default)
    return made


def _arg_message(arg: Arg) -> Any:
    field = "type_list_attr" if arg.is_list else "type_attr"
    dtype = {field: arg.attribute} if arg.attribute else {"type": DTYPES[arg.dtype]}
    return TENSORFLOW.OpDef.ArgDef(name=arg.name, number_attr=arg.number, is_ref=arg.is_ref, **dtype)


def _put(message: Any, kind: str, value: Any) -> None:
    """Give an `AttrValue` a value of a kind."""
    if kind == "shape":
        message.shape.unknown_rank = True
    else:
        setattr(message, FIELDS.get(kind, kind), _plain(kind, value))


def _fill(message: Any, kind: str, values: Iterable[Any]) -> None:
    message.SetInParent()
    getattr(message, FIELDS.get(kind, kind)).extend(_plain(kind, value) for value in values)


def _plain(kind: str, value: Any) -> Any:
    return DTYPES[value] if kind == "type" else value.encode() if kind == "string" else value
