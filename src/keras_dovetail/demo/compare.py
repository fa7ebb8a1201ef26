"""Engines side by side: the same training on each, the time of a step, and how far the losses are apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.base.texts import table, time_text
from keras_dovetail.demo.train import History

LIMIT = 1e-4  # the largest relative difference of the losses that counts as the same


def relative_differences(history: History, reference: History) -> np.ndarray:
    """The relative difference of the losses, epoch by epoch."""
    losses, expected = np.array(history.losses), np.array(reference.losses)
    return np.abs(losses - expected) / np.abs(expected)


def largest_difference(histories: Sequence[History]) -> float:
    """The largest relative difference from the first run; NaN counts as infinite."""
    worst = [np.max(relative_differences(h, histories[0])) for h in histories[1:]]
    return float(np.nan_to_num(max(worst, default=0.0), nan=np.inf))


def summary(histories: Sequence[History]) -> str:
    """The comparison as a table."""
    rows = [["engine", "step time (median)", "largest loss difference (relative)", "test accuracy"]]
    for history in histories:
        same = history is histories[0]
        difference = "reference" if same else f"{largest_difference([histories[0], history]):.1e}"
        accuracy = f"{history.last('val_accuracy'):.4f}"
        rows.append([history.engine, time_text(history.step_time), difference, accuracy])
    return table(rows)
