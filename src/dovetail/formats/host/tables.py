"""Nodes of tables, which are dicts: of keys and values, or of keys and counted lines of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.formats.opaque import Unreadable
from dovetail.formats.tensorflow.host.table import host

WHOLE_LINE, LINE_NUMBER = -2, -1  # columns of a file of text

Table = dict[Any, Any]


@host("HashTable HashTableV2 MutableHashTable MutableHashTableV2")
def _table(node: Any) -> Any:
    return [node.reader.store.table(node)]


@host("InitializeTable InitializeTableV2 LookupTableImport LookupTableImportV2")
def _fill(node: Any, table: Table, keys: np.ndarray, values: np.ndarray) -> Any:
    table.clear()
    return _insert(node, table, keys, values)


@host("LookupTableInsert LookupTableInsertV2")
def _insert(node: Any, table: Table, keys: np.ndarray, values: np.ndarray) -> Any:
    table.update(zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True))
    return []


@host("LookupTableRemoveV2")
def _remove(node: Any, table: Table, keys: np.ndarray) -> Any:
    for key in keys.reshape(-1).tolist():
        table.pop(key, None)
    return []


@host("InitializeTableFromTextFile InitializeTableFromTextFileV2")
def _fill_from_file(node: Any, table: Table, path: np.ndarray) -> Any:
    columns = node.attrs("key_index"), node.attrs("value_index")
    offset, count = node.attrs("offset", 0), node.attrs("vocab_size", -1)
    delimiter = node.attrs("delimiter", "\t").encode()
    lines = list(node.reader.store.lines(path.item()))[offset:][: count if count >= 0 else None]
    table.clear()
    for number, line in enumerate(lines):
        parts = line.split(delimiter)
        key, value = (_column(parts, line, number, column) for column in columns)
        table[key] = value
    return []


def _column(parts: list[bytes], line: bytes, number: int, column: int) -> Any:
    if column in (WHOLE_LINE, LINE_NUMBER):
        return line if column == WHOLE_LINE else number
    if column >= len(parts):
        raise ValueError(f"the line {number} of its file has {len(parts)} columns, and it takes column {column}.")
    return parts[column]


@host("LookupTableFind LookupTableFindV2")
def _find(node: Any, table: Table, keys: np.ndarray, default: np.ndarray) -> Any:
    if default.ndim:
        raise Unreadable("the values of its table are no scalars")
    nothing = default.item()
    found = np.empty(keys.shape, default.dtype)
    found.reshape(-1)[:] = [table.get(key, nothing) for key in keys.reshape(-1).tolist()]
    return found


@host("LookupTableSize LookupTableSizeV2")
def _size(node: Any, table: Table) -> Any:
    return np.array(len(table), np.int64)


@host("LookupTableExport LookupTableExportV2")
def _export(node: Any, table: Table) -> Any:
    kinds = [node.attrs(name) for name in ("Tkeys", "Tvalues")]
    dtypes = [object if kind is None else kind.numpy for kind in kinds]
    found = [np.empty(len(table), dtype) for dtype in dtypes]
    found[0][:], found[1][:] = list(table), list(table.values())
    return found


@host("RestoreV2")
def _restore(node: Any, prefix: np.ndarray, names: np.ndarray, slices: np.ndarray) -> Any:
    pairs = zip(names.reshape(-1).tolist(), slices.reshape(-1).tolist(), strict=True)
    return [node.reader.store.stored(name, spec) for name, spec in pairs]
