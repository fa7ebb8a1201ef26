"""Values of strings: the host has the elements, and the graph at most their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.formats.nodes.constants import constant_of, recorded, within
from dovetail.formats.onnx.nodes import Later, Node, Weight


def is_of_strings(value: Any) -> bool:
    return isinstance(value, Weight) and value.array.dtype.hasobject


def strings_of(node: Node, index: int = 0) -> np.ndarray:
    value: Any = node.inputs[index]
    if not is_of_strings(value):
        node.refuse(index, "array of strings")
    return value.array


def elements(node: Node) -> np.ndarray:
    """The elements of an input, strings or numbers, which must be known."""
    value: Any = node.inputs[0]
    return value.array if is_of_strings(value) else np.asarray(node.constant(0))


def pair_of(node: Node) -> tuple[np.ndarray, ...]:
    """The strings of two inputs, with one shape."""
    x, y = strings_of(node), strings_of(node, 1)
    within(*np.broadcast_shapes(x.shape, y.shape))
    return np.broadcast_arrays(x, y)


def placed(words: np.ndarray) -> Later:
    """Strings as their places among themselves."""
    return Later(recorded(np.arange(words.size).reshape(words.shape), "int64"), words.reshape(-1).__getitem__)


def words_at(places: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """The strings that a function makes of some places, at once if these are known."""
    known = constant_of(places)
    return Later(places, make) if known is None else Weight("", np.asarray(make(known), object))
