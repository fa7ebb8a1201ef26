"""What `dovetail demo` does with its options: train, on one engine or on all, and say what came out."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

import dovetail as dt
from dovetail.cli import INTERRUPTED
from dovetail.cli.demo import data, report
from dovetail.cli.demo.compare import LIMIT, largest_difference, summary
from dovetail.cli.demo.model import Classifier
from dovetail.cli.demo.train import History, Trainer, interruption, train
from dovetail.core.engine_registry import current_engine


def run(engine: str | None, compare: bool, epochs: int, seed: int, folder: Path) -> int:
    """Runs the demo; the exit status: 0, or 1 where engines disagree, or 130 after Ctrl-C.

    Raises:
        OSError: the folder cannot be written to; found out before anything is trained.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    names = dt.list_engines() if compare else [engine or current_engine().name]
    histories: list[History] = []
    for name in names:
        # The matrices are small: several BLAS threads would mostly wait for each other.
        with dt.engine(name), threadpool_limits(1):
            histories.append(_train(epochs, seed, folder / name if compare else folder))
        if histories[-1].interrupted:
            break
    status = report_comparison(histories, folder) if compare else 0
    if histories[-1].interrupted:
        print("Interrupted: what was learned so far is kept.", file=sys.stderr)
        status = INTERRUPTED
    print(f"Results are in {folder.resolve()}")
    return status


def _train(epochs: int, seed: int, folder: Path) -> History:
    """Trains on the current engine and writes what came out."""
    folder.mkdir(exist_ok=True)
    training, test = data.load()
    model = Classifier(seed)
    trainer = Trainer(model)
    with interruption() as interrupted:  # until all is written: Ctrl-C after the last step loses nothing either
        history = train(trainer, training, test, epochs, seed, current_engine().name, interrupted)
        predictions = trainer.predict(test.images).numpy()
        report.write_parameters(folder / "parameters.npz", model)
        report.draw_training(folder / "learning_curve.png", history, test, predictions)
    history.interrupted = interrupted.is_set()
    steps = f"{len(history.losses)} steps of {history.step_time * 1e3:.2f} ms (median)"
    print(f"{history.engine}: test accuracy {history.test[-1][1]:.4f} after {steps}")
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
