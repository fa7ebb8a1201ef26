"""The plain data of a summary: facts and tables, whose cells are strings, numbers, shapes and None."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.base.texts import count_text

Shape: TypeAlias = tuple[int | None, ...]  # None is an unknown dimension


class Table(NamedTuple):
    """A table of a summary.

    Attributes:
        title: its contents, as `variables`.
        columns: their names; in `bytes` are sizes, and in `shape` are shapes, None if the rank is not known.
        rows: the cells, in order; None if a value is not known.
        total: the last row; empty if there is none.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    total: tuple[Any, ...] = ()


class Summary(NamedTuple):
    """The contents of a file.

    Attributes:
        path: the file, or the folder.
        kind: its kind, as `SavedModel`.
        facts: name → string or number.
        tables: those that have rows.
    """

    path: str
    kind: str
    facts: Mapping[str, Any]
    tables: Sequence[Table]


class Value(NamedTuple):
    """A tensor in a file: its name, dtype and shape, and its size, which is computed if it is not given."""

    name: str
    dtype: str
    shape: Shape | None
    size: int | None = None


@functools.cache
def _computed() -> dict[str, frozenset[str]]:
    """Format → the types of nodes that Dovetail computes.

    The file is written by `python -m tests.formats.type_lists`, so a summary does without the tables of their rows.
    """
    lines = Path(__file__).with_name("computed.txt").read_text().splitlines()
    return {name: frozenset(types.split()) for name, _, types in (line.partition(": ") for line in lines)}


def marked(format: str, type: str) -> str:
    """The type of a node of "onnx" or "tensorflow"; it is marked if nothing computes it.

    Example:
        >>> marked("tensorflow", "MatMul"), marked("tensorflow", "AudioSpectrogram")
        ('MatMul', 'AudioSpectrogram (opaque)')
    """
    return type if type in _computed()[format] else f"{type} (opaque)"


def values(title: str, given: Iterable[Value]) -> Table:
    """A table of tensors, the largest first, with totals.

    Example:
        >>> values("variables", [Value("b", "float32", (3,), 12), Value("w", "float32", (2, 3), 24)]).total
        ('2 variables', '', '', 9, 36)
    """
    rows: list[tuple[Any, ...]] = [(v.name, v.dtype, v.shape, elements(v.shape), v.size) for v in given]
    rows.sort(key=lambda row: (-(row[-1] or 0), row[0]))
    sums = [sum(row[column] or 0 for row in rows) for column in (3, 4)]
    columns = ("name", "dtype", "shape", "elements", "bytes")
    noun = title.removesuffix("s") if len(rows) == 1 else title
    return Table(title, columns, rows, (f"{len(rows)} {noun}", "", "", *sums))


def elements(shape: Shape | None) -> int | None:
    """The number of elements; None if it is not known."""
    return None if shape is None or None in shape else math.prod(shape)  # type: ignore[arg-type]  # no None is left


def operations(counts: Mapping[str, Counter[str]]) -> Table:
    """A table of operations by type, the most frequent first, with totals.

    Args:
        counts: the name of a column → type → count; a column without counts is left out.

    Example:
        >>> operations({"count": Counter(["Mul", "Add", "Mul"])}).rows
        [('Mul', 2), ('Add', 1)]
    """
    used = {name: counter for name, counter in counts.items() if counter}
    whole = sum(used.values(), Counter[str]())
    rows = [(kind, *(c[kind] for c in used.values())) for kind in sorted(whole, key=lambda k: (-whole[k], k))]
    total = (count_text(len(rows), "type"), *(c.total() for c in used.values()))
    return Table("operations", ("operation", *used), rows, total)


def signature(rows: Iterable[tuple[str, str, Value]], whose: str = "signature") -> Table:
    """A table of inputs and outputs.

    Args:
        rows: the name of a signature, "input" or "output", and the tensor.
        whose: the title of the first column.
    """
    columns = (whose, "direction", "name", "dtype", "shape")
    return Table("inputs and outputs", columns, [(name, way, v.name, v.dtype, v.shape) for name, way, v in rows])


def summary(path: Any, kind: str, facts: Mapping[str, Any], tables: Iterable[Table]) -> Summary:
    """A summary without the facts and tables that are empty."""
    known = {name: value for name, value in facts.items() if value not in (None, "", 0)}
    return Summary(str(path), kind, known, [table for table in tables if table.rows])
