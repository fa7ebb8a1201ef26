"""Notebooks: a tensor as HTML: its dtype, shape and place, the range of its numbers, and a table of them."""

from __future__ import annotations

import html
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
