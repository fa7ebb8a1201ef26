"""Texts: seconds, bytes, counts and tables, as all reports print them."""

from __future__ import annotations

from collections.abc import Sequence

UNITS = ("B", "kB", "MB", "GB", "TB")


def time_text(seconds: float) -> str:
    """A duration with a unit.

    Example:
        >>> time_text(2.5), time_text(0.0421), time_text(0.0000004)
        ('2.5 s', '42.1 ms', '0.4 µs')
    """
    unit, scale = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{seconds * scale:.3g} {unit}"


def size_text(count: int) -> str:
    """A number of bytes with a unit.

    Example:
        >>> size_text(24), size_text(2048), size_text(999_600)
        ('24 B', '2.05 kB', '1 MB')
    """
    number, unit = float(count), 0
    while number >= 999.5 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {UNITS[unit]}"


def count_text(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> count_text(1, "step"), count_text(2, "step")
        ('1 step', '2 steps')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], numbers: int = 0) -> list[str]:
    """Lines with columns as wide as their longest cells.

    Args:
        rows: the cells.
        numbers: how many of the first columns are numbers, which end below each other.

    Example:
        >>> print(*aligned([["steps", "engine"], ["9", "numpy"]], numbers=1), sep="\\n")
        steps  engine
            9  numpy
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.rjust if number < numbers else str.ljust for number in range(len(widths))]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text with a line below the first one, the heading.

    Example:
        >>> print(table([["engine", "step"], ["numpy", "9.1 ms"]]))
        engine  step
        ------  ------
        numpy   9.1 ms
    """
    rules = ["-" * max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(aligned([rows[0], rules, *rows[1:]]))


def printable(text: str) -> str:
    """Text without control characters: anybody may have written a file, and terminals obey them.

    Example:
        >>> print(printable("two\\nlines"))
        two\\nlines
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
