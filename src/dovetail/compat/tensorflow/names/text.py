"""Strings that a program knows while it builds its graph: `tf.constant("text")`.

They stay on the host: engines see only their shapes, and the numbers that say which of them are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.core.errors import describe, op_error
from dovetail.core.op import Op
from dovetail.core.recording import not_building
from dovetail.core.structure import leaf
from dovetail.core.tensor_shape import TensorShape
from dovetail.core.value_kinds import ValueKind, is_recorded, register
from dovetail.graph.base import new_scope

STRING = bytes  # `tf.string`
COMPARING = {"Equal", "NotEqual"}
COUNTING = {"Shape", "ZerosLike", "OnesLike"}  # ops that ask for the shape alone
MOVING = {
    *("BroadcastTo", "ConcatV2", "ExpandDims", "GatherNd", "GatherV2", "Identity", "Pack", "Reshape", "ReverseV2"),
    *("SelectV2", "SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose"),
}


class HostOperation(NamedTuple):
    """An operation of TensorFlow's graphs that is no operation here, such as a "Const" of strings."""

    type: str
    name: str
    inputs: tuple[Any, ...]
    graph: Any
    attrs: Mapping[str, Any] = {}


@leaf
class Text:
    """A tensor of known strings; sessions return it as bytes.

    Attributes:
        strings: an array of bytes.
        op: its operation; None outside of graphs.

    Source: the tensors of `tf.string` that `tf.constant` makes.
    """

    dtype, tensors = STRING, ()

    def __init__(self, strings: Any, type: str = "Const", name: str | None = None) -> None:
        self.strings, graph = np.array(strings, object), graph_mode.graph()
        whole = "" if graph is None else new_scope(graph, name or type).rstrip("/")
        self.op = None if graph is None else HostOperation(type, whole, (), graph, {"value": self.strings})

    @property
    def graph(self) -> Any:
        return self.op and self.op.graph

    @property
    def name(self) -> str:
        return f"{self.op.name}:0" if self.op else ""

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.strings.shape)

    def get_shape(self) -> TensorShape:
        """The shape."""
        return self.shape

    def numpy(self) -> Any:
        """The strings: bytes, or an array of them."""
        return self.strings if self.strings.ndim else self.strings.item()

    def written(self, arrays: Any) -> Any:
        """The result in a session."""
        return self.numpy()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The result in a session."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.strings.astype(dtype or object, copy=bool(copy))

    def __getitem__(self, index: Any) -> Text:
        return Text(self.strings[index], "strided_slice")

    def __add__(self, other: Any) -> Text:
        return Text(self.strings + strings_of(other), "add")

    def __radd__(self, other: Any) -> Text:
        return Text(strings_of(other) + self.strings, "add")

    def __repr__(self) -> str:
        known = f"shape={self.strings.shape}, dtype=string"
        return f"tf.Tensor({self.numpy()}, {known})" if self.op is None else f'Tensor("{self.name}", {known})'


def is_text(value: Any, dtype: Any = None) -> bool:
    """Whether a value is of strings, or is to be: `str`, `bytes`, lists and arrays of them."""
    if dtype is not None:
        return dtype is STRING or dtype is str or (isinstance(dtype, str) and dtype == "string")
    if isinstance(value, (list, tuple)):
        return bool(value) and is_text(value[0])
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    return isinstance(value, (str, bytes, Text)) or kind in ("S", "U") or (kind == "O" and is_text(value.tolist()))


def text(value: Any, name: str | None = None) -> Text:
    """Strings as a tensor; a tensor of strings itself."""
    return value if isinstance(value, Text) else Text(strings_of(value), name=name)


def strings_of(value: Any) -> np.ndarray:
    """A value of strings as an array of bytes.

    Raises:
        TypeError: some part is no string.
    """

    def encoded(one: Any) -> bytes:
        if not isinstance(one, (str, bytes)):
            raise TypeError(f"strings are needed, not {describe(one)}, of the type {type(one).__name__}.")
        return one.encode() if isinstance(one, str) else bytes(one)

    array = value.strings if isinstance(value, Text) else np.array(value, object)
    return np.array([encoded(one) for one in array.reshape(-1).tolist()], object).reshape(array.shape)


class _OfText(ValueKind):
    """Calls with strings: ops that move them, compare them or ask for their shape."""

    rank = 9

    def apply(self, op: Op, values: list[Any], name: str | None) -> Any:
        texts: list[np.ndarray] = []

        def noted(value: Any) -> None:
            if is_text(value):
                texts.append(strings_of(value))

        _mapped(op, values, noted)
        strings = np.concatenate([text.reshape(-1) for text in texts])
        if op.name in MOVING and not any(map(is_recorded, _tensors(op, values))):
            with not_building():
                found = op(*_in_place_of_texts(op, values, np.arange(strings.size)))
            parts = found if isinstance(found, (list, tuple)) else [found]
            moved = [Text(strings[part.numpy()], op.name, name) for part in parts]
            return moved if isinstance(found, (list, tuple)) else moved[0]
        has_type = op.name != "ZerosLike" or values[-1] is not None
        if op.name in COMPARING or (op.name in COUNTING and has_type):
            numbers = np.unique(strings, return_inverse=True)[1]
            return op(*_in_place_of_texts(op, values, numbers), name=name)
        does = "moves strings by numbers alone that are known before a run" if op.name in MOVING else "takes no strings"
        raise op_error(TypeError, op.name, f"it {does}: compute the strings in Python, and feed numbers.")

    def dtype(self, value: Any) -> Any:
        raise TypeError(f"{value!r} is of strings; a tensor of an engine is made of numbers, not of text.")


def _mapped(op: Op, values: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a call with a function's results in place of the ones that may be tensors."""
    found = list(values)
    for place, many in op.tensor_places:
        found[place] = tuple(map(function, values[place])) if many else function(values[place])
    return found


def _tensors(op: Op, values: list[Any]) -> list[Any]:
    found: list[Any] = []
    _mapped(op, values, found.append)
    return found


def _in_place_of_texts(op: Op, values: list[Any], numbers: np.ndarray) -> list[Any]:
    """The arguments of a call with parts of an array of numbers in place of strings, which follow each other in it."""
    left = iter(numbers.reshape(-1))

    def part(value: Any) -> Any:
        if not is_text(value):
            return value
        shape = strings_of(value).shape
        return np.array([next(left) for _ in range(int(np.prod(shape)))], "int64").reshape(shape)

    return _mapped(op, values, part)


register(Text, _OfText())
