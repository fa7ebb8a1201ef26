"""Charts of the measurements, for light and for dark pages."""

from __future__ import annotations

from pathlib import Path

from benchmarks import chart
from links import ROOT

INKS = {"light": "#222222", "dark": "#d6d6d6"}


def draw(folder: Path) -> None:
    """Draw the charts of the tables in benchmarks/README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = chart.rows((ROOT / "benchmarks/README.md").read_text())
    for name, ink in INKS.items():
        chart.draw([row for row in rows if row.action == "training"], folder / f"training-{name}.svg", ink)
