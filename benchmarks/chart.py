"""The chart of the README: training and prediction by `auto`, compared with the best other way.

It reads the first table of `auto.py` in benchmarks/README.md, and draws docs/speed.png:

    python benchmarks/chart.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
TITLE = "### An engine that is chosen (`auto.py`)"
HUES = {"training": "#2274a5", "prediction": "#e08e0b"}


class Row(NamedTuple):
    """A model with its action, and the number of steps of `auto` in the time of the best other way."""

    model: str
    action: str
    ratio: float
    other: str


def rows(page: str) -> list[Row]:
    """The rows of the table that follows the title."""
    lines = page[page.index(TITLE) :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| ---"))
    found = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            return found
        model, action, _, _, other, ratio, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        found.append(Row(model, action, float(ratio), other))
    return found


def draw(found: list[Row], path: Path, ink: str = "#222222") -> None:
    """Draw a group of bars for each action, with texts of a colour; a line marks the same speed."""
    with rc_context({**texts(ink), "svg.hashsalt": "dovetail"}):
        drawn = path.suffix == ".svg"
        _drawing(found, ink).savefig(path, dpi=150, transparent=drawn, metadata={"Date": None} if drawn else {})


def texts(ink: str) -> dict[str, str]:
    """The settings that give all texts and lines of a figure a colour."""
    return dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], ink)


def _drawing(found: list[Row], ink: str) -> Figure:
    actions = [action for action in HUES if any(row.action == action for row in found)]
    figure = Figure(figsize=(4.5 * len(actions), 3.6 if len(actions) > 1 else 3.0), layout="constrained")
    for axis, action in zip(figure.subplots(1, len(actions), squeeze=False)[0], actions, strict=True):
        chosen = [row for row in found if row.action == action][::-1]
        bars = axis.barh([row.model for row in chosen], [row.ratio for row in chosen], color=HUES[action], height=0.62)
        axis.bar_label(bars, [f"{row.ratio:.2f}" for row in chosen], padding=3, fontsize=9)
        axis.axvline(1, color=ink, linewidth=1)
        axis.set_title(action.capitalize(), loc="left", fontsize=11, fontweight="bold")
        axis.set_xlim(0, 1.12 * max(row.ratio for row in chosen))
        axis.tick_params(labelsize=9, length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
    peers = "Keras on jax, torch and tensorflow, jax.jit and torch.compile by hand"
    wide = f"the best of {peers}" if len(actions) > 1 else "the best other way"
    figure.supxlabel(f"Speed of auto, as a multiple of {wide}", fontsize=9)
    return figure


if __name__ == "__main__":
    draw(rows((ROOT / "benchmarks/README.md").read_text()), ROOT / "docs/speed.png")
