"""The command `dovetail demo`: train on one engine or on all, and report the results."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dovetail as dt
from dovetail.cli import INTERRUPTED
from dovetail.core.engines.engine_registry import AUTO, chooses_engine, compiling_engine
from keras_dovetail.demo import data, report
from keras_dovetail.demo.compare import LIMIT, largest_difference, summary
from keras_dovetail.demo.train import History, Interruption, train


def run(compare: bool, epochs: int, seed: int, folder: Path) -> int:
    """Run the demo on the current engine, or on all engines to compare them.

    Returns:
        The exit status: 0, or 1 if engines disagree, or 130 after Ctrl-C.

    Raises:
        OSError: the folder cannot be written to; the check comes before any training.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    names = dt.list_engines() if compare else [AUTO if chooses_engine() else compiling_engine().name]
    histories: list[History] = []
    for name in names:
        # The matrices are small: several BLAS threads would mostly wait for each other.
        with dt.engine(name), threadpool_limits(1):
            histories.append(_train(name, epochs, seed, folder / name if compare else folder))
        if histories[-1].interrupted:
            break
    finished = [history for history in histories if not history.interrupted]
    status = report_comparison(finished, folder) if compare and finished else 0
    if histories[-1].interrupted:
        print("Interrupted: what was learned so far is kept.", file=sys.stderr)
        status = INTERRUPTED
    print(f"Results are in {folder.resolve()}")
    return status


def _train(engine: str, epochs: int, seed: int, folder: Path) -> History:
    """Train on the current engine, which has this name, and write the results."""
    folder.mkdir(exist_ok=True)
    training, test = data.load()
    with Interruption() as interruption:  # until all is written: Ctrl-C after the last step loses nothing either
        model, history = train(training, test, epochs, seed, engine, interruption)
        digits = np.argmax(model.predict(test.images, batch_size=len(test), verbose=0), axis=-1)
        model.save(folder / "digits.keras")
        report.draw_training(folder / "learning_curve.png", history, test, digits)
    history.interrupted = interruption.happened
    accuracy, worst = history.last("val_accuracy"), history.last("val_worst_digit")
    print(f"{history.engine}: test accuracy {accuracy:.4f}, of the worst digit {worst:.4f}, {history.trained}")
    for plan in model.train_function.plans:
        if plan.choice.rows:
            print(f"{engine}: {plan.choice.summary}")
    return history


def report_comparison(histories: list[History], folder: Path) -> int:
    report.draw_comparison(folder / "comparison.png", histories)
    difference = largest_difference(histories)
    agree = difference <= LIMIT
    print(f"\n{summary(histories)}\n")
    if len(histories) == 1:
        print("Only one engine ran, so there is nothing to compare; `dovetail engines` says how to install more.")
        return 0
    print(f"The losses {'agree' if agree else 'DIFFER'}: at most {difference:.1e} apart, allowed {LIMIT:.0e}.")
    return 0 if agree else 1
