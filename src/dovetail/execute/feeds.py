"""Feeds: the values that a run gets for tensors of its graph; nested ones, and those that do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.values.shapes import fits
from dovetail.core.values.value_kinds import static_shape
from dovetail.edit.graph import GraphTensor


def flat_feeds(feeds: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Flatten feeds, so that no key is a structure.

    Args:
        feeds: keys → values.  A key may be a tuple or a named tuple of keys; then its value is a structure with as many
            leaves.  Structures are tuples, lists and dicts, whose values are taken by sorted keys.

    Raises:
        ValueError: a value has more or fewer leaves than its key, or a key is given twice.

    Example:
        >>> import numpy as np
        >>> flat_feeds({("c", ("h", "x")): (1.0, [2.0, np.array(3.0)]), "y": [4.0, 5.0]})
        {'c': 1.0, 'h': 2.0, 'x': array(3.), 'y': [4.0, 5.0]}
    """
    flat: dict[Any, Any] = {}
    for key, value in dict(feeds or {}).items():
        keys, values = [key], [value]
        if _is_structure(key):
            keys, values = list(_leaves(key)), list(_leaves(value))
            if len(keys) != len(values):
                problem = f"the key {key!r} has {len(keys)} tensors, and its value {len(values)} leaves: {value!r}"
                raise ValueError(f"{problem}. A list is a structure there; write numpy.array([...]) for one value.")
        for one, its in zip(keys, values, strict=True):
            if one in flat:
                raise ValueError(f"{one!r} is fed twice.")
            flat[one] = its
    return flat


def _is_structure(value: Any) -> bool:
    return isinstance(value, (tuple, list, dict)) and not isinstance(value, TensorShape)


def _leaves(value: Any) -> Iterator[Any]:
    """The leaves of a structure, in the order of TensorFlow's `tf.nest`."""
    if not _is_structure(value):
        yield value
        return
    for part in (value[key] for key in sorted(value)) if isinstance(value, dict) else value:
        yield from _leaves(part)


def check_feed(tensor: GraphTensor, value: Any) -> None:
    """Refuse a value that a tensor cannot have.

    Raises:
        TypeError: it is no number and no array.
        ValueError: its shape does not fit.
    """
    name = tensor.op.name
    if value is None or type(value) is GraphTensor:
        raise TypeError(f"the input {name!r} needs a value, a number or an array, not {value!r}.")
    shape = static_shape(value)
    if not fits(tuple(shape), tensor.shape):
        raise ValueError(f"the input {name!r} is {tensor.spec!r}: a value of shape {tuple(shape)} does not fit.")
