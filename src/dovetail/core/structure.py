"""Nested structures: flattening dicts, lists, tuples, named tuples and dataclasses to leaves, and building them again.

A dataclass is built again without its `__init__`: what that checks or computes was done when the first one was made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from dovetail.core.signature import static_key
from dovetail.core.tensor import Tensor
from dovetail.core.tensor_shape import TensorShape

Kind = TypeVar("Kind", bound=type)

LEAF = "*"
# LEAF, or (kind, keys, children); of dicts whose keys are not all words a `static_key` of the keys follows.  Hashable.
Structure = Any

_leaves: set[type] = {Tensor, bool, int, float, str, np.ndarray}


def leaf(kind: Kind) -> Kind:
    """Class decorator: values of this dataclass are leaves."""
    _leaves.add(kind)
    return kind


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a structure, in order (dicts by sorted keys, ordered dicts by theirs), and its shape.

    Example:
        >>> flatten({"b": 1, "a": [2, 3]})[0]
        [2, 3, 1]
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Structure:
    kind = type(value)
    if kind in _leaves:
        leaves.append(value)
        return LEAF
    if kind is tuple or kind is list:
        if _leaves.issuperset(map(type, value)):
            leaves += value
            return kind, None, (LEAF,) * len(value)
        return kind, None, tuple([_flatten(v, leaves) for v in value])
    if isinstance(value, (TensorShape, list)):  # of a list of another class, as the outputs of a graph, a list is made
        return tuple if isinstance(value, tuple) else list, None, tuple([_flatten(v, leaves) for v in value])
    if value is None:
        return None
    if isinstance(value, dict):
        ordered = isinstance(value, OrderedDict)
        keys = tuple(value if ordered else sorted(value, key=lambda k: (str(type(k)), k)))
        structure = kind, keys, tuple([_flatten(value[k], leaves) for k in keys])
        return structure if all(type(k) is str for k in keys) else (*structure, static_key(keys))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind, None, tuple([_flatten(v, leaves) for v in value])
    if getattr(kind, "__dataclass_fields__", None) is not None:
        names = [f.name for f in fields(value) if hasattr(value, f.name)]
        keys = tuple(dict.fromkeys([*names, *getattr(value, "__dict__", ())]))  # also what `__post_init__` added
        return kind, keys, tuple([_flatten(getattr(value, k), leaves) for k in keys])
    leaves.append(value)
    return LEAF


def unflatten(structure: Structure, leaves: Any) -> Any:
    """The value of this structure with these leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    if structure is None:
        return None
    if structure == LEAF:
        return next(leaves)
    kind, keys, children = structure[:3]
    values = [_unflatten(child, leaves) for child in children]
    if keys is not None:
        pairs = dict(zip(keys, values, strict=True))
        if not issubclass(kind, dict):
            return _dataclass(kind, pairs)
        return pairs if kind is dict else kind(pairs)
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def _dataclass(kind: Any, values: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)  # also of a frozen one
    return made


def flatten_like(structure: Structure, value: Any) -> list[Any]:
    """The leaves of a value that stand where the structure has leaves; None may stand for any part, as that many Nones.

    Raises:
        ValueError: the value has another structure.

    Example:
        >>> flatten_like(flatten((1, [2, 3]))[1], (4, None))
        [4, None, None]
    """
    if structure is None:
        return []
    if structure == LEAF:
        return [value]
    kind, keys, children = structure[:3]
    if value is None:
        parts: Any = [None] * len(children)
    elif keys is not None and not issubclass(kind, dict):
        if type(value) is not kind:
            raise ValueError(f"needs a {kind.__name__}, not {value!r}.")
        parts = [getattr(value, key) for key in keys]
    elif keys is not None:
        if not isinstance(value, dict) or set(value) != set(keys):
            raise ValueError(f"needs a dict with the keys {', '.join(map(repr, keys))}, not {value!r}.")
        parts = [value[key] for key in keys]
    elif isinstance(value, (list, tuple)) and len(value) == len(children):
        parts = value
    else:
        raise ValueError(f"needs a {kind.__name__} of {len(children)}, not {value!r}.")
    return [leaf for child, part in zip(children, parts, strict=True) for leaf in flatten_like(child, part)]


def alike(first: Structure, second: Structure) -> bool:
    """Whether two structures are the same, lists and tuples taken as one kind: functions may return either.

    Example:
        >>> alike(flatten([1, (2, 3)])[1], flatten((1, [2, 3]))[1])
        True
    """
    return _loose(first) == _loose(second)


def _loose(structure: Structure) -> Structure:
    if structure is None or structure == LEAF:
        return structure
    kind, keys, children = structure[:3]
    return tuple if kind is list else kind, keys, tuple(map(_loose, children))


def show(structure: Structure) -> str:
    """A structure as text, with a star for each leaf.

    Example:
        >>> show(flatten({"a": 1, "b": [2, 3]})[1])
        "{'a': *, 'b': [*, *]}"
    """
    return repr(unflatten(structure, repeat(_Star())))


class _Star:
    def __repr__(self) -> str:
        return LEAF


def map_structure(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """The structure with the function applied to its leaves (and those of other structures of the same shape).

    Example:
        >>> map_structure(lambda a, b: a + b, {"x": 1}, {"x": 2})
        {'x': 3}
    """
    leaves, structure = flatten(first)
    columns = [flatten(other) for other in others]
    for _, other in columns:
        if other != structure:
            raise ValueError(f"the structures differ: {structure} and {other}.")
    return unflatten(structure, [function(*row) for row in zip(leaves, *(c[0] for c in columns), strict=True)])
