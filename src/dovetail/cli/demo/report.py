"""What a training run leaves behind: pictures and the trained parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from dovetail.cli.demo.compare import LIMIT, relative_differences
from dovetail.cli.demo.data import Digits
from dovetail.cli.demo.model import Classifier
from dovetail.cli.demo.train import History
from dovetail.core.files import replacing

INK, FAINT, BLUE, ORANGE, GREEN = "#222222", "#c8cdd3", "#2b6cb0", "#dd6b20", "#2f855a"
# How the engines' curves look, which lie on each other: color, line style, width.
LINES = [("#90b8e0", "-", 6.0), (ORANGE, "-", 2.0), (GREEN, (0, (2, 2)), 2.0), (INK, ":", 1.5)]
SMOOTHING = 20  # steps over which curves are averaged
SHOWN = 40  # test images in the picture


def write_parameters(path: Path, model: Classifier) -> None:
    """The parameters as an npz archive, by name; `numpy.load(path)["dense/kernel"]` reads one."""
    arrays: dict[str, Any] = {name: variable.numpy() for name, variable in model.parameters.items()}
    with replacing(path) as file:
        np.savez(file, **arrays)


def draw_training(path: Path, history: History, test: Digits, predictions: np.ndarray) -> None:
    """The learning curve, and test images with what the classifier takes them for."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    rows = figure.subfigures(2, 1, height_ratios=(2.1, 1))
    loss, accuracy = rows[0].subplots(1, 2)
    steps = np.arange(1, len(history.losses) + 1)
    loss.plot(steps, history.losses, color=FAINT, linewidth=0.8, label="each batch")
    loss.plot(steps, _smooth(history.losses), color=BLUE, linewidth=2, label=f"mean of {SMOOTHING} batches")
    accuracy.plot(steps, _smooth(history.accuracies), color=BLUE, linewidth=2, label="training batches")
    at, right = zip(*history.test, strict=True)
    accuracy.plot(at, right, color=ORANGE, linewidth=2, marker="o", markersize=4, label="test images")
    accuracy.set_ylim(min(0.8, *right), 1.005)
    accuracy.yaxis.set_major_locator(MultipleLocator(0.05))
    accuracy.yaxis.set_major_formatter("{x:.0%}")
    _dress(loss, "Loss", "step")
    _dress(accuracy, f"Accuracy: {right[-1]:.1%} of the test images at the end", "step")
    rows[0].suptitle(f"Dovetail demo on {history.engine}", x=0.01, ha="left", color=INK, fontweight="bold")
    _draw_digits(rows[1], test, predictions)
    _save(figure, path)


def draw_comparison(path: Path, histories: Sequence[History]) -> None:
    """The engines' losses, how far they are apart, and how long their steps take."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    loss, difference, time = figure.subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    styles = [dict(zip(("color", "linestyle", "linewidth"), style, strict=True)) for style in LINES]
    for history, style in zip(histories, itertools.cycle(styles), strict=False):
        loss.plot(_smooth(history.losses), label=history.engine, **style)
        if history is not histories[0]:
            worst = np.maximum.accumulate(relative_differences(history, histories[0]))
            difference.plot(worst, label=history.engine, **style)
    difference.axhline(LIMIT, color=INK, linewidth=1, linestyle="--", label="allowed")
    difference.set_yscale("log")
    milliseconds = [1e3 * h.step_time for h in histories]
    bars = time.barh([h.engine for h in histories], milliseconds, color=[line[0] for line in LINES], height=0.5)
    time.bar_label(bars, fmt="%.2f ms", padding=4, color=INK)
    time.set_xlim(0, max(milliseconds) * 1.25)
    time.invert_yaxis()
    _dress(loss, "Loss", "step")
    _dress(difference, f"Largest relative difference from {histories[0].engine} so far", "step")
    _dress(time, "Median time of a step", "ms", legend=False)
    _save(figure, path)


def _draw_digits(figure: Any, test: Digits, predictions: np.ndarray) -> None:
    """Wrongly read images first, then others."""
    wrong = predictions != test.labels
    chosen = np.argsort(~wrong, kind="stable")[:SHOWN]
    for axes, i in zip(figure.subplots(2, SHOWN // 2).flat, chosen, strict=True):
        axes.imshow(test.images[i, :, :, 0], cmap="gray_r")
        axes.set_axis_off()
        text = f"{predictions[i]}, not {test.labels[i]}" if wrong[i] else str(predictions[i])
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


def _smooth(values: Sequence[float]) -> np.ndarray:
    """The mean of the latest values at each step."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - SMOOTHING, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=130)
