"""Calls: an eager call that was made before runs a program, and does not find out again what to do.

What an op does with its arguments (conversions, checks, a composite's body) depends on their kinds, dtypes and shapes
and on the values of those that are no tensors.  These are the key of a call.  From the third call with one key on, the
engine's rules that the first ones came to are called one after the other, in a program of `plan.bodies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dovetail import config
from dovetail.dtypes import DType
from dovetail.ops import dispatch
from dovetail.tensor import Tensor, recording

if TYPE_CHECKING:
    from dovetail.ops.op import Op

Program = Callable[..., tuple[Any, ...]]  # (the native arrays of the tensors) → the native arrays of the results

_programs: dict[Any, Program | int | None] = {}  # per key, until there is a program how often it was seen; None: never
_LIMIT = 10_000
_REPEATS = 2
_PLAIN = frozenset([int, float, complex, bool, str, DType, type(None)])


def apply(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Computes or records one op call, as `dispatch.apply` does."""
    if recording.tapes:
        return dispatch.apply(op, args, kwargs)
    key: list[Any] = [op, config.version()]
    tensors: list[Tensor] = []
    if kwargs:
        key.append(tuple(kwargs))
        plain = _describe((*args, *kwargs.values()), key, tensors)
    else:
        plain = _describe(args, key, tensors)
    if not plain or not tensors:
        return dispatch.apply(op, args, kwargs)
    known = _programs.get(found := tuple(key), 0)
    if known is None:
        return dispatch.apply(op, args, kwargs)
    if isinstance(known, int):
        return _apply_anew(op, args, kwargs, found, known)
    engine = tensors[0]._engine
    try:
        outputs = known(*[t._value for t in tensors])
    except Exception:  # `dispatch` finds the words for what is wrong
        return dispatch.apply(op, args, kwargs)
    return tuple([Tensor(v, engine) for v in outputs]) if op.returns_tuple else Tensor(outputs[0], engine)


def _describe(values: Iterable[Any], key: list[Any], tensors: list[Tensor]) -> bool:
    """Adds arguments to a key, and the tensors among them to a list; whether they are only Tensors and plain values."""
    for value in values:
        kind = type(value)
        if kind is Tensor:
            engine, native = value._engine, value._value
            if engine.native is engine:  # the values of its users, of which a shape may not be known
                return False
            tensors.append(value)
            key += (engine, native.dtype, native.shape)
        elif kind in _PLAIN:
            key += (kind, value or repr(value))  # 0.0 and -0.0 are equal, and so have one hash
        elif kind is tuple or kind is list:
            key += (kind, len(value))
            if not _describe(value, key, tensors):
                return False
        else:
            return False
    return True


def _apply_anew(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, seen: int) -> Any:
    result = dispatch.apply(op, args, dict(kwargs))
    if len(_programs) > _LIMIT:
        _programs.clear()
    if seen < _REPEATS:
        _programs[key] = seen + 1
    else:
        from dovetail.plan.bodies import call_program  # ops come before plans

        kwargs.pop("name", None)  # of a node in a graph
        _programs[key] = call_program(op, args, kwargs)
    return result
