"""Static types: the values that a parameter other than a tensor takes, by its annotation, and their form in operations.

    axis: int
    size: int | Sequence[int]
    mode: Literal["full", "reduced"]
    rate: Annotated[float, within(0, 1)]
    dtype: DTypeLike | None

Each value has one form: a NumPy integer becomes an int, a list a tuple, the name of a dtype the dtype.  -0.0 and
NaN stay as they are.  NumPy takes True for 1, so it becomes 1 where numbers are needed.
"""

from __future__ import annotations

import numbers
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np

from dovetail.core.base.domains import Domain
from dovetail.core.base.errors import describe
from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.values.value_kinds import is_tensor, kind_of, seen
from dovetail.core.values.variable import STATE

REFUSED = object()
_is_refused = partial(operator.is_, REFUSED)


@dataclass(frozen=True)
class StaticType:
    """A type of static values.

    Attributes:
        name: "int", "ints", "dtype".
        words: its name in messages: "an int".
        plain: Python types whose values all have the right form.
        normalize: (any value) → the value in the form of operations; REFUSED if it is not of the type.
    """

    name: str
    words: str
    plain: frozenset[type]
    normalize: Callable[[Any], Any]


@dataclass(frozen=True)
class Static:
    """The static types and the domain in the annotation of a parameter.

    Attributes:
        types: the first type that takes a value decides its form; none if any value is taken.
        domain: the range of the numbers.
        plain: exact types of values that need no check.
    """

    types: tuple[StaticType, ...] = ()
    domain: Domain | None = None

    @property
    def plain(self) -> frozenset[type]:
        return frozenset() if self.domain else frozenset().union(*(t.plain for t in self.types))

    def normalize(self, name: str, value: Any) -> Any:
        """Convert a value to the form in which operations hold it.

        Args:
            name: the parameter.
            value: its argument.

        Raises:
            TypeError: the value is of another type, or names no dtype.
            ValueError: it is an unknown word, or a number outside of the domain.

        Example:
            >>> static_of(int | Sequence[int]).normalize("axis", [np.int64(1), True])
            (1, 1)
        """
        try:
            normal = self.find(value)
        except (TypeError, OverflowError) as error:  # the value is no dtype, or fits no float
            raise type(error)(f"{name}: {error}") from None
        if normal is REFUSED:
            raise self._refusal(name, value)
        if self.domain is not None:
            self.domain.require(name, normal)
        return normal

    def find(self, value: Any) -> Any:
        """Do as `normalize`, without a check of the domain; return REFUSED if no type takes the value."""
        for static_type in self.types:
            normal = static_type.normalize(value)
            if normal is not REFUSED:
                return normal
        return REFUSED if self.types else value

    def _refusal(self, name: str, value: Any) -> Exception:
        is_choice = any(t.name == "word" for t in self.types)
        words = [t.words for t in self.types]
        wanted = f"one of {', '.join(words)}" if is_choice else " or ".join(words)
        shown = f"the tensor {describe(value)}" if hasattr(seen(value), "dtype") else describe(value)
        kind = ValueError if is_choice and isinstance(value, str) else TypeError
        return kind(f"{name} must be {wanted}, not {shown}.")


# -- forms of values --------------------------------------------------------------------------------------------------


def _item(value: Any) -> Any:
    """The element of an array without axes; another value itself."""
    return value[()] if type(value) is np.ndarray and not value.shape else value


def _number(make: Callable[[Any], Any], *kinds: type) -> Callable[[Any], Any]:
    """Make the `normalize` of some kinds of numbers."""

    def normalize(value: Any) -> Any:
        item = _item(value)
        return make(item) if isinstance(item, kinds) else REFUSED

    return normalize


def _int(value: Any) -> Any:
    """An int, also from the integers of other libraries, which are no `Integral` of Python's."""
    item = _item(value)
    if isinstance(item, (int, np.bool_)):
        return int(item)
    try:
        return REFUSED if is_tensor(item) else operator.index(item)
    except TypeError:
        return REFUSED


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else REFUSED


def _where(test: Callable[[Any], bool]) -> Callable[[Any], Any]:
    return lambda value: value if test(value) else REFUSED


def _each(member: Static, length: int | None = None) -> Callable[[Any], Any]:
    """Make the `normalize` of lists, and of arrays with axes."""
    plain = member.plain

    def normalize(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) and not (type(value) is np.ndarray and value.shape):
            return REFUSED
        members = tuple([v if type(v) in plain else member.find(v) for v in value])
        fits = length in (None, len(members)) and not any(map(_is_refused, members))
        return members if fits else REFUSED

    return normalize


def _shape_like(value: Any) -> Any:
    """A shape; one number is a shape, too, and an empty array is one whatever its dtype."""
    if isinstance(value, np.ndarray):
        value = value.reshape(-1) if value.size else ()
    ints = _INTS.normalize(value)
    if ints is not REFUSED:
        return ints
    number = _INT.normalize(value)
    return number if number is REFUSED else (number,)


def with_ints(value: Any) -> Any:
    """Replace the integers of other libraries by Python's, also in lists; other values stay.

    Example:
        >>> with_ints([np.int64(1), (np.array(2), "a")])
        [1, (2, 'a')]
    """
    if type(value) in (list, tuple):
        members = [with_ints(item) for item in value]
        return value if all(map(operator.is_, members, value)) else type(value)(members)
    integer = REFUSED if isinstance(value, (bool, np.bool_)) else _int(value)
    return value if integer is REFUSED else integer


def _is_iterable(value: Any) -> bool:
    is_scalar = getattr(seen(value), "shape", None) == ()
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not is_scalar


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", None) == 1


# -- the types --------------------------------------------------------------------------------------------------------


def _type(name: str, words: str, plain: Sequence[type], normalize: Callable[[Any], Any]) -> StaticType:
    return StaticType(name, words, frozenset(plain), normalize)


def _list_of(member: Static) -> StaticType:
    names = " or ".join(f"{t.name}s" for t in member.types)
    return _type(names, f"a list of {names}", [], _each(member))


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_INT = _type("int", "an int", [int], _int)
_NONE = _type("none", "None", [type(None)], _where(lambda value: value is None))
_INTS = _list_of(Static((_INT,)))
_DIMS = _each(Static((_INT, _NONE)))

TYPES: dict[Any, StaticType] = {  # annotation → its type
    int: _INT,
    bool: _type("bool", "True or False", [bool], _number(bool, numbers.Integral, np.bool_)),
    float: _type("float", "a number", [float], _number(float, numbers.Real, np.floating, np.bool_)),
    str: _type("string", "a str", [str], lambda value: str(value) if isinstance(value, str) else REFUSED),
    type(None): _NONE,
    np.ndarray: _type("array", "a NumPy array", [np.ndarray], _array),
    Callable: _type("callable", "a function", [], _where(callable)),
}
LOOSE: dict[Any, StaticType] = {  # the same for arguments of functions, which no operation holds
    Iterable: _type("iterable", "a list", [list, tuple], _where(_is_iterable)),
    Sequence: _type("list", "a list", [list, tuple], _where(_is_sequence)),
}
INTS = _type("ints", "a list of ints", [], _shape_like)

# Types that Python does not have.
Axes: TypeAlias = int | Sequence[int] | None
DTypeLike: TypeAlias = Annotated[
    Any, _type("dtype", "a dtype", [DType], lambda value: REFUSED if value is None else as_dtype(value))
]
Scalar: TypeAlias = Annotated[
    Any, _type("number", "a number", [int, float, bool, complex], _number(_scalar, numbers.Number, np.number, np.bool_))
]
ShapeLike: TypeAlias = Annotated[
    Any, _type("shape", "a list of ints and None", [type(None)], lambda value: value if value is None else _DIMS(value))
]
Sizes: TypeAlias = Annotated[Any, _type("sizes", "ints", [int], with_ints)]  # some may be tensors
SizeList: TypeAlias = Annotated[
    Any, _type("sizes", "a list of ints", [], lambda value: with_ints(value) if _is_sequence(value) else REFUSED)
]
GraphLike: TypeAlias = Annotated[Any, _type("graph", "a graph", [], _where(lambda value: hasattr(value, "captures")))]
VariableLike: TypeAlias = Annotated[
    Any, _type("variable", "a variable", [], _where(lambda value: kind_of(value) is STATE))
]


def static_of(hint: Any) -> Static:
    """The `Static` of an annotation; if it is none of these types, any value is taken.

    Example:
        >>> [t.name for t in static_of(int | Sequence[int] | None).types]
        ['int', 'ints', 'none']
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        said = static_of(args[0])
        for note in args[1:]:
            said = replace(said, **_said_by(note))
        return said
    if origin is Literal:
        word = _type("word", ", ".join(map(repr, args)), [], lambda v: str(v) if _is_one_of(v, args) else REFUSED)
        return Static((word,))
    if origin in (Union, types.UnionType):
        parts = list(map(static_of, args))
        accepted = tuple(t for part in parts for t in part.types) if all(part.types for part in parts) else ()
        return Static(accepted, next((part.domain for part in parts if part.domain), None))
    if origin is tuple:
        return Static((_type("pair", "a pair of ints", [], _each(static_of(args[0]), len(args))),))
    if origin is Sequence and (member := static_of(args[0])).types:
        return Static((_list_of(member),), member.domain)
    named = TYPES.get(origin or hint) or LOOSE.get(origin or hint)
    return Static((named,) if named else ())


def _is_one_of(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and str(value) in words


def _said_by(note: Any) -> dict[str, Any]:
    if isinstance(note, StaticType):
        return {"types": (note,)}
    return {"domain": note} if isinstance(note, Domain) else {}
