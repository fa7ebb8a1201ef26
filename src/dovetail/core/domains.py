"""Domains: which values a parameter takes, as its annotation says it.

    axis: int
    mode: Literal["full", "reduced"]
    size: int | Sequence[int]
    rate: Annotated[float, within(0, 1)]
    q: Annotated[TensorLike, Kind("float"), within(0, 1)]

What is known when a call is made is checked: Python values and NumPy arrays.  The values of tensors are not: in a graph
there are none yet, and on a device it would take time to see them.
"""

from __future__ import annotations

import numbers
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np

from dovetail.core.errors import describe
from dovetail.core.value_kinds import is_tensor, seen

INFINITY = float("inf")


@dataclass(frozen=True)
class Domain:
    """An interval of numbers; each end may be one of them or not."""

    low: float = -INFINITY
    high: float = INFINITY
    without_low: bool = False
    without_high: bool = False

    def __str__(self) -> str:
        if self.high == INFINITY:
            return f"above {self.low}" if self.without_low else f"{self.low} or more"
        return f"in {'(' if self.without_low else '['}{self.low}, {self.high}{')' if self.without_high else ']'}"

    def require(self, name: str, value: Any) -> None:
        """Raises ValueError where a number, or one of an array or list, is not in the domain."""
        for number in _numbers(value):
            wrong = np.extract(np.logical_not(self._holds(number)), number)
            if wrong.size:
                raise ValueError(f"{name} must be {self}, not {wrong[0]}.")

    def _holds(self, value: Any) -> Any:  # nothing holds NaN
        above = value > self.low if self.without_low else value >= self.low
        return above & (value < self.high if self.without_high else value <= self.high)


def within(low: float, high: float) -> Domain:
    """From low to high, both included."""
    return Domain(low, high)


def at_least(low: float) -> Domain:
    return Domain(low)


def above(low: float) -> Domain:
    return Domain(low, without_low=True)


Count: TypeAlias = Annotated[int, at_least(0)]
NotNegative: TypeAlias = Annotated[float, at_least(0)]


def _numbers(value: Any) -> list[Any]:
    """The numbers, and arrays of numbers, that a value is made of; tensors are left out."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _numbers(item)]
    if isinstance(value, (np.ndarray, np.generic)):
        return [value] if value.dtype.kind in "biuf" else []
    return [value] if isinstance(value, (int, float)) else []


# -- types ------------------------------------------------------------------------------------------------------------

Check = Callable[[str, Any], None]  # (name of the parameter, value); raises where the value is not in the domain
_NOTHING: frozenset[type] = frozenset()
_ANYTHING: frozenset[type] = frozenset([int, float, bool, str, type(None)])


@dataclass(frozen=True)
class Accepted:
    """What the annotation of a static parameter accepts.

    Attributes:
        plain: exact Python types of which every value is accepted as it is.
        check: the check of all other values; None where there is nothing to check.
    """

    plain: frozenset[type]
    check: Check | None = None


_TYPES: dict[Any, tuple[frozenset[type], Any, str]] = {  # annotation → exact types, abstract types, in words
    int: (frozenset([int]), (numbers.Integral, np.bool_), "an int"),
    bool: (frozenset([bool]), (numbers.Integral, np.bool_), "True or False"),
    float: (frozenset([int, float]), (numbers.Real, np.floating, np.bool_), "a number"),
    str: (frozenset([str]), str, "a str"),
    type(None): (frozenset([type(None)]), type(None), "None"),
}


def accepted(hint: Any) -> Accepted:
    """What an annotation accepts; anything, if it does not say it in terms of Python's plain types."""
    plain, tests, words, choices, domain = _read(hint)
    if tests is None:
        return Accepted(_NOTHING, domain.require) if domain else Accepted(_ANYTHING)

    def check(name: str, value: Any) -> None:
        if not is_tensor(value) and not any(test(value) for test in tests):
            kind = ValueError if choices and isinstance(value, str) else TypeError
            wanted = f"one of {', '.join(words)}" if choices else " or ".join(words)
            raise kind(f"{name} must be {wanted}, not {_shown(value)}.")
        if domain is not None:
            domain.require(name, value)

    return Accepted(_NOTHING if domain else plain, check)


def _read(hint: Any) -> tuple[Any, Any, list[str], bool, Domain | None]:
    """The exact types, the tests of other values, both in words, whether there are choices among them; the domain."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _TYPES:
        plain, kinds, words = _TYPES[hint]
        return plain, [lambda value: isinstance(value, kinds)], [words], False, None
    if origin is Annotated:
        domain = next((note for note in args[1:] if isinstance(note, Domain)), None)
        return *_read(args[0])[:4], domain
    if origin is Literal:
        return frozenset(), [lambda value: type(value) is str and value in args], [*map(repr, args)], True, None
    if origin in (Union, types.UnionType):
        parts = [_read(arg) for arg in args]
        if any(tests is None for _, tests, *_ in parts):
            return None, None, [], False, None
        return (
            frozenset().union(*(p[0] for p in parts)),
            [test for p in parts for test in p[1]],
            [word for p in parts for word in p[2]],
            any(p[3] for p in parts),
            next((p[4] for p in parts if p[4] is not None), None),
        )
    if origin is Callable:
        return frozenset(), [callable], ["a function"], False, None
    if origin is Iterable:
        return frozenset([list, tuple]), [_is_iterable], ["a list"], False, None
    if origin is Sequence:
        member = _read(args[0])
        if member[1] is None:
            return frozenset([list, tuple]), [_is_sequence], ["a list"], False, None
        return frozenset(), [_each(member[1])], [f"a list of {member[2][0].removeprefix('an ')}s"], False, member[4]
    return None, None, [], False, None


def _each(tests: Any) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        members = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        return isinstance(members, (list, tuple)) and all(any(t(v) for t in tests) for v in members)

    return test


def _is_iterable(value: Any) -> bool:
    is_scalar = getattr(seen(value), "shape", None) == ()
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not is_scalar


def _is_sequence(value: Any) -> bool:
    """Whether it is a list, or an array or tensor of one axis, or of a shape that is not known yet."""
    if isinstance(value, (list, tuple)):
        return True
    value = seen(value)
    return hasattr(value, "shape") and (value.shape is None or len(value.shape) == 1)


def _shown(value: Any) -> str:
    return describe(value) if not hasattr(seen(value), "dtype") else f"the tensor {describe(value)}"
