"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text: the first row is the heading, and each column is as wide as its longest cell.

    Example:
        >>> print(table([["engine", "step"], ["numpy", "9.1 ms"]]))
        engine  step
        ------  ------
        numpy   9.1 ms
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ruled = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in ruled
    )


def printable(text: str) -> str:
    """Text without control characters: anybody may have written a file, and terminals obey them.

    Example:
        >>> print(printable("two\\nlines"))
        two\\nlines
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
