"""`dovetail show`: the contents of a file, as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.cli.table import printable, table
from dovetail.core.memory import size_text
from dovetail.formats.summary.base import Summary, Table
from dovetail.formats.summary.kinds import summarize

SHORT = 25  # rows of a table, unless all are wanted


def run(path: Path, everything: bool, as_json: bool) -> int:
    """Print the contents of a file, and return the exit status."""
    found = summarize(path)
    if as_json:
        tables = [part._asdict() for part in found.tables]
        print(json.dumps(found._asdict() | {"tables": tables}, indent=1))
    else:
        print(printed(found, None if everything else SHORT))
    return 0


def printed(found: Summary, most: int | None) -> str:
    """A summary as text, with at most this number of rows in a table."""
    lines = [f"{printable(found.path)}: {found.kind}"]
    lines += [f"  {printable(name)}: {printable(str(value))}" for name, value in found.facts.items()]
    return "\n\n".join(["\n".join(lines), *(_printed(part, most) for part in found.tables)])


def _printed(part: Table, most: int | None) -> str:
    shown = list(part.rows[:most])
    rows = [list(part.columns), *(_cells(part.columns, row) for row in shown)]
    if left := len(part.rows) - len(shown):
        rows.append([f"... {left} more (--all)", *[""] * (len(part.columns) - 1)])
    if part.total:
        rows.append(_cells(part.columns, part.total))
    return f"{part.title}\n{table(rows)}"


def _cells(columns: tuple[str, ...], row: tuple[Any, ...]) -> list[str]:
    return [_cell(column, value) for column, value in zip(columns, row, strict=True)]


def _cell(column: str, value: Any) -> str:
    """A cell as text.

    Example:
        >>> _cell("shape", (None, 3)), _cell("bytes", 2048), _cell("count", 1024)
        ('[?,3]', '2.05 kB', '1,024')
    """
    if value is None:
        return "?"
    if isinstance(value, tuple):
        return f"[{','.join('?' if size is None else str(size) for size in value)}]"
    if isinstance(value, int):
        return size_text(value) if column == "bytes" else f"{value:,}"
    return printable(str(value))
