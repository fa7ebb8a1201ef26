"""The pictures of a training run, and of several side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dovetail.core.base.files import replacing
from keras_dovetail.demo.compare import LIMIT, relative_differences
from keras_dovetail.demo.data import CLASSES, Digits
from keras_dovetail.demo.train import History

INK, FAINT, BLUE, ORANGE, GREEN = "#222222", "#c8cdd3", "#2b6cb0", "#dd6b20", "#2f855a"
# The styles of the engines' curves, which lie on each other: color, line style, width.
LINES = [("#90b8e0", "-", 6.0), (ORANGE, "-", 2.0), (GREEN, (0, (2, 2)), 2.0), (INK, ":", 1.5)]
SHOWN = 40  # test images in the picture


def draw_training(path: Path, history: History, test: Digits, found: np.ndarray) -> None:
    """Draw the learning curves, the confusion of digits, and test images with the digits that are read in them.

    Args:
        path: the file of the picture.
        history: the history of the run.
        test: images that were not trained on.
        found: the digits that the model reads in them.
    """
    figure = Figure(figsize=(14, 6.5), layout="constrained")
    rows = figure.subfigures(2, 1, height_ratios=(2.1, 1))
    loss, accuracy, confusion = rows[0].subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    for axes, name in ((loss, "loss"), (accuracy, "accuracy")):
        _draw_epochs(axes, history.logs[name], BLUE, "training images")
        _draw_epochs(axes, history.logs[f"val_{name}"], ORANGE, "test images")
    _draw_epochs(accuracy, history.logs["val_worst_digit"], GREEN, "test images of the worst digit")
    accuracy.yaxis.set_major_formatter("{x:.0%}")
    _dress(loss, "Loss", "epoch")
    _dress(accuracy, f"Accuracy: {history.last('val_accuracy'):.1%} of the test images at the end", "epoch")
    _draw_confusion(confusion, test.labels, found)
    rows[0].suptitle(f"Dovetail demo: Keras on {history.engine}", x=0.01, ha="left", color=INK, fontweight="bold")
    _draw_digits(rows[1], test, found)
    _save(figure, path)


def draw_comparison(path: Path, histories: Sequence[History]) -> None:
    """Draw the engines' losses, the differences of their losses, and the times of their steps."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    loss, difference, time = figure.subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    styles = [dict(zip(("color", "linestyle", "linewidth"), style, strict=True)) for style in LINES]
    for history, style in zip(histories, itertools.cycle(styles), strict=False):
        _draw_epochs(loss, history.losses, label=history.engine, **style)
        if history is not histories[0]:
            apart = relative_differences(history, histories[0])
            _draw_epochs(difference, np.where(apart > 0, apart, np.nan), label=history.engine, **style)
    difference.axhline(LIMIT, color=INK, linewidth=1, linestyle="--", label="allowed")
    difference.set_yscale("log")
    milliseconds = [1e3 * h.step_time for h in histories]
    bars = time.barh([h.engine for h in histories], milliseconds, color=[line[0] for line in LINES], height=0.5)
    time.bar_label(bars, fmt="%.2f ms", padding=4, color=INK)
    time.set_xlim(0, max(milliseconds) * 1.25)
    time.invert_yaxis()
    _dress(loss, "Loss", "epoch")
    _dress(difference, f"Relative difference of the losses from {histories[0].engine}", "epoch")
    _dress(time, "Median time of a step", "ms", legend=False)
    _save(figure, path)


def _draw_epochs(axes: Any, values: Sequence[float] | np.ndarray, color: Any, label: str, **style: Any) -> None:
    """Draw a curve, or a point if there was only one epoch."""
    epochs = np.arange(1, len(values) + 1)
    axes.plot(epochs, values, color=color, label=label, marker="o" if len(values) == 1 else None, **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_confusion(axes: Any, labels: np.ndarray, found: np.ndarray) -> None:
    """Draw how often each digit is read as which."""
    counts = np.zeros((CLASSES, CLASSES), int)
    np.add.at(counts, (labels, found), 1)
    axes.imshow(np.sqrt(counts), cmap="Blues")
    for row, column in np.argwhere(counts):
        color = "white" if row == column else ORANGE
        axes.text(column, row, counts[row, column], ha="center", va="center", fontsize=8, color=color)
    axes.set_xticks(range(CLASSES))
    axes.set_yticks(range(CLASSES))
    axes.set_xlabel("read as", color=INK)
    axes.set_ylabel("is", color=INK)
    axes.set_title("Which digits are taken for which", loc="left", color=INK, fontsize=11)


def _draw_digits(figure: Any, test: Digits, found: np.ndarray) -> None:
    """Draw wrongly read images first, then others."""
    wrong = found != test.labels
    chosen = np.argsort(~wrong, kind="stable")[:SHOWN]
    for axes, i in zip(figure.subplots(2, SHOWN // 2).flat, chosen, strict=True):
        axes.imshow(test.images[i, :, :, 0], cmap="gray_r")
        axes.set_axis_off()
        text = f"{found[i]}, not {test.labels[i]}" if wrong[i] else str(found[i])
        axes.set_title(text, fontsize=8, color=ORANGE if wrong[i] else INK, pad=3)
    title = f"Test images and how they are read ({wrong.sum()} of {len(test)} wrongly)"
    figure.suptitle(title, x=0.01, ha="left", color=INK)


def _dress(axes: Any, title: str, x_label: str, legend: bool = True) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.set_xlabel(x_label, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(frameon=False)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=130)
