"""Attributes: the static arguments of operations as data that JSON holds, and back.

Documents, pickles, copies and the keys of measurements use it: data that other processes read.  Within a process,
caches and passes compare values by `core.signature.static_key`, which makes no copies.

None, bools, strings, ints and finite floats stay as they are, and a tuple is a JSON list.  Another value is an object
of one pair, the name of its kind and its data: `{"dtype": "float32"}`.  Arrays, variables and eager tensors are kept in
tables beside the document, under keys; no two tables have the same key.  A function of Dovetail's own is written as its
name, see `named`.  Anything else, such as a function of the program, is refused; if the document is to be pickled, it
is kept beside the document, too.
"""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.errors import describe
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.core.variable import Variable


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
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    keeps_objects: bool = False

    def __post_init__(self) -> None:
        self._tables = (self.arrays, self.variables, self.tensors, self.objects)
        self._keys = {id(value): key for table in self._tables for key, value in table.items()}

    def __reduce__(self) -> Any:
        return Beside, (self.arrays, self.variables, self.tensors, self.objects, self.keeps_objects)

    def key(self, table: dict[str, Any], value: Any, name: str) -> str:
        """Find the key of a value in a table, and put the value there if it is missing.

        Args:
            table: a table of this object.
            value: found by identity.
            name: the beginning of a new key.
        """
        found = self._keys.get(id(value))
        if found is None:
            found = next(key for key in _numbered(name) if not any(key in table for table in self._tables))
            table[found] = value
            self._keys[id(value)] = found
        return found


def _numbered(name: str) -> Iterable[str]:
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
    """

    kind: str
    encode: Callable[[Any, Beside], Any]
    decode: Callable[[Any, Beside], Any]


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
    if kind is tuple:
        return [encode(item, beside) for item in value]
    form = FORMS.get(kind) or next((form for base, form in FORMS.items() if isinstance(value, base)), None)
    if form is not None:
        return {form.kind: form.encode(value, beside)}
    if beside.keeps_objects:
        return {OBJECT: beside.key(beside.objects, value, "object")}
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
    if len(data) != 1 or (kind := next(iter(data))) not in DECODERS:
        raise ValueError(f"{data!r} is not an encoded attribute: its kind is unknown.")
    try:
        return DECODERS[kind](data[kind], beside)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{data!r} is not an encoded attribute: {type(error).__name__}: {error}.") from None


# -- the forms --------------------------------------------------------------------------------------------------------

OBJECT, FUNCTION = "object", "function"
PLAIN = frozenset([type(None), bool, int, str])


def _items(make: Callable[[Iterable[Any]], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of a collection; items without order are sorted."""

    def encode_items(value: Any, beside: Beside) -> Any:
        found = [encode(item, beside) for item in value]
        return sorted(found, key=repr) if make is frozenset else found

    return encode_items, lambda data, beside: make([decode(item, beside) for item in data])


def _pairs(make: Callable[[Iterable[Any]], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of a dict, as pairs in order."""
    return (
        lambda value, beside: [[encode(key, beside), encode(item, beside)] for key, item in value.items()],
        lambda data, beside: make((decode(key, beside), decode(item, beside)) for key, item in data),
    )


def _spec_data(value: TensorSpec, beside: Beside) -> Any:
    return [value.dtype, None if value.shape is None else list(value.shape)]


def _spec(data: Any, beside: Beside) -> TensorSpec:
    dtype, shape = data
    return TensorSpec(None if shape is None else tuple(shape), as_dtype(dtype))


def _in_table(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The encoder and the decoder of values that are kept in the table of this name."""

    def encode_key(value: Any, beside: Beside) -> str:
        return beside.key(getattr(beside, name), value, getattr(value, "op_name", None) or name[:-1])

    return encode_key, lambda data, beside: getattr(beside, name)[data]


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
    np.ndarray: Form("array", *_in_table("arrays")),
    Variable: Form("variable", *_in_table("variables")),
    Tensor: Form("tensor", *_in_table("tensors")),
}
DECODERS: dict[str, Callable[[Any, Beside], Any]] = {form.kind: form.decode for form in FORMS.values()}
DECODERS[OBJECT] = lambda data, beside: beside.objects[data]
DECODERS[FUNCTION] = lambda data, beside: _functions[data]
_functions: dict[str, FunctionType] = {}
_names: dict[FunctionType, str] = {}


def register(kind: type, form: Form) -> None:
    """Add the form of a type that a higher module defines."""
    FORMS[kind], DECODERS[form.kind] = form, form.decode


def named(name: str) -> Callable[[Any], Any]:
    """Decorate a function with a name, under which documents hold it."""

    def register_function(function: Any) -> Any:
        _functions[name], _names[function] = function, name
        return function

    return register_function
