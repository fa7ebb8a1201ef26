"""Host nodes are computed: at once, one after the other, on NumPy arrays.

A type of the table `HOST` has a function.  All other nodes are computed by the same rows and functions as those of the
graph, with NumPy's engine.  If such a node moves strings or variants, it moves the numbers that they have for this one
node.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.errors import FormatError, op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.tensor import Tensor
from dovetail.formats.host.numbers import Numbers
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.calls import listed
from dovetail.formats.tensorflow.places import FORKS, PASSING
from dovetail.formats.tensorflow.read_nodes import JOINS, Node
from dovetail.formats.tensorflow.reading import Reader
from dovetail.formats.tensorflow.table import HOST, host
from dovetail.formats.tensorflow.tensor_lists import TensorList
from dovetail.formats.tensorflow.values import Foreign
from dovetail.formats.wire.tensors import STRING, VARIANT, array_of

NUMBER = as_dtype("uint64")  # the dtype of numbers that stand for strings and variants
OBJECTS = (STRING, VARIANT)  # dtypes whose values have such numbers
WHOLE = {*PASSING, *FORKS, *JOINS}  # they pass strings on, and compute nothing with them
FAILURES = (Unreadable, TypeError, ValueError, LookupError, NotImplementedError, OverflowError, OSError)


class _Now:
    """The place of a graph where nodes are computed at once."""

    scope = ""

    def constant(self, value: Any, name: str | None = None) -> Any:
        return ops.convert(value)

    def at_scope(self, scope: str) -> AbstractContextManager[None]:
        return nullcontext()


class _Coder:
    """The numbers of strings and variants, for one node.

    Args:
        has_texts: whether the node has such values; if not, all numbers are numbers.
    """

    def __init__(self, has_texts: bool) -> None:
        self._numbers, self._has_texts = Numbers(), has_texts

    def coded(self, value: Any) -> Any:
        """A value with tensors in place of arrays."""
        if isinstance(value, TensorList):
            return replace(value, data=self.coded(value.data), size=self.coded(value.size))
        if _has_texts(value):
            return ops.convert(self._numbers.of(value).astype(NUMBER.numpy))
        return ops.convert(value) if isinstance(value, np.ndarray) else value

    def decoded(self, value: Any) -> Any:
        """A result with arrays in place of tensors."""
        if isinstance(value, TensorList):
            return replace(value, data=self.decoded(value.data), size=self.decoded(value.size))
        array = plain(value)
        is_coded = self._has_texts and isinstance(array, np.ndarray) and array.dtype == NUMBER.numpy
        return self._numbers.values(array) if is_coded else array


class _Coded(Attributes):
    """The attributes of a node that moves the numbers of strings or variants."""

    def __call__(self, name: str, *default: Any) -> Any:
        value = super().__call__(name, *default)
        is_object = name in self and self._node.attr[name].type in OBJECTS
        return NUMBER if is_object else value


def plain(value: Any) -> Any:
    """A tensor as an array; other values as they are."""
    return np.asarray(value.numpy()) if type(value) is Tensor else value


class Evaluator(Reader):
    """A reader that computes each node at once.

    Args:
        file: the file, for errors.
        functions: name → message `FunctionDef`.
        store: tables, files and checkpoint of the model; a `Store`.
    """

    runs = True

    def __init__(self, file: str | os.PathLike[str], functions: Mapping[str, Any], store: Any) -> None:
        super().__init__(file, functions, lambda node: node)
        self.store = store
        self.now = _Now()

    @property
    def graph(self) -> Any:
        return self.now

    def noted(self, node: Node, results: list[Any]) -> list[Any]:
        return results

    @contextmanager
    def named(self, title: str) -> Iterator[list[Any]]:
        yield []

    def recorded(self, value: Any) -> Any:
        return value

    def results(self, node: Node) -> list[Any]:
        """The values of a node whose inputs are known.

        Raises:
            NotImplementedError: Dovetail has no rule for it.
            ValueError: it is given values that it does not take.
        """
        return self._results(node)

    def _results(self, node: Node) -> list[Any]:
        try:
            return self._values(node)
        except FormatError:
            raise
        except FAILURES as error:
            kind = NotImplementedError if isinstance(error, (Unreadable, NotImplementedError)) else ValueError
            raise op_error(kind, f"{node.type} {node.name!r}", f"{error}") from error

    def _values(self, node: Node) -> list[Any]:
        if node.type in HOST:
            for number, value in enumerate(node.inputs):
                if isinstance(value, Foreign):
                    raise node.refused(number, "nothing that is computed")
            return listed(HOST[node.type](node, *map(plain, node.inputs)))
        if node.type in WHOLE or node.type in self.functions:
            node.inputs = [ops.convert(value) if _is_numbers(value) else value for value in node.inputs]
            return list(map(plain, self._computed(node)))
        has_objects = any(attribute.type in OBJECTS for attribute in node.proto.attr.values())
        coder = _Coder(has_objects or any(map(_has_texts, node.inputs)))
        coded = Node(self, node.body, node.proto, list(map(coder.coded, node.inputs)))
        coded.attrs = _Coded(node.proto)
        return list(map(coder.decoded, self._computed(coded)))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind != "O"


def _has_texts(value: Any) -> bool:
    value = value.data if isinstance(value, TensorList) else value
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


@host("Const ConstV2 HostConst")
def _const(node: Node) -> Any:
    return array_of(node.proto.attr["value"].tensor, node.reader.file, f"the constant {node.name!r}")


@host("OptionalFromValue OptionalNone")
def _optional(node: Node, *values: Any) -> Any:
    return [None]
