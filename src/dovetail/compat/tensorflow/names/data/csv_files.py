"""Data sets of tables in text files, whose columns are separated by commas."""

from __future__ import annotations

import csv
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.data.dataset import UNKNOWN, Dataset
from dovetail.compat.tensorflow.names.data.elements import Leaf
from dovetail.compat.tensorflow.names.data.sources import ignore_errors as without_errors
from dovetail.compat.tensorflow.names.io.files import found_files
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype

NUMBERS = [np.dtype(name) for name in ("int32", "int64", "float32", "float64")]  # the first that holds a column is it
STRINGS = len(NUMBERS)  # the place of strings behind them


class CsvDataset(Dataset):
    """The rows of tables, each as a tuple of its columns.

    Args:
        filenames: the names of the files.
        record_defaults: for each column its dtype, if each row needs a value, or a list with its default.
        header: whether the first line of each file is left out.
        field_delim: the sign between columns.
        use_quote_delim: whether quotes hold text with such signs.
        na_value: text that stands for a missing value.
        select_cols: the numbers of the columns; all, if not given.
        exclude_cols: the numbers of the columns that are left out.

    Raises:
        ValueError: a row lacks a value or a column; when it is computed.

    Source: `tf.data.experimental.CsvDataset`.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        if compression_type not in (None, ""):
            raise op_error(NotImplementedError, "tf.data.experimental.CsvDataset", "decompress the files before.")
        names = [name.decode() for name in strings_of(filenames).reshape(-1).tolist()]
        defaults = [_default(given) for given in record_defaults]
        without = {*(exclude_cols or ())}

        def cells(row: list[str]) -> tuple[Any, ...]:
            kept = [text for i, text in enumerate(row) if i not in without]
            fields = kept if select_cols is None else [kept[i] for i in select_cols if i < len(kept)]
            if len(fields) != len(defaults):
                problem = f"a row has {len(fields)} columns, and there are {len(defaults)} defaults: {row}."
                raise op_error(ValueError, "tf.data.experimental.CsvDataset", problem)
            return tuple(_cell(text, *default, na_value) for text, default in zip(fields, defaults, strict=True))

        def elements() -> Iterator[Any]:  # which goes on behind a row with an error
            return map(cells, _rows(names, header, field_delim, use_quote_delim))

        super().__init__(elements, UNKNOWN, tuple(Leaf(dtype, shape_of(())) for dtype, _ in defaults))


def _rows(names: Sequence[str], header: bool, sign: str, quotes: bool, encoding: str = "utf-8") -> Iterator[list[str]]:
    """The rows of files that follow each other."""
    for name in names:
        with open(name, newline="", encoding=encoding) as file:
            rows = csv.reader(file, delimiter=sign, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
            yield from filter(None, itertools.islice(rows, int(header), None))


def _default(given: Any) -> tuple[Any, Any]:
    """The dtype of a column, and its default; None if each row needs a value."""
    is_dtype = isinstance(given, (type, str)) or (hasattr(given, "itemsize") and not hasattr(given, "shape"))
    if is_dtype or isinstance(given, np.dtype):
        return (STRING if is_text(None, given) else as_dtype(given), None)
    if is_text(given):
        return STRING, next(iter(strings_of(given).reshape(-1).tolist()), None)
    known = np.asarray(given)
    if isinstance(given, (list, tuple)):
        known = known.astype({"float64": "float32", "int64": "int32"}.get(known.dtype.name, known.dtype.name))
    return as_dtype(known.dtype), known.reshape(-1)[0] if known.size else None


def _cell(text: str, dtype: Any, default: Any, missing: str) -> Any:
    """The value of a column in a row."""
    if text in ("", missing):
        if default is None:
            raise op_error(ValueError, "tf.data.experimental.CsvDataset", "a row lacks a value that has no default.")
        return default
    with np.errstate(over="ignore"):
        return text.encode() if dtype is STRING else dtype.numpy.type(text)


@function("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of rows of tables: a dictionary of columns, or that without the label's column, and the label.

    Args:
        file_pattern: patterns or names of files.
        batch_size: the rows of a batch; only the last one has fewer, if there is an end.
        column_names: the names of the columns; by default, the first line of each file has them.
        column_defaults: as for `CsvDataset`; by default the first rows tell the dtypes, and 0 or "" is missing.
        label_name: the column of the labels.
        select_columns: names or numbers of the columns that are read.
        num_epochs: how often the rows come; None for ever.
        shuffle, shuffle_buffer_size, shuffle_seed: whether, and as for `Dataset.shuffle`.
        num_rows_for_inference: how many rows tell the dtypes; None for all.
        ignore_errors: whether rows with errors are left out.

    Raises:
        ValueError: the files have different columns, or one of the names is wrong.

    Source: `tf.data.experimental.make_csv_dataset`.
    """
    names = sorted(name for one in strings_of(file_pattern).reshape(-1).tolist() for name in found_files(one.decode()))
    reading = field_delim, use_quote_delim, encoding
    columns = [*column_names] if column_names is not None else _header(names, *reading)
    chosen = _chosen(select_columns, columns)
    if column_defaults is None:
        first = itertools.islice(_rows(names, header, *reading), num_rows_for_inference)
        column_defaults = _inferred(([row[i] for i in chosen] for row in first), len(chosen), na_value)
    kept = [columns[i] for i in chosen]
    if len(column_defaults) != len(kept):
        raise _wrong(f"column_defaults has {len(column_defaults)} columns, and the columns {kept} are read.")
    if label_name is not None and label_name not in kept:
        raise _wrong(f"label_name={label_name!r} is none of the columns {kept}.")
    numbers = None if select_columns is None else chosen
    rows: Dataset = CsvDataset(names, column_defaults, compression_type, None, header, *reading[:2], na_value, numbers)
    rows = without_errors(rows) if ignore_errors else rows

    def arranged(row: Sequence[Any]) -> Any:
        cells = OrderedDict(zip(kept, row, strict=True))
        return cells if label_name is None else (cells, cells.pop(label_name))

    dataset = rows._with(lambda: map(arranged, rows._elements()), leaf=arranged(rows._leaf))
    dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else dataset
    return dataset.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)


def _wrong(problem: str) -> Exception:
    return op_error(ValueError, "tf.data.experimental.make_csv_dataset", problem)


def _header(names: Sequence[str], *reading: Any) -> list[str]:
    """The names of the columns, which the first line of each file has."""
    firsts = [next(_rows([name], False, *reading), []) for name in names]
    if not firsts or [] in firsts:
        raise _wrong("a file is empty, or there is none, so there are no names of columns.")
    if any(first != firsts[0] for first in firsts):
        raise _wrong("the files have different names of columns.")
    if len({*firsts[0]}) != len(firsts[0]):
        raise _wrong(f"two columns have one name: {firsts[0]}.")
    return firsts[0]


def _chosen(given: Sequence[Any] | None, columns: Sequence[str]) -> list[int]:
    """The numbers of the columns that are read, in order."""
    if given is None:
        return [*range(len(columns))]
    for each in given:
        if not (each in columns or (isinstance(each, int) and 0 <= each < len(columns))):
            raise _wrong(f"select_columns has {each!r}, and the columns are {[*columns]}.")
    return sorted(each if isinstance(each, int) else [*columns].index(each) for each in given)


def _inferred(rows: Iterator[list[str]], count: int, missing: str) -> list[Any]:
    """The defaults of columns, by the narrowest dtypes that hold the first rows."""
    places: list[int | None] = [None] * count
    for row in rows:
        for i, text in enumerate(row):
            if text not in ("", missing):
                least = places[i] or 0
                places[i] = next((at for at in range(least, STRINGS) if _holds(NUMBERS[at], text)), STRINGS)
    return [[""] if at in (None, STRINGS) else np.zeros(1, NUMBERS[at]) for at in places]


def _holds(dtype: np.dtype, text: str) -> bool:
    """Whether a dtype has the number that a text writes."""
    try:
        number = int(text) if dtype.kind == "i" else float(text)
    except ValueError:
        return False
    if dtype.kind == "i":
        return bool(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)
    with np.errstate(over="ignore"):
        return bool(dtype.type(number) < np.inf)


value("data.experimental.CsvDataset", CsvDataset)
