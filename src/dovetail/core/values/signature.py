"""Signatures: the properties that make two calls alike.

The signature of an op call holds the engine, dtypes and shapes of its tensors, and the types of its numbers.  It also
holds the static values and the settings.  For Python 0.0 equals -0.0, 1 equals 1.0 and True, and no NaN equals itself.
A signature tells the former apart, and takes all NaNs for one value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.core.base import config
from dovetail.core.base.hooks import hooks
from dovetail.core.dtypes import DType
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import ANY_ENGINE, HOST, KINDS, kind_of

if TYPE_CHECKING:
    from dovetail.core.op import Op

_PLAIN = frozenset([int, bool, str, bytes, type(None), DType])


def static_key(value: Any) -> Any:
    """The cache key of a static value: equal for two values that a program cannot tell apart.

    It is hashable if the value is hashable, or is a list or slice of hashable values.

    Example:
        >>> static_key((1, 0.0)) == static_key((1, -0.0)), static_key(float("nan")) == static_key(float("nan"))
        (False, True)
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value if value and value == value else repr(value)
    if kind is complex:
        return kind, repr(value)
    if isinstance(value, (tuple, list)):
        return kind, *map(static_key, value)
    if isinstance(value, frozenset):
        return kind, frozenset(map(static_key, value))
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if kind is slice:
        return kind, static_key((value.start, value.stop, value.step))
    return kind, value


# -- signatures of calls ----------------------------------------------------------------------------------------------

_INTS = frozenset([int])
_NUMBERS = frozenset([int, float, bool, complex])
_STATIC = frozenset([int, float, bool, str, complex, type(None), DType])


def signature(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """The cache key of a call that is computed now, which all calls that resolve alike share; None if it has none.

    A call has no key if its tensors are on several engines, or if an engine's own tensor has unknown dimensions.  Nor
    has a call with a list of numbers that is given as a tensor.
    """
    if len(args) > len(op.params):
        return None
    key: list[Any] = [config.of_calls]
    values, is_static = args, op.is_static
    if kwargs:
        names = tuple(kwargs)
        key.append(names)
        values = (*args, *kwargs.values())
        is_static = op.kinds_of_arguments(len(args), names)
        if len(is_static) < len(values):
            return None
    engine: Any = None
    for value, static in zip(values, is_static, strict=False):
        kind = type(value)
        if kind is Tensor and not static:
            own, native = value._engine, value._value
            shape = own.shape(native)
            if own is not engine:
                if engine is not None:
                    return None
                engine = own
            if own.native is own and (shape is None or None in shape):
                return None
            key += (own.native_dtype_of(native), shape)
        elif static:
            if kind in _PLAIN:
                key += (kind, value)
            elif (kind is tuple or kind is list) and {*map(type, value)} <= _INTS:
                key += (kind, *value)
            elif is_plain(value, kind):
                key.append(static_key(value))
            else:
                return None
        elif kind in _NUMBERS:
            key.append(kind if op.prepare is None else static_key(value))  # `prepare` may look at the number
        elif kind is np.ndarray:
            if hooks.array_result is not None:
                return None
            key += (kind, value.dtype, value.shape)
        else:
            many = kind is tuple or kind is list
            own = _describe_all(value, kind, key) if many else (KINDS.get(kind) or kind_of(value)).describe(value, key)
            if own is None or (own is not ANY_ENGINE and engine is not None and own is not engine):
                return None
            engine = engine if own is ANY_ENGINE else own
    key.append(current_engine() if engine is None else engine)
    return tuple(key)


def is_plain(value: Any, kind: type) -> bool:
    """Whether a static value is a number, word, dtype, or a list of these: no object that a key would keep alive."""
    return kind in _STATIC or (isinstance(value, (tuple, list)) and all(is_plain(item, type(item)) for item in value))


def _describe_all(values: Any, kind: type, key: list[Any]) -> Any:
    """Add a list of tensors to a signature; a list of numbers has none, as its numbers decide how a call resolves."""
    key += (kind, len(values))
    engine: Any = None
    for value in values:
        value_kind = kind_of(value)
        own = None if value_kind is HOST else value_kind.describe(value, key)
        if own is None or (own is not ANY_ENGINE and engine is not None and own is not engine):
            return None
        engine = engine if own is ANY_ENGINE else own
    return engine or (ANY_ENGINE if values else None)
