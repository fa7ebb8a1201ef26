"""TensorFlow's names for tables of words and numbers: dicts, which are read when they are first needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of
from dovetail.compat.tensorflow.table import constant_value, function
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_recorded
from dovetail.formats.host import tables


class Table:
    """A table that does not change.

    Args:
        read: a function that returns the items.
        dtype: of the values.
        default: the value of other keys; with `buckets`, the one of their numbers.
        buckets: the number of values behind the last one that other keys get by their hash.

    Source: `tf.lookup.StaticHashTable`.
    """

    def __init__(self, read: Callable[[], tables.Table], dtype: Any, default: Any, buckets: int = 0) -> None:
        self.value_dtype, self.items, self._buckets = dtype, functools.cache(read), buckets
        self._default = strings_of(default) if dtype is STRING else np.asarray(default, dtype.numpy)
        graph = graph_mode.graph()
        self.init = self.initializer = None if graph is None else graph.group(name="table_init")
        if graph is not None:
            graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.init)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys."""
        find = lambda keys: tables.find(self.items(), keys, self._default, buckets=self._buckets)  # noqa: E731
        shape = keys.shape if hasattr(keys, "shape") else np.shape(keys)
        return computed(find, [keys], [self.value_dtype], [shape], name)[0]

    def size(self, name: str | None = None) -> Any:
        """The number of its items, and of buckets."""
        return computed(lambda: tables.size(self.items()) + self._buckets, [], ["int64"], [()], name)[0]


class KeyValueTensorInitializer:
    """The items of a table: keys, and a value for each.

    Source: `tf.lookup.KeyValueTensorInitializer`.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys, self._values = _array(keys, key_dtype), _array(values, value_dtype)
        self.value_dtype = STRING if self._values.dtype == object else as_dtype(self._values.dtype)

    def items(self) -> tables.Table:
        """The values of keys."""
        return tables.items_of(self._keys, self._values)


def _array(given: Any, dtype: Any) -> np.ndarray:
    if is_text(given, dtype):
        return strings_of(given)
    array = np.asarray(constant_value(given) if is_recorded(given) else given)
    return array if dtype is None else array.astype(as_dtype(dtype).numpy)


@function("lookup.StaticHashTable contrib.lookup.HashTable")
def hash_table(initializer: Any, default_value: Any, name: str | None = None) -> Table:
    """A table of an initializer's items.

    Args:
        initializer: a `tf.lookup.KeyValueTensorInitializer`.
        default_value: the value of other keys.

    Source: `tf.lookup.StaticHashTable`.
    """
    return Table(initializer.items, initializer.value_dtype, default_value)


def _lines(path: Any, count: int | None, *columns: int) -> tables.Table:
    """The table of the first lines of a file, by columns of keys and values."""
    most = -1 if count is None else count
    return tables.items_of_lines(Path(str(path)).read_bytes().splitlines(), *columns, vocab_size=most)


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
    read = lambda: tables.items_of(words, np.arange(words.size))  # noqa: E731
    return Table(read, as_dtype("int64"), default_value, num_oov_buckets)


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
    read = partial(_lines, vocabulary_file, vocab_size, tables.WHOLE_LINE, tables.LINE_NUMBER)
    return Table(read, as_dtype("int64"), default_value, num_oov_buckets)


@function("contrib.lookup.index_to_string_table_from_tensor", "v1")
def index_to_string_table_from_tensor(mapping: Any, default_value: str = "UNK", name: str | None = None) -> Table:
    """A table of numbers → the words of a vector.

    Source: `tf.contrib.lookup.index_to_string_table_from_tensor`.
    """
    words = _array(mapping, None)
    return Table(lambda: tables.items_of(np.arange(words.size), words), STRING, default_value)


@function("contrib.lookup.index_to_string_table_from_file", "v1")
def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None
) -> Table:
    """A table of numbers → the lines of a file.

    Source: `tf.contrib.lookup.index_to_string_table_from_file`.
    """
    read = partial(_lines, vocabulary_file, vocab_size, tables.LINE_NUMBER, tables.WHOLE_LINE)
    return Table(read, STRING, default_value)


value("lookup.KeyValueTensorInitializer contrib.lookup.KeyValueTensorInitializer", KeyValueTensorInitializer)
