"""Attributes: the static arguments of operations as data that JSON holds, and back.

Documents, pickles, copies and the keys of measurements use it: data that other processes read.  Within a process,
caches and passes compare values by `core.values.signature.static_key`, which makes no copies.

None, bools, strings, ints and finite floats stay as they are, and a tuple is a JSON list.  Another value is an object
of one pair, the name of its kind and its data: `{"dtype": "float32"}`.  Arrays, variables and eager tensors are kept in
tables beside the document, under keys; no two tables have the same key.  Graphs and compiled functions are parts of
the document: each is written once, and its places have its number.  A function of Dovetail's own is written as its
name, see `named`.  A named tuple or dataclass is written as its fields.  Anything else, such as a function of the
program, is refused; if the document is to be pickled, it is kept beside the document, too.
"""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.dimension import Dimension
from dovetail.core.base.errors import describe
from dovetail.core.base.hooks import hooks
from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import fields_of, of_fields
from dovetail.core.values.value_kinds import followed
from dovetail.core.values.variable import Variable


class Refused(TypeError):
    """An error: no document can hold a value, for the reason that the message gives."""


@dataclass
class Beside:
    """The values that a document refers to by keys.

    Attributes:
        arrays: constants, as NumPy arrays.
        variables: under keys made of their names.
        tensors: eager tensors that a graph closes over.
        objects: any other values, if `keeps_objects`.
        keeps_objects: whether subgraphs and Python's own objects are kept here; else a subgraph is a document in the
            document, and other objects are refused.
        parts: the data of graphs and compiled functions, which may stand at several places.
        classes: by name, the named tuples and dataclasses that a document is read with; others become ordered dicts.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    keeps_objects: bool = False
    parts: list[Any] = field(default_factory=list)
    classes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._written: dict[int, tuple[int, Any]] = {}  # id → the number of a part, and the value, which so stays alive
        self._read: dict[int, Any] = {}  # the values of parts, by number
        self._is_inside = False  # whether the operations of a graph are written or read
        self._tables = (self.arrays, self.variables, self.tensors, self.objects)
        self._keys = {id(value): key for table in self._tables for key, value in table.items()}
        self._numbered: dict[str, Iterator[str]] = {}  # name → the keys that begin with it and are not tried yet

    def __reduce__(self) -> Any:
        return Beside, (self.arrays, self.variables, self.tensors, self.objects, self.keeps_objects)

    def key(self, table: dict[str, Any], value: Any, name: str) -> str:
        """Find the key of a value in a table, and put the value there if it is missing.

        Args:
            table: a table of this object.
            value: found by identity.
            name: the beginning of a new key.
        """
        chosen = self._keys.get(id(value))
        if chosen is None:
            numbered = self._numbered.setdefault(name, _numbered(name))
            chosen = next(key for key in numbered if not any(key in table for table in self._tables))
            table[chosen] = value
            self._keys[id(value)] = chosen
        return chosen

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Write or read the operations of a graph in the block: there, subgraphs are no parts, but stand inline."""
        before, self._is_inside = self._is_inside, True
        try:
            yield
        finally:
            self._is_inside = before

    def written(self, form: Form, value: Any) -> Any:
        """The data of a value by its form: its number, if it is a part."""
        if not form.is_part or self._is_inside or self.keeps_objects:
            return {form.kind: form.encode(value, self)}
        if id(value) not in self._written:
            number = len(self.parts)
            self._written[id(value)] = number, value
            self.parts.append(None)
            self.parts[number] = {form.kind: form.encode(value, self)}
        return {PART: self._written[id(value)][0]}

    def part(self, number: Any) -> Any:
        """The value of a part.

        Raises:
            ValueError: there is no such part, it is of another kind, or it holds itself.
        """
        if type(number) is not int or not 0 <= number < len(self.parts) or self._is_inside:
            raise ValueError(f"there is no part {number!r} here")
        data = self.parts[number]
        if type(data) is not dict or not all(_is_known(kind, PARTS) for kind in data):
            raise ValueError(f"the part {number} is none of {', '.join(sorted(PARTS))}")
        if number not in self._read:
            self._read[number] = _BEGUN
            self._read[number] = decode(data, self)
        if self._read[number] is _BEGUN:
            raise ValueError(f"the part {number} holds itself")
        return self._read[number]


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1


class Form(NamedTuple):
    """The way values of a type are written and read.

    Attributes:
        kind: the name in the document.
        encode: (value, tables) → data.
        decode: (data, tables) → value.
        is_part: whether a value that stands at several places is one value there.
    """

    kind: str
    encode: Callable[[Any, Beside], Any]
    decode: Callable[[Any, Beside], Any]
    is_part: bool = False


def encode(value: Any, beside: Beside) -> Any:
    """Encode a value as data that JSON holds.

    Raises:
        Refused: the value cannot be written.

    Example:
        >>> encode((1, None, as_dtype("float32"), float("inf")), Beside())
        [1, None, {'dtype': 'float32'}, {'float': 'inf'}]
    """
    kind = type(value)
    if kind is FunctionType and value in _names:
        return {FUNCTION: _names[value]}
    if kind in PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is Dimension:
        return int(value)
    if kind is tuple:
        return [encode(item, beside) for item in value]
    if (form := _form_of(kind)) is not None:
        return beside.written(form, value)
    if (variable := followed(value)) is not value:
        return encode(variable, beside)
    if beside.keeps_objects:
        return {OBJECT: beside.key(beside.objects, value, "object")}
    if (fields := fields_of(value)) is not None:
        return {FIELDS: [kind.__name__, [[name, encode(part, beside)] for name, part in fields.items()]]}
    raise Refused(f"{describe(value)} is not a number, string, dtype, shape, array, variable or graph")


def decode(data: Any, beside: Beside) -> Any:
    """Decode data that `encode` made.

    Raises:
        ValueError: the data is not of this form.

    Example:
        >>> decode([1, None, {"dtype": "float32"}, {"float": "inf"}], Beside())
        (1, None, 'float32', inf)
    """
    if isinstance(data, list):
        return tuple([decode(item, beside) for item in data])
    if not isinstance(data, dict):
        return data
    if len(data) != 1 or not _is_known(kind := next(iter(data)), DECODERS):
        raise ValueError(f"{data!r} is not an encoded attribute: its kind is unknown.")
    try:
        return DECODERS[kind](data[kind], beside)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{data!r} is not an encoded attribute: {type(error).__name__}: {error}.") from None


# -- the forms --------------------------------------------------------------------------------------------------------

OBJECT, FUNCTION, PART, FIELDS = "object", "function", "part", "fields"
PLAIN = frozenset([type(None), bool, int, str])


def _items(make: Callable[[Iterable[Any]], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of a collection; items without order are sorted."""

    def encode_items(value: Any, beside: Beside) -> Any:
        items = [encode(item, beside) for item in value]
        return sorted(items, key=repr) if make is frozenset else items

    return encode_items, lambda data, beside: make([decode(item, beside) for item in data])


def _pairs(make: Callable[[Iterable[Any]], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of a dict, as pairs in order."""
    return (
        lambda value, beside: [[encode(key, beside), encode(item, beside)] for key, item in value.items()],
        lambda data, beside: make((decode(key, beside), decode(item, beside)) for key, item in data),
    )


def _spec_data(value: TensorSpec, beside: Beside) -> Any:
    name = [] if value.name is None else [value.name]
    return [value.dtype, None if value.shape is None else list(value.shape), *name]


def _spec(data: Any, beside: Beside) -> TensorSpec:
    dtype, shape, name = data if len(data) == 3 else (*data, None)
    if name is not None and type(name) is not str:
        raise ValueError(f"a spec has a name, not {describe(name)}")
    return TensorSpec(None if shape is None else tuple(shape), as_dtype(dtype), name)


def _in_table(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of values that are kept in the table of this name."""

    def encode_key(value: Any, beside: Beside) -> str:
        return beside.key(getattr(beside, name), value, getattr(value, "op_name", None) or name[:-1])

    return encode_key, lambda data, beside: getattr(beside, name)[data]


def _of_fields(data: Any, beside: Beside) -> Any:
    """A value of the class that was given by this name; else an ordered dict, whose leaves are in the same order."""
    name, pairs = data
    fields = OrderedDict((key, decode(item, beside)) for key, item in pairs)
    kind = beside.classes.get(name)
    return fields if kind is None else of_fields(kind, fields)


def _scalar(data: Any, beside: Beside) -> Any:
    dtype, bits = data
    return np.frombuffer(base64.b64decode(bits), as_dtype(dtype).numpy)[0]


FORMS: dict[type, Form] = {
    DType: Form("dtype", lambda value, _: str(value), lambda data, _: as_dtype(data)),
    float: Form("float", lambda value, _: repr(value), lambda data, _: float(data)),
    complex: Form("complex", lambda value, _: repr(value), lambda data, _: complex(data)),
    bytes: Form("bytes", lambda value, _: base64.b64encode(value).decode(), lambda data, _: base64.b64decode(data)),
    np.generic: Form(
        "scalar",
        lambda value, _: [as_dtype(value.dtype), base64.b64encode(value.tobytes()).decode()],
        _scalar,
    ),
    list: Form("list", *_items(list)),
    frozenset: Form("set", *_items(frozenset)),
    OrderedDict: Form("ordered", *_pairs(OrderedDict)),
    dict: Form("dict", *_pairs(dict)),
    TensorSpec: Form("spec", _spec_data, _spec),
    slice: Form(
        "slice",
        lambda value, beside: [encode(part, beside) for part in (value.start, value.stop, value.step)],
        lambda data, beside: slice(*(decode(part, beside) for part in data)),
    ),
    type(...): Form("ellipsis", lambda value, _: None, lambda data, _: ...),
    np.ndarray: Form("array", *_in_table("arrays")),
    Variable: Form("variable", *_in_table("variables")),
    Tensor: Form("tensor", *_in_table("tensors")),
}
DECODERS: dict[str, Callable[[Any, Beside], Any]] = {form.kind: form.decode for form in FORMS.values()}
DECODERS[OBJECT] = lambda data, beside: beside.objects[data]
DECODERS[FUNCTION] = lambda data, beside: _functions[data]
DECODERS[PART] = lambda data, beside: beside.part(data)
DECODERS[FIELDS] = _of_fields
PARTS: set[str] = set()  # the kinds of parts
_BEGUN = object()  # stands for a part while it is read
_functions: dict[str, FunctionType] = {}
_names: dict[FunctionType, str] = {}


def register(kind: type, form: Form) -> None:
    """Add the form of a type that a higher module defines."""
    FORMS[kind], DECODERS[form.kind] = form, form.decode
    if form.is_part:
        PARTS.add(form.kind)


def _form_of(kind: type) -> Form | None:
    """The form of a type.  For a type of ours without one, the modules are imported that register kinds."""
    form = next((FORMS[base] for base in kind.__mro__ if base in FORMS), None)
    if form is None and any(base.__module__.startswith("dovetail.") for base in kind.__mro__):
        hooks.forms()
        form = next((FORMS[base] for base in kind.__mro__ if base in FORMS), None)
    return form


def _is_known(kind: str, kinds: Container[str]) -> bool:
    """Whether a kind is registered, or is so once the modules are imported that register kinds."""
    if kind not in kinds:
        hooks.forms()
    return kind in kinds


def named(name: str) -> Callable[[Any], Any]:
    """Decorate a function with a name, under which documents hold it."""

    def register_function(function: Any) -> Any:
        _functions[name], _names[function] = function, name
        return function

    return register_function
