"""Calls: an eager call that was made before runs a program, and does not find out again what to do.

What an op, or a function written in ops, does with its arguments (conversions, checks, a composite's body) depends on
their kinds, dtypes and shapes and on the values of those that are no tensors.  These are the key of a call.  From the
third call with one key on, the engine's rules that the first ones came to are called one after the other, in a program
of `plan.bodies`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar

from dovetail.core import config
from dovetail.core.dtypes import DType
from dovetail.core.provided import provided
from dovetail.core.recording import recording
from dovetail.core.static import static_key
from dovetail.core.tensor import Tensor
from dovetail.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.op import Op

P = ParamSpec("P")
R = TypeVar("R")
# (the native arrays of the tensors) → the native arrays of the results; and the engine whose arrays they are
Program: TypeAlias = "tuple[Callable[..., tuple[Any, ...]], Engine]"

_programs: dict[Any, Program | int | None] = {}  # per key, until there is a program how often it was seen; None: never
_LIMIT = 10_000
_REPEATS = 2
_PLAIN = frozenset([int, float, complex, bool, str, DType, type(None)])


class repeatable(Generic[P, R]):
    """Decorator: a function written in ops, whose repeated calls run programs as those of ops do.

    The function returns one tensor, which depends on its arguments and on `config` alone; it changes nothing.
    """

    returns_tuple = False

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return apply(self, args, kwargs)

    def anew(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.function(*args, **kwargs)


def apply(function: Op | repeatable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call: that of `function.anew`, which a program gives again if there is one."""
    if recording.tapes:
        return function.anew(args, kwargs)
    key: list[Any] = [function, config.version()]
    natives: list[Any] = []
    if kwargs:
        key.append(tuple(kwargs))
        plain = _describe((*args, *kwargs.values()), key, natives)
    else:
        plain = _describe(args, key, natives)
    if not plain or not natives:
        return function.anew(args, kwargs)
    known = _programs.get(found := tuple(key), 0)
    if known is None:
        return function.anew(args, kwargs)
    if isinstance(known, int):
        return _apply_anew(function, args, kwargs, found, known)
    program, engine = known
    try:
        outputs = program(*natives)
    except engine.errors:  # an op finds the words for what is wrong
        return function.anew(args, kwargs)
    return tuple([Tensor(v, engine) for v in outputs]) if function.returns_tuple else Tensor(outputs[0], engine)


def forget() -> None:
    """Drops all programs: what they were made of has changed."""
    _programs.clear()


def _describe(values: Iterable[Any], key: list[Any], natives: list[Any]) -> bool:
    """Adds arguments to a key, and the arrays of tensors to a list; whether they are only Tensors and plain values."""
    for value in values:
        kind = type(value)
        if kind is Tensor:
            engine, native = value._engine, value._value
            if engine.native is engine:  # the values of its users, of which a shape may not be known
                return False
            natives.append(native)
            key += (engine, engine.native_dtype_of(native), engine.shape(native))
        elif kind in _PLAIN:
            key.append(static_key(value))
        elif kind is tuple or kind is list or kind is TensorShape:
            key += (kind, len(value))
            if not _describe(value, key, natives):
                return False
        else:
            return False
    return True


def _apply_anew(function: Op | repeatable, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, seen: int) -> Any:
    result = function.anew(args, dict(kwargs))
    if len(_programs) > _LIMIT:
        _programs.clear()
    if seen < _REPEATS:
        _programs[key] = seen + 1
    else:
        kwargs.pop("name", None)  # of a node in a graph
        _programs[key] = provided.call_program(function, args, kwargs)
    return result
