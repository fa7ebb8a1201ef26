"""Nested structures: flattening dicts, lists, tuples, named tuples and dataclasses to leaves, and building them again.

A dataclass is built again without its `__init__`, whose checks and computations were done for the first one.
A structure is a tree of at most `DEEPEST` levels: one that holds itself, or is deeper, raises an error.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.tensor import Tensor
from dovetail.core.values.signature import static_key

Kind = TypeVar("Kind", bound=type)

LEAF = "*"
DEEPEST = 100  # levels; Python's own limit of recursion allows about four times as many
# LEAF, or (kind, keys, children), followed by a `static_key` of the keys if these are not all strings.  Hashable.
Structure = Any

_leaves: set[type] = {Tensor, bool, int, float, str, np.ndarray}


def leaf(kind: Kind) -> Kind:
    """Class decorator that makes the values of a dataclass leaves."""
    _leaves.add(kind)
    return kind


def flatten(value: Any, name: str = "") -> tuple[list[Any], Structure]:
    """Split a value into its leaves, in order (dicts by sorted keys, ordered dicts by their own), and its structure.

    Args:
        value: a leaf, or a structure of them.
        name: the function to name in errors, with the user's line; if empty, the caller adds them.

    Raises:
        ValueError: the value holds itself, or is more than `DEEPEST` levels deep.

    Example:
        >>> flatten({"b": 1, "a": [2, 3]})[0]
        [2, 3, 1]
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(value, leaves, DEEPEST)
    except _TooDeep:
        problem = no_tree(value)
    raise op_error(ValueError, name, problem) if name else ValueError(problem)


class _TooDeep(Exception):
    """The error of a structure with more than `DEEPEST` levels."""


def _flatten(value: Any, leaves: list[Any], levels: int) -> Structure:
    kind = type(value)
    if kind in _leaves:
        leaves.append(value)
        return LEAF
    values, keys = value, None
    if kind is tuple or kind is list:
        if levels and _leaves.issuperset(map(type, value)):
            leaves += value
            return kind, None, (LEAF,) * len(value)
    elif value is None:
        return None
    elif isinstance(value, (TensorShape, list)):  # a list of another class, as a graph's outputs, becomes a list
        kind = tuple if isinstance(value, tuple) else list
    elif isinstance(value, dict):
        keys = _keys(value)
        values = [value[k] for k in keys]
    elif getattr(kind, "__dataclass_fields__", None) is not None:
        keys = _names(value)
        values = [getattr(value, k) for k in keys]
    elif not (isinstance(value, tuple) and hasattr(value, "_fields")):
        leaves.append(value)
        return LEAF
    if not levels:
        raise _TooDeep
    structure = kind, keys, tuple([_flatten(v, leaves, levels - 1) for v in values])
    return structure if keys is None or all(type(k) is str for k in keys) else (*structure, static_key(tuple(keys)))


class _Keys(tuple[Any, ...]):
    """The keys of a dict in the order of its leaves; they also tell how the dict is made again.

    Attributes:
        own: the keys in the order of the dict.
        factory: the factory of a `defaultdict`.
    """

    own: tuple[Any, ...]
    factory: Any


def _keys(value: dict[Any, Any]) -> tuple[Any, ...]:
    own = tuple(value)
    ordered = own if isinstance(value, OrderedDict) else tuple(sorted(value, key=lambda k: (str(type(k)), k)))
    if ordered == own and not isinstance(value, defaultdict):
        return ordered
    keys = _Keys(ordered)
    keys.own, keys.factory = own, getattr(value, "default_factory", None)
    return keys


def _names(value: Any) -> tuple[str, ...]:
    """The names of the attributes of a dataclass, also the ones that `__post_init__` added."""
    declared = [f.name for f in fields(value) if hasattr(value, f.name)]
    return tuple(dict.fromkeys([*declared, *getattr(value, "__dict__", ())]))


def refuse_nesting(name: str, values: Iterable[Any]) -> None:
    """Explain a RecursionError if an argument caused it; otherwise the program itself is the cause.

    Args:
        name: the function's name for users.
        values: its arguments.

    Raises:
        ValueError: an argument holds itself, or is too deep.
    """
    for value in values:
        if problem := no_tree(value):
            raise op_error(ValueError, name, problem) from None


def no_tree(value: Any) -> str:
    """The reason why a value is no structure, since it holds itself or is too deep; empty if it is one."""
    around, steps, todo = [value], [""], [_parts(value)]  # the structures around a part, the steps to it, parts left
    while todo and len(todo) <= DEEPEST:
        step, part = next(todo[-1], ("", None))
        if not step:
            around, steps, todo = around[:-1], steps[:-1], todo[:-1]
        elif any(part is outer for outer in around):
            place = "".join([*steps, step])
            return (
                f"the {type(part).__name__} at {place if len(place) <= 80 else place[:77] + '...'} holds itself; a "
                "structure is a tree of lists, tuples, dicts and dataclasses. Remove the reference back, or keep it in "
                "an object of your own class, which is one leaf."
            )
        else:
            around, steps, todo = [*around, part], [*steps, step], [*todo, _parts(part)]
    if not todo:
        return ""
    return (
        f"the {type(value).__name__} has more than {DEEPEST} levels of lists, tuples, dicts and dataclasses, one in "
        "the other. Put its tensors into one list, or stack them."
    )


def fields_of(value: Any) -> dict[str, Any] | None:
    """The parts of a named tuple or dataclass by their names; None for another value.

    Example:
        >>> from typing import NamedTuple
        >>> class Point(NamedTuple):
        ...     x: float
        ...     y: float
        >>> fields_of(Point(1.0, 2.0)), fields_of((1.0, 2.0))
        ({'x': 1.0, 'y': 2.0}, None)
    """
    if not has_fields(type(value)):
        return None
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    return {name: getattr(value, name) for name in _names(value)}


def has_fields(kind: Any) -> bool:
    """Whether it is the class of named tuples, or of dataclasses that are structures."""
    if not isinstance(kind, type) or kind in _leaves:
        return False
    return hasattr(kind, "_fields" if issubclass(kind, tuple) else "__dataclass_fields__")


def of_fields(kind: Any, values: dict[str, Any]) -> Any:
    """The named tuple or dataclass of a class with these parts; a dataclass is made without its `__init__`.

    Raises:
        ValueError: the class has other fields.
    """
    is_tuple = issubclass(kind, tuple)
    known = kind._fields if is_tuple else tuple(f.name for f in fields(kind))
    others = [name for name in values if name not in known and (is_tuple or hasattr(kind, name))]
    if others or not values.keys() >= set(known):
        raise ValueError(f"the class {kind.__name__} has the fields {list(known)}, and there are {list(values)}")
    return kind._make([values[name] for name in known]) if is_tuple else _dataclass(kind, values)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a structure that are structures themselves, each with the step to it."""
    return ((step, part) for step, part in _steps(value) or () if _steps(part) is not None)


def _steps(value: Any) -> list[tuple[str, Any]] | None:
    """All parts of a list, tuple, dict or dataclass, each with the step to it; None for a leaf."""
    if isinstance(value, dict):
        return [(f"[{k!r}]", part) for k, part in value.items()]
    if isinstance(value, (list, TensorShape)) or type(value) is tuple:
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    named = fields_of(value)
    return None if named is None else [(f".{name}", part) for name, part in named.items()]


def unflatten(structure: Structure, leaves: Any) -> Any:
    """Build the value of a structure from its leaves."""
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
        return _dict(kind, keys, pairs)
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def _dict(kind: Any, keys: tuple[Any, ...], pairs: dict[Any, Any]) -> Any:
    if type(keys) is not _Keys:
        return pairs if kind is dict else kind(pairs)
    in_order = {key: pairs[key] for key in keys.own}
    if kind is dict:
        return in_order
    return kind(keys.factory, in_order) if issubclass(kind, defaultdict) else kind(in_order)


def _dataclass(kind: Any, values: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)  # works for frozen dataclasses, too
    return made


def pack_as(value: Any, leaves: Any) -> Any:
    """Build a value like another one from its leaves, in the order of `flatten`; dicts keep the other's order of keys.

    Example:
        >>> pack_as({"b": 1, "a": [2, 3]}, [20, 30, 10])
        {'b': 10, 'a': [20, 30]}
    """
    return _pack_as(value, iter(leaves))


def _pack_as(value: Any, leaves: Iterator[Any]) -> Any:
    kind = type(value)
    if value is None:
        return None
    if isinstance(value, dict):
        return with_values(value, {key: _pack_as(value[key], leaves) for key in _keys(value)})
    if has_fields(kind):
        parts = fields_of(value) if isinstance(value, tuple) else {key: getattr(value, key) for key in _names(value)}
        return of_fields(kind, {key: _pack_as(part, leaves) for key, part in (parts or {}).items()})
    if kind is tuple or isinstance(value, (list, TensorShape)):
        packed = [_pack_as(part, leaves) for part in value]
        return tuple(packed) if isinstance(value, tuple) else packed
    return next(leaves)


def with_values(like: dict[Any, Any], values: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the class of another one, with its keys in its order, and with these values.

    Example:
        >>> with_values({"b": 1, "a": 2}, {"a": 3, "b": 4})
        {'b': 4, 'a': 3}
    """
    made = defaultdict(like.default_factory) if isinstance(like, defaultdict) else type(like)()
    for key in like:
        made[key] = values[key]
    return made


def flatten_like(structure: Structure, value: Any) -> list[Any]:
    """The parts of a value at the leaves of a structure; None in place of a part gives a None for each leaf.

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
            raise ValueError(f"the structure must be a {kind.__name__} here, not {value!r}.")
        parts = [getattr(value, key) for key in keys]
    elif keys is not None:
        if not isinstance(value, dict) or set(value) != set(keys):
            wanted = ", ".join(map(repr, keys))
            raise ValueError(f"the structure must be a dict with the keys {wanted} here, not {value!r}.")
        parts = [value[key] for key in keys]
    elif isinstance(value, (list, tuple)) and len(value) == len(children):
        parts = value
    else:
        raise ValueError(f"the structure must be a {kind.__name__} of {len(children)} here, not {value!r}.")
    return [leaf for child, part in zip(children, parts, strict=True) for leaf in flatten_like(child, part)]


def alike(first: Structure, second: Structure) -> bool:
    """Whether two structures are the same, with lists and tuples as one kind: functions may return either.

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
    """Apply a function to the leaves of a value, along with the leaves of others of the same structure.

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
