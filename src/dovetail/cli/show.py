"""`dovetail show`: the contents of a file, as tables; the graph of a file or a function, as text or as a picture."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dovetail.cli import pictures
from dovetail.cli.inputs import WrongInput, graph_of, imported, inputs_of, is_function
from dovetail.cli.table import printable, table
from dovetail.core.memory import size_text
from dovetail.formats import show
from dovetail.formats.summary.base import Summary, Table
from dovetail.formats.summary.kinds import summarize

SHORT = 25  # rows of a table, unless all are wanted


def run(options: argparse.Namespace) -> int:
    """Print the contents of a file or the graph of a function, or write a picture; return the exit status."""
    picture = options.out or (Path(f"{_stem(options.path)}.html") if options.html else None)
    if picture is not None:
        _write_picture(options, picture)
    elif is_function(options.path):
        print(graph_of(imported(options.path), inputs_of(options.inputs), options.path))
    else:
        _print_tables(options)
    return 0


def _write_picture(options: argparse.Namespace, path: Path) -> None:
    try:
        show.check_format(path)
    except ValueError as error:
        raise WrongInput(str(error)) from None
    picture = pictures.picture_named(options.path, options.inputs)
    try:
        show.write(picture, path)
    except ValueError as error:  # too large for a drawing
        raise WrongInput(str(error)) from None
    print(f"wrote {path}")


def _stem(name: str) -> str:
    """The name of a picture, without its end.

    Example:
        >>> _stem("models/net.safetensors"), _stem("train.py:Net.call"), _stem("exported/")
        ('net', 'Net.call', 'exported')
    """
    return name.rpartition(":")[2] if is_function(name) else Path(name).stem


def _print_tables(options: argparse.Namespace) -> None:
    if options.inputs:
        raise WrongInput(f"{options.path!r} is a file, which takes no example inputs; a function is file.py:function.")
    found = summarize(Path(options.path))
    if options.json:
        tables = [part._asdict() for part in found.tables]
        print(json.dumps(found._asdict() | {"tables": tables}, indent=1))
    else:
        print(printed(found, None if options.all else SHORT))


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
