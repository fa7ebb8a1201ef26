"""Notebooks: a tensor as HTML, with its dtype, shape, place and numbers; tables of text; a bar of progress."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MOST = 10  # rows and columns that are shown; of longer ones, the first and the last half
CELL = 'style="text-align: right; padding: 1px 8px; font-variant-numeric: tabular-nums"'


def tensor_html(title: str, array: np.ndarray | None) -> str:
    """A tensor as HTML.

    Args:
        title: its dtype, shape and place.
        array: its numbers; None if it has none yet.

    Example:
        >>> text = tensor_html("float32[2] on numpy", np.array([0.5, 2.0], "float32"))
        >>> "<td" in text, "0.5 to 2, mean 1.25" in text
        (True, True)
    """
    head = f"<b>{html.escape(title)}</b>"
    if array is None:
        return f"<div>{head}</div>"
    facts = f'<div style="opacity: 0.7">{html.escape(_range(array))}</div>' if array.size > 1 else ""
    return f"<div>{head}{facts}{_table(array)}</div>"


def _range(array: np.ndarray) -> str:
    """The range and the mean of numbers; those that are no numbers are counted."""
    if array.dtype.kind == "V":  # bfloat16 and float8
        array = array.astype("float32")
    if array.dtype.kind not in "iuf":
        return f"{array.size:,} elements"
    finite = array[np.isfinite(array)]
    parts = (
        [f"{finite.min():.4g} to {finite.max():.4g}, mean {finite.mean(dtype='float64'):.4g}"] if finite.size else []
    )
    if odd := array.size - finite.size:
        parts.append(f"{odd:,} of {array.size:,} not finite")
    return ", ".join(parts)


def _table(array: np.ndarray) -> str:
    """The numbers of the last two axes, at the first place of the others."""
    place = (0,) * max(0, array.ndim - 2)
    if array.size == 0:
        return "<div>empty</div>"
    shown = np.atleast_2d(array[place]) if array.ndim else array.reshape(1, 1)
    rows, columns = (_indices(size) for size in shown.shape)
    lines = "".join(f"<tr>{''.join(_cell(shown, row, column) for column in columns)}</tr>" for row in rows)
    note = f"<div>[{', '.join([*map(str, place), ':', ':'])}] of it</div>" if place else ""
    return f'{note}<table style="border-collapse: collapse; font-size: 90%">{lines}</table>'


def _indices(size: int) -> list[int | None]:
    """The indices that are shown, with None for those left out."""
    if size <= MOST:
        return [*range(size)]
    half = MOST // 2
    return [*range(half), None, *range(size - half, size)]


def _cell(array: np.ndarray, row: int | None, column: int | None) -> str:
    text = "…" if row is None or column is None else _number(array[row, column])
    return f"<td {CELL}>{html.escape(text)}</td>"


def _number(value: Any) -> str:
    if isinstance(value, (np.integer, np.bool_)) or not isinstance(value, (np.number, float)):
        return str(value)
    return f"{value:.5g}"


def table_html(title: str, rows: Sequence[Sequence[str]], numbers: int = 0, notes: Sequence[str] = ()) -> str:
    """A table as HTML.

    Args:
        title: a line above it.
        rows: the cells as text; the first row is the heading.
        numbers: how many of the first columns are numbers.
        notes: lines below it.

    Example:
        >>> text = table_html("profile", [["time", "operation"], ["3 ms", "<lambda>"]], numbers=1)
        >>> "<th" in text, "&lt;lambda&gt;" in text
        (True, True)
    """
    head, *others = rows
    lines = [_row(head, "th", numbers), *(_row(row, "td", numbers) for row in others)]
    below = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    table = f'<table style="border-collapse: collapse; font-size: 90%">{"".join(lines)}</table>'
    return f"<div><b>{html.escape(title)}</b>{table}{below}</div>"


def _row(cells: Sequence[str], tag: str, numbers: int) -> str:
    look = [CELL if number < numbers else 'style="text-align: left; padding: 1px 8px"' for number in range(len(cells))]
    parts = [f"<{tag} {style}>{html.escape(cell)}</{tag}>" for cell, style in zip(cells, look, strict=True)]
    return f"<tr>{''.join(parts)}</tr>"


def bar() -> Callable[[str, int, int], None] | None:
    """A bar below the cell that runs, which is told what is done, how much of it, and the whole; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # it is there: the cell runs in it

    shown = display(HTML(""), display_id=True)

    def tell(what: str, done: int, size: int) -> None:
        text = f'<progress value="{done}" max="{size}"></progress> {html.escape(what)}'
        shown.update(HTML(text if done < size else ""))

    return tell
