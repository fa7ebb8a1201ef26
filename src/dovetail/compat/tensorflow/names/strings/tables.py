"""TensorFlow's names for tables of words and numbers: dicts, which are read when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of
from dovetail.compat.tensorflow.table import constant_value, function
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import is_recorded
from dovetail.formats.host.hashes import fingerprint64

Items = tuple[np.ndarray, np.ndarray]  # keys and values


class Table:
    """A table that does not change.

    Args:
        read: a function that returns the keys and the values.
        default: the value of other keys; with `buckets`, the one of their numbers.
        buckets: the number of values behind the last one that other keys get by their hash.

    Source: `tf.lookup.StaticHashTable`.
    """

    def __init__(self, read: Callable[[], Items], dtype: Any, default: Any, buckets: int = 0) -> None:
        self.value_dtype, self._read, self._default, self._buckets = dtype, read, default, buckets
        self._items: dict[Any, Any] | None = None
        graph = graph_mode.graph()
        self.init = self.initializer = None if graph is None else graph.group(name="table_init")
        if graph is not None:
            graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.init)

    def _known(self) -> dict[Any, Any]:
        if self._items is None:
            keys, values = self._read()
            self._items = dict(zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))
        return self._items

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        kind = object if self.value_dtype is STRING else self.value_dtype.numpy

        def find(keys: np.ndarray) -> np.ndarray:
            found = np.empty(keys.size, kind)
            found[:] = [self._value(key) for key in keys.reshape(-1).tolist()]
            return found.reshape(keys.shape)

        shape = keys.shape if hasattr(keys, "shape") else np.shape(keys)
        return computed(find, [keys], [self.value_dtype], [shape], name)[0]

    def _value(self, key: Any) -> Any:
        items = self._known()
        if key in items or not self._buckets:
            return items.get(key, self._default)
        return len(items) + fingerprint64(key if isinstance(key, bytes) else str(key).encode()) % self._buckets

    def size(self, name: str | None = None) -> Any:
        """The number of its items, and of buckets."""
        return computed(lambda: np.int64(len(self._known()) + self._buckets), [], ["int64"], [()], name)[0]


class KeyValueTensorInitializer:
    """The items of a table: keys, and a value for each.

    Source: `tf.lookup.KeyValueTensorInitializer`.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys, self._values = _array(keys, key_dtype), _array(values, value_dtype)
        self.value_dtype = STRING if self._values.dtype == object else as_dtype(self._values.dtype)

    def items(self) -> Items:
        """The keys and the values."""
        return self._keys, self._values


def _array(given: Any, dtype: Any) -> np.ndarray:
    if is_text(given, dtype):
        return strings_of(given)
    found = np.asarray(constant_value(given) if is_recorded(given) else given)
    return found if dtype is None else found.astype(as_dtype(dtype).numpy)


@function("lookup.StaticHashTable contrib.lookup.HashTable")
def hash_table(initializer: Any, default_value: Any, name: str | None = None) -> Table:
    """A table of an initializer's items.

    Args:
        initializer: a `tf.lookup.KeyValueTensorInitializer`.
        default_value: the value of other keys.

    Source: `tf.lookup.StaticHashTable`.
    """
    return Table(initializer.items, initializer.value_dtype, _plain(default_value))


def _plain(default: Any) -> Any:
    return default.encode() if isinstance(default, str) else default


def _lines(path: Any, count: int | None) -> np.ndarray:
    lines = Path(str(path)).read_bytes().splitlines()
    return strings_of(lines if count is None else lines[:count])


def _of_words(words: Callable[[], np.ndarray], buckets: int, default: int) -> Table:
    def items() -> Items:
        found = words()
        return found, np.arange(found.size)

    return Table(items, as_dtype("int64"), default, buckets)


def _of_numbers(words: Callable[[], np.ndarray], default: Any) -> Table:
    def items() -> Items:
        found = words()
        return np.arange(found.size), found

    return Table(items, STRING, _plain(default))


@function("contrib.lookup.index_table_from_tensor", "v1")
def index_table_from_tensor(
    mapping: Any, num_oov_buckets: int = 0, default_value: int = -1, dtype: Any = STRING, name: str | None = None
) -> Table:
    """A table of words → their numbers in a vector.

    Args:
        num_oov_buckets: the number of numbers for other words, which get one by their hash.
        default_value: the number of other words, without buckets.

    Source: `tf.contrib.lookup.index_table_from_tensor`.
    """
    words = _array(mapping, None)
    return _of_words(lambda: words, num_oov_buckets, default_value)


@function("contrib.lookup.index_table_from_file", "v1")
def index_table_from_file(
    vocabulary_file: Any,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    name: str | None = None,
) -> Table:
    """A table of words → the numbers of their lines in a file; see `index_table_from_tensor`.

    Args:
        vocab_size: the number of lines that are read; all, if not given.

    Raises:
        ValueError: no file is named.

    Source: `tf.contrib.lookup.index_table_from_file`.
    """
    if not vocabulary_file:
        raise op_error(ValueError, "tf.contrib.lookup.index_table_from_file", "it needs the name of a file.")
    return _of_words(lambda: _lines(vocabulary_file, vocab_size), num_oov_buckets, default_value)


@function("contrib.lookup.index_to_string_table_from_tensor", "v1")
def index_to_string_table_from_tensor(mapping: Any, default_value: str = "UNK", name: str | None = None) -> Table:
    """A table of numbers → the words of a vector.

    Source: `tf.contrib.lookup.index_to_string_table_from_tensor`.
    """
    words = _array(mapping, None)
    return _of_numbers(lambda: words, default_value)


@function("contrib.lookup.index_to_string_table_from_file", "v1")
def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None
) -> Table:
    """A table of numbers → the lines of a file.

    Source: `tf.contrib.lookup.index_to_string_table_from_file`.
    """
    return _of_numbers(lambda: _lines(vocabulary_file, vocab_size), default_value)


value("lookup.KeyValueTensorInitializer contrib.lookup.KeyValueTensorInitializer", KeyValueTensorInitializer)
