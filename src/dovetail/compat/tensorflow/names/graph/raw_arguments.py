"""Arguments of TensorFlow's types: attributes and inputs, checked and converted as the definition of a type says."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.tensors import joined
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.core.base.errors import describe
from dovetail.core.base.tensor_shape import given_shape
from dovetail.core.dtypes import as_dtype, is_of_strings
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.core.values.variable import Variable
from dovetail.formats.tensorflow.attributes import default_of
from dovetail.formats.tensorflow.op_defs import MISSING, NO_VALUES, Arg, Attr, OpDef
from dovetail.formats.tensorflow.values import Handle
from dovetail.ops.shapes.shape import shaped

# -- attributes -------------------------------------------------------------------------------------------------------


def _dtype(given: Any) -> Any:
    return None if is_of_strings(given) else as_dtype(given)


def _shape(given: Any) -> Any:
    shape = given_shape(given)
    return None if shape.rank is None else tuple(shape)


def _truth(given: Any) -> bool:
    if not isinstance(given, (bool, np.bool_)):
        raise TypeError
    return bool(given)


def _number(given: Any) -> float:
    if isinstance(given, (str, bytes)):
        raise TypeError
    return float(given)


def _word(given: Any) -> str:
    if not isinstance(given, (str, bytes)):
        raise TypeError
    return given.decode() if isinstance(given, bytes) else given


HELD_BY = {"i": "iufc", "u": "iufc", "f": "fc"}  # kind of numbers → kinds of dtypes that hold them
# kind of an attribute → what it is, and a function of the value that a program gives
KINDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "int": ("an int", operator.index),
    "float": ("a number", _number),
    "bool": ("a bool", _truth),
    "string": ("a str", _word),
    "type": ("a dtype", _dtype),
    "shape": ("a shape", _shape),
}


def attributes_of(known: OpDef, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node by name, with their defaults, from the arguments of a call.

    Raises:
        TypeError: one is of another kind.
        ValueError: one has a value that the type does not take.
    """
    return {one.name: _attribute(one, given[one.word]) if one.word in given else default_of(one) for one in known.free}


def _attribute(one: Attr, given: Any) -> Any:
    is_list, kind = one.kind.startswith("list("), one.kind.removeprefix("list(").removesuffix(")")
    if kind not in KINDS:
        raise NotImplementedError(f"{one.word} is a {kind}, which only graphs of files have.")
    what, convert = KINDS[kind]
    try:
        if is_list and isinstance(given, (str, bytes)):
            raise TypeError
        attribute: Any = [convert(item) for item in given] if is_list else convert(given)
    except (TypeError, ValueError):
        needed = f"a list, each {what}" if is_list else what
        raise TypeError(f"{one.word} is {describe(given)}; it must be {needed}.") from None
    size = len(attribute) if is_list else attribute
    if one.least is not None and size < one.least:
        raise ValueError(f"{one.word} is {given}; it needs at least {one.least}{' values' * is_list}.")
    others = [item for item in (attribute if is_list else [attribute]) if not _is_allowed(item, one)]
    if others:
        raise ValueError(
            f"{one.word} is {others[0] or STRING!r}; it must be one of {', '.join(map(str, one.allowed or ()))}."
        )
    return attribute


def _is_allowed(value: Any, one: Attr) -> bool:
    return one.allowed is None or ("string" if value is None else value) in one.allowed


# -- inputs -----------------------------------------------------------------------------------------------------------


def inputs_of(known: OpDef, given: Mapping[str, Any], attrs: dict[str, Any]) -> list[Any]:
    """The inputs of a node, one behind the other; the attributes that they say are added to `attrs`.

    Raises:
        TypeError: one is of a dtype that the type does not take, or that does not match another one.
    """
    values: dict[str, list[Any]] = {}
    for arg in known.inputs:
        value = given[arg.word]
        if arg.is_many and not isinstance(value, (list, tuple)):
            raise TypeError(f"{arg.word} is {describe(value)}; it must be a list of tensors.")
        values[arg.name] = list(value) if arg.is_many else [value]
        if arg.number and attrs.setdefault(arg.number, len(value)) != len(value):
            raise ValueError(f"{arg.word} has {len(value)} tensors; it needs {attrs[arg.number]}.")
        least = known.attrs[arg.number or arg.attribute].least if arg.is_many else None
        if least is not None and len(value) < least:
            raise ValueError(f"{arg.word} has {len(value)} tensors; it needs at least {least}.")
    for arg in known.inputs:
        if arg.is_list:
            pairs = [_converted(arg, one, None) for one in values[arg.name]]
            values[arg.name] = [value for value, _ in pairs]
            attrs[arg.attribute] = [dtype for _, dtype in pairs]
    for name in dict.fromkeys(arg.attribute for arg in known.inputs if arg.attribute and not arg.is_list):
        attrs[name] = _common(known, name, values)
    for arg in known.inputs:
        if not arg.is_list:
            dtype = attrs[arg.attribute] if arg.attribute else None if arg.dtype in NO_VALUES else as_dtype(arg.dtype)
            values[arg.name] = [_in_dtype(arg, one, dtype) for one in values[arg.name]]
    return [value for arg in known.inputs for value in values[arg.name]]


def _common(known: OpDef, name: str, values: Mapping[str, list[Any]]) -> Any:
    """The dtype that some inputs have: of the first tensor among them, else of the first value; None for strings."""
    pairs = [(arg, one) for arg in known.inputs if arg.attribute == name for one in values[arg.name]]
    if not pairs:
        return default_of(known.attrs[name])
    arg, first = next(((arg, one) for arg, one in pairs if is_tensor(one) or isinstance(one, Variable)), pairs[0])
    dtype, attr = _converted(arg, first, None)[1], known.attrs[name]
    if _is_allowed(dtype, attr):
        return dtype
    if attr.default is not MISSING and not is_tensor(first):
        return default_of(attr)
    raise TypeError(f"{arg.word} is of {dtype or STRING!r}; it must be one of {', '.join(attr.allowed or ())}.")


def _in_dtype(arg: Arg, value: Any, dtype: Any) -> Any:
    """A value as an input of a dtype; None for strings, and for values that are no tensors."""
    if arg.is_ref or arg.dtype == "resource":
        return Handle(value, is_reference=arg.is_ref) if isinstance(value, Variable) else value
    if arg.dtype == "variant" or not (is_tensor(value) or is_text(value) or _is_plain(value)):
        return value
    found, made = _converted(arg, value, dtype)
    if made and dtype and isinstance(value, (list, tuple)) and any(map(is_tensor, _flat(value))):
        found, made = ops.cast(found, dtype), dtype  # TensorFlow casts the numbers that it stacks
    if made != dtype:
        needed = f"it must be of {dtype or STRING!r}"
        raise TypeError(
            f"{arg.word} is of {made or STRING!r}; {needed}{', as the other tensors are' * bool(arg.attribute)}."
        )
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, list, tuple, np.ndarray, np.generic, Variable))


def _converted(arg: Arg, value: Any, dtype: Any) -> tuple[Any, Any]:
    """A value as a tensor, of a dtype if one is given that holds such numbers, and its dtype, None for strings."""
    if isinstance(value, Variable) and not arg.is_ref:
        value = value.read()
    if is_text(value) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return text(joined(value)), None
    if not is_tensor(value) and not isinstance(value, Variable):
        array = None if any(map(is_tensor, _flat(value))) else np.asarray(value)
        if array is not None and dtype is not None and _holds(dtype, array):
            return ops.convert(array, dtype), dtype
        value = shaped(value)
    return value, as_dtype(dtype_of(value))


def _holds(dtype: Any, array: np.ndarray) -> bool:
    """Whether a dtype holds the kind of an array's numbers: integers become floats, and floats no integers."""
    kind = "f" if dtype.is_floating else dtype.numpy.kind
    return not array.size or kind in HELD_BY.get(array.dtype.kind, array.dtype.kind)


def _flat(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, (list, tuple)) else [value]:
        yield from _flat(item) if isinstance(item, (list, tuple)) else [item]
