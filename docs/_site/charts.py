"""Charts of the measurements, for light and for dark pages, and the commands that measure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import chart
from links import ROOT
from matplotlib import rc_context
from matplotlib.figure import Figure

INKS = {"light": "#222222", "dark": "#d6d6d6"}
MEASURED = ROOT / "benchmarks" / "README.md"
RATIOS = ("ratio", "ratio, median", "ratio per operation", "faster by")  # columns that charts show
FEWEST, MOST = 3, 24  # rows of a table that has a chart
PARTS = re.compile(r"(?m)^#+ (?P<heading>.+)$|^(?P<table>(?:\|.*\n)+)")
NUMBER = re.compile(r"\**(\d+(?:\.\d+)?)\**")


class Chart(NamedTuple):
    """A table's chart: its file's name, the command that measures, the column, and the bars by label."""

    name: str
    command: str
    column: str
    bars: dict[str, float]
    at: int


def charts(text: str) -> Iterator[Chart]:
    """Yield the charts of a page's tables of ratios, each with the place of its table.

    Example:
        >>> rows = ["### `imports.py`", "| a | ratio |", "| --- | --- |", "| x | 1.5 |", "| y | 2 |", "| z | 3 |"]
        >>> [(found.command, found.bars) for found in charts("\\n".join([*rows, ""]))]
        [('python benchmarks/imports.py', {'x': 1.5, 'y': 2.0, 'z': 3.0})]
    """
    script, count = "", 0
    for found in PARTS.finditer(text):
        if found["heading"]:
            named = re.search(r"`(\w+)\.py`", found["heading"])
            script = named[1] if named else script
            continue
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found["table"].splitlines()]
        column = next((name for name in RATIOS if name in head), None)
        if column is None or not script:
            continue
        bars = dict(filter(None, (_bar(row, head.index(column)) for row in rows)))
        if FEWEST <= len(bars) <= MOST:
            count += 1
            yield Chart(f"{script}-{count}", f"python benchmarks/{script}.py", column, bars, found.start())


def _bar(row: list[str], place: int) -> tuple[str, float] | None:
    """The label and the number of a row; the label has the cells before the first number."""
    number = NUMBER.fullmatch(row[place].partition(" ")[0]) if place < len(row) else None
    first = next((index for index, cell in enumerate(row) if NUMBER.match(cell) and index), 1)
    label = ", ".join(cell for cell in row[:first] if cell).replace("`", "").replace("**", "")
    return None if number is None else (label, float(number[1]))


def with_charts(text: str) -> str:
    """A page with a chart and the command before each table of ratios."""
    for found in reversed([*charts(text)]):
        said = f"Bars of the column “{found.column}”"
        images = [f"```{{image}} charts/{found.name}-{ink}.svg\n:class: only-{ink}\n:alt: {said}\n```" for ink in INKS]
        shown = "\n\n".join([f"```sh\n{found.command}\n```", *images])
        text = f"{text[: found.at]}{shown}\n\n{text[found.at :]}"
    return text


def draw(folder: Path) -> None:
    """Draw the charts of the tables in benchmarks/README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    text = MEASURED.read_text()
    trained = [row for row in chart.rows(text) if row.action == "training"]
    for name, ink in INKS.items():
        chart.draw(trained, folder / f"training-{name}.svg", ink)
        for found in charts(text):
            with rc_context({**chart.texts(ink), "svg.hashsalt": "dovetail"}):
                path = folder / f"{found.name}-{name}.svg"
                _drawing(found, ink).savefig(path, transparent=True, metadata={"Date": None})


def _drawing(found: Chart, ink: str) -> Figure:
    figure = Figure(figsize=(7, 0.9 + 0.26 * len(found.bars)), layout="constrained")
    axis = figure.subplots()
    labels, values = [*found.bars][::-1], [*found.bars.values()][::-1]
    bars = axis.barh(labels, values, color=chart.HUES["training"], height=0.66)
    axis.bar_label(bars, [f"{value:g}" for value in values], padding=3, fontsize=9)
    axis.axvline(1, color=ink, linewidth=1)
    axis.set_xlim(0, 1.12 * max(1.0, *values))
    axis.tick_params(labelsize=9, length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_xlabel(found.column, fontsize=9)
    return figure
