"""Strings that a program knows while it builds its graph: `tf.constant("text")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.dtypes import is_of_strings
from dovetail.core.values.structure import leaf
from dovetail.core.values.value_kinds import is_recorded
from dovetail.formats.host.arrays import strings_of as strings_of
from dovetail.graph.naming import new_scope


class _Shown(type):
    def __repr__(cls) -> str:
        return "string"


class STRING(bytes, metaclass=_Shown):
    """The dtype of strings.

    Source: `tf.string`.
    """

    name, as_numpy_dtype, size, as_datatype_enum = "string", object, None, 7
    is_integer = is_floating = is_complex = is_bool = False

    @classmethod
    def is_compatible_with(cls, other: Any) -> bool:
        """Whether a dtype is of strings, too."""
        return is_of_strings(other)


STRING.base_dtype = STRING  # type: ignore[attr-defined]


class HostOperation(NamedTuple):
    """An operation of TensorFlow's graphs that is no operation here, such as a "Const" of strings."""

    type: str
    name: str
    inputs: tuple[Any, ...]
    graph: Any
    attrs: Mapping[str, Any] = {}


class Strings:
    """A tensor of strings: known ones, or ones that runs make."""

    dtype = STRING


@leaf
class Text(Strings):
    """A tensor of known strings; sessions return it as bytes.

    Attributes:
        strings: an array of bytes.
        op: its operation; None outside of graphs.

    Source: the tensors of `tf.string` that `tf.constant` makes.
    """

    tensors = ()

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

    def __getitem__(self, index: Any) -> Any:
        if is_recorded(index):
            return ops.take(self, index, axis=0)
        return Text(self.strings[index], "strided_slice")

    def __add__(self, other: Any) -> Text:
        if isinstance(other, Strings) and not isinstance(other, Text):
            return NotImplemented
        return Text(self.strings + strings_of(other), "add")

    def __radd__(self, other: Any) -> Text:
        return Text(strings_of(other) + self.strings, "add")

    def __repr__(self) -> str:
        known = f"shape={self.strings.shape}, dtype=string"
        return f"tf.Tensor({self.numpy()}, {known})" if self.op is None else f'Tensor("{self.name}", {known})'


def is_text(value: Any, dtype: Any = None) -> bool:
    """Whether a value is of strings, or is to be: `str`, `bytes`, lists and arrays of them."""
    if dtype is not None:
        return is_of_strings(dtype)
    if isinstance(value, (list, tuple)):
        return bool(value) and is_text(value[0])
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    return isinstance(value, (str, bytes, Strings)) or kind in ("S", "U") or (kind == "O" and is_text(value.tolist()))


def text(value: Any, name: str | None = None) -> Any:
    """Strings as a tensor; a tensor of strings itself."""
    return value if isinstance(value, Strings) else Text(strings_of(value), name=name)
