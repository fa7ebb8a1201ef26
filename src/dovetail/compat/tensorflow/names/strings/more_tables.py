"""Tables of the columns of files, of vocabularies with buckets, and tables that runs change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.python_calls import done_in
from dovetail.compat.tensorflow.names.strings.tables import Table
from dovetail.compat.tensorflow.names.strings.tensors import called, computed
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.formats.host import tables


class TextFileIndex:
    """Numbers of columns of files: a whole line, and the number of a line.

    Source: `tf.lookup.TextFileIndex`.
    """

    WHOLE_LINE, LINE_NUMBER = tables.WHOLE_LINE, tables.LINE_NUMBER


def _kind(dtype: Any) -> Any:
    return STRING if is_text(None, dtype) else as_dtype(dtype)


def _reader(dtype: Any) -> Callable[[Any], Any]:
    """What makes a value of the text of a column, or of the number of a line."""
    if dtype is STRING:
        return lambda column: column if isinstance(column, bytes) else str(column).encode()
    return float if dtype.is_floating else int


class TextFileInitializer:
    """The items of a table: two columns of the lines of a file.

    Args:
        key_index, value_index: the numbers of the columns of keys and of values, as of `TextFileIndex`.
        vocab_size: how many lines are read; all, if not given.
        value_index_offset: is added to the numbers of lines that are values.

    Source: `tf.lookup.TextFileInitializer`.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self.key_dtype, self.value_dtype = _kind(key_dtype), _kind(value_dtype)
        self._path, self._columns, self._delimiter = filename, (key_index, value_index), delimiter
        self._most = -1 if vocab_size is None else vocab_size
        self._offset = value_index_offset if value_index == tables.LINE_NUMBER else 0

    def items(self) -> tables.Table:
        """The values of keys."""
        path = self._path.decode() if isinstance(self._path, bytes) else str(self._path)
        lines = Path(path).read_bytes().splitlines()
        read = tables.items_of_lines(lines, *self._columns, vocab_size=self._most, delimiter=self._delimiter)
        key, value = _reader(self.key_dtype), _reader(self.value_dtype)
        return {key(k): value(v) + self._offset if self._offset else value(v) for k, v in read.items()}


class TextFileIdTableInitializer(TextFileInitializer):
    """The items of a table of the lines of a file → their numbers.

    Source: `tf.contrib.lookup.TextFileIdTableInitializer`.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = tables.WHOLE_LINE,
        value_column_index: int = tables.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        key_dtype: Any = STRING,
    ) -> None:
        super().__init__(filename, key_dtype, key_column_index, "int64", value_column_index, vocab_size, delimiter)


class TextFileStringTableInitializer(TextFileInitializer):
    """The items of a table of the numbers of the lines of a file → the lines.

    Source: `tf.contrib.lookup.TextFileStringTableInitializer`.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = tables.LINE_NUMBER,
        value_column_index: int = tables.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(filename, "int64", key_column_index, STRING, value_column_index, vocab_size, delimiter)


@function("lookup.StaticVocabularyTable")
def vocabulary_table(
    initializer: Any,
    num_oov_buckets: int,
    lookup_key_dtype: Any = None,
    name: str | None = None,
    experimental_is_anonymous: bool = False,
) -> Table:
    """A table of words → numbers, which gives other words a number behind the last one, by their hash.

    Raises:
        ValueError: there are no numbers for other words, or the values are no int64.

    Source: `tf.lookup.StaticVocabularyTable`.
    """
    if num_oov_buckets <= 0:
        problem = f"num_oov_buckets must be above 0, not {num_oov_buckets}: use tf.lookup.StaticHashTable."
        raise op_error(ValueError, "tf.lookup.StaticVocabularyTable", problem)
    if initializer is None:
        return Table(dict, as_dtype("int64"), -1, num_oov_buckets)
    if initializer.value_dtype != "int64":
        problem = f"the values must be int64, not {initializer.value_dtype}."
        raise op_error(ValueError, "tf.lookup.StaticVocabularyTable", problem)
    return Table(initializer.items, initializer.value_dtype, -1, num_oov_buckets)


@function("contrib.lookup.IdTableWithHashBuckets", "v1")
def table_with_buckets(
    table: Table | None, num_oov_buckets: int, hasher_spec: Any = None, name: str | None = None, key_dtype: Any = None
) -> Table:
    """A table, which gives other words a number behind its last one, by their hash.

    Source: `tf.contrib.lookup.IdTableWithHashBuckets`.
    """
    read = dict if table is None else table.items
    return Table(read, as_dtype("int64"), -1, num_oov_buckets)


class MutableHashTable:
    """A table that runs change.  Its items are in no checkpoint.

    Args:
        default_value: the value of other keys, which has the shape of all values.

    Source: `tf.contrib.lookup.MutableHashTable`, `tf.lookup.experimental.MutableHashTable`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> table = tf.lookup.experimental.MutableHashTable("int64", "float32", [0.0, 0.0])
        >>> table.insert([3], [[1.0, 2.0]])
        >>> table.lookup([3, 4]).numpy().tolist(), int(table.size())
        ([[1.0, 2.0], [0.0, 0.0]], 1)
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.name, self.key_dtype, self.value_dtype = name, _kind(key_dtype), _kind(value_dtype)
        self._default = self._array(default_value)
        self._items: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def _array(self, values: Any) -> np.ndarray:
        return strings_of(values) if self.value_dtype is STRING else np.asarray(values, self.value_dtype.numpy)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Add items; in a graph, the operation that does."""

        def put(keys: np.ndarray, values: np.ndarray) -> None:
            rows = np.reshape(values, (keys.size, *self._default.shape))
            with self._lock:
                self._items.update(zip(keys.reshape(-1).tolist(), rows, strict=True))

        return self._done(put, [keys, values], name)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Remove the items of keys; in a graph, the operation that does."""

        def away(keys: np.ndarray) -> None:
            with self._lock:
                tables.remove(self._items, keys)

        return self._done(away, [keys], name)

    erase = remove

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The values of keys."""

        def find(keys: np.ndarray) -> np.ndarray:
            with self._lock:
                rows = [self._items.get(key, self._default) for key in keys.reshape(-1).tolist()]
            found = np.empty((len(rows), *self._default.shape), self._default.dtype)
            found[:] = rows or found
            return found.reshape(*keys.shape, *self._default.shape)

        shape = keys.shape if hasattr(keys, "shape") else np.shape(keys)
        return self._found(find, [keys], [self.value_dtype], [(*shape, *self._default.shape)], name)[0]

    def size(self, name: str | None = None) -> Any:
        """The number of its items."""
        return self._found(lambda: np.int64(len(self._items)), [], [as_dtype("int64")], [()], name)[0]

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """The keys and the values."""

        def items() -> list[np.ndarray]:
            with self._lock:
                keys, rows = list(self._items), [*self._items.values()]
            taken = strings_of(keys) if self.key_dtype is STRING else np.array(keys, self.key_dtype.numpy)
            return [taken, np.reshape(self._array(rows), (len(rows), *self._default.shape))]

        kinds = [self.key_dtype, self.value_dtype]
        keys, values = self._found(items, [], kinds, [(None,), (None, *self._default.shape)], name)
        return keys, values

    def _found(self, run: Callable[..., Any], inputs: Sequence[Any], *how: Any) -> list[Any]:
        made: list[Any] = (computed if graph_mode.graph() is None else called)(run, inputs, *how)
        return made

    def _done(self, run: Callable[..., None], inputs: list[Any], name: str | None) -> Any:
        graph = graph_mode.graph()
        kinds = self.key_dtype, self.value_dtype
        given = [x if hasattr(x, "dtype") else _of(x, kind) for x, kind in zip(inputs, kinds, strict=False)]
        if graph is not None:
            return done_in(graph, run, given, name)
        run(*(strings_of(x) if is_text(x) else np.asarray(x) for x in given))
        return None


def _of(values: Any, kind: Any) -> Any:
    return strings_of(values) if kind is STRING else np.asarray(values, kind.numpy)


class DenseHashTable(MutableHashTable):
    """`MutableHashTable`, with arguments for the places of its items, which count nothing here.

    Source: `tf.lookup.experimental.DenseHashTable`.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any = None,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name=name)


@function("contrib.lookup.MutableDenseHashTable", "v1")
def mutable_dense_hash_table(
    key_dtype: Any,
    value_dtype: Any,
    default_value: Any,
    empty_key: Any,
    initial_num_buckets: int | None = None,
    shared_name: str | None = None,
    name: str = "MutableDenseHashTable",
    checkpoint: bool = True,
    deleted_key: Any = None,
) -> DenseHashTable:
    """A `tf.lookup.experimental.DenseHashTable`.

    Source: `tf.contrib.lookup.MutableDenseHashTable`.
    """
    return DenseHashTable(key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets, name)


value("lookup.TextFileIndex contrib.lookup.TextFileIndex", TextFileIndex)
value("lookup.TextFileInitializer contrib.lookup.TextFileInitializer", TextFileInitializer)
value("contrib.lookup.TextFileIdTableInitializer", TextFileIdTableInitializer, "v1")
value("contrib.lookup.TextFileStringTableInitializer", TextFileStringTableInitializer, "v1")
value("contrib.lookup.MutableHashTable", MutableHashTable, "v1")
value("lookup.experimental.MutableHashTable", MutableHashTable)
value("lookup.experimental.DenseHashTable", DenseHashTable)
