"""Keys by which calls of a function are recognised, and the reason for a new trace in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dovetail.core.dtypes import native_to_dtype
from dovetail.core.engine import Engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.signature import static_key
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of

_STATIC = frozenset([bool, int, str])
_NESTED = frozenset([tuple, list])
_NAMES = frozenset([str])
LEVELS = 8  # of lists, tuples and dicts in a call with a key


def call_key(values: Iterable[Any], natives: list[Any], levels: int = LEVELS) -> tuple[Any, ...] | None:
    """The key of a call on tensors and plain NumPy arrays, also nested, with None and static values; else None.

    Args:
        values: the arguments.
        natives: a list to which the native arrays of the tensors, and the NumPy arrays, are appended in their order.
        levels: how deep the arguments may be.
    """
    key: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is Tensor:
            engine, native = value._engine, value._value
            natives.append(native)
            key += engine, engine.array_key(native)
            if engine.has_devices:
                key.append(engine.put_on(native))
        elif kind is np.ndarray:
            dtype = value.dtype
            if dtype.hasobject or not dtype.isnative:
                return None
            natives.append(value)
            key += dtype, value.shape
        elif value is None:
            key.append(None)
        elif kind in _STATIC:
            key += kind, value
        elif levels and (kind in _NESTED or (kind is dict and _NAMES.issuperset(map(type, value)))):
            names = sorted(value) if kind is dict else ()
            inner = call_key(map(value.__getitem__, names) if names else value, natives, levels - 1)
            if inner is None:
                return None
            key += kind, *names, inner
        else:
            return None
    return tuple(key)


def given_and_key(leaves: list[Any], engine: Engine) -> tuple[list[Any], list[Any]]:
    """The tensors, moved to the engine, and NumPy arrays among the leaves; and the part of each leaf in the key."""
    given: list[Any] = []
    key: list[Any] = []
    for leaf in leaves:
        if type(leaf) is Tensor:
            given.append(leaf if leaf._engine is engine else arguments.move(leaf, engine))
            value = given[-1]._value
            key.append((engine.shape(value), native_to_dtype(engine.native_dtype_of(value))))
        elif isinstance(leaf, (np.ndarray, np.generic)):
            given.append(leaf)
            key.append((leaf.shape, dtype_of(leaf)))
        elif type(leaf) is TensorSpec:  # `concrete` passes specs, and runs nothing
            key.append((leaf.shape, leaf.dtype))
        else:
            key.append(static_key(leaf if _is_hashable(leaf) else _Same(leaf)))
    return given, key


def spec_of(leaf: Any) -> TensorSpec | None:
    """The spec by which a leaf is traced; None for a static value."""
    if type(leaf) is TensorSpec:
        return leaf
    is_tensor = isinstance(leaf, (Tensor, np.ndarray, np.generic))
    return TensorSpec(leaf.shape, dtype_of(leaf)) if is_tensor else None


class _Same:
    """The key of a static argument that cannot be hashed: it equals only the same object, and keeps that alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def difference(last: Any, key: Any) -> str:
    """The reason for a new trace, in words: the differences between the keys of two traces."""
    differences = [f"{_show(a)} became {_show(b)}" for a, b in zip(last[2:], key[2:], strict=False) if a != b]
    settings = ["the settings, the gradient overrides or the learning phase differ"] if last[1] != key[1] else []
    return "; ".join(settings + differences) or "the structure of the arguments differs"


def _show(part: Any) -> str:
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], tuple):
        return repr(TensorSpec(*part))
    return f"the static value {part[1]!r}" if isinstance(part, tuple) else str(part)
