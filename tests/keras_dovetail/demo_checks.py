"""Checks of `dovetail demo`: it learns on every engine, equally with the same seed, and Ctrl-C loses nothing."""

from __future__ import annotations

import io
import math
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np

import dovetail as dt
from dovetail.choose import measurer
from dovetail.cli import INTERRUPTED
from dovetail.cli.main import main as dovetail
from keras_dovetail.demo import command, compare, data, model, train
from tests.keras_backends import main

EVERY = {"loss", "accuracy", "worst_digit", "val_loss", "val_accuracy", "val_worst_digit"}


def run(folder, *options):
    """The exit status of the command, and its texts on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = dovetail(["demo", *options, "--out", str(folder)])
    return status, out.getvalue(), err.getvalue()


def trained(seed):
    with train.Interruption() as interruption, redirect_stderr(io.StringIO()):
        return train.train(*data.load(), 1, seed, "numpy", interruption)[1]


@contextmanager
def folder():
    with TemporaryDirectory() as name:
        yield Path(name)


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG")


def check_the_default_run_learns_to_read():
    with folder() as out:
        status, printed, err = run(out)
        accuracy = float(printed.split("test accuracy ")[1].split(",")[0])
        assert status == 0 and accuracy >= 0.97, printed
        assert printed.splitlines()[-1] == f"Results are in {out.resolve()}" and "20/20" in err
        assert is_png(out / "learning_curve.png") and len(list(out.iterdir())) == 2
        again = keras.saving.load_model(out / "digits.keras")
    test = data.load()[1]
    right = np.argmax(again.predict(test.images, verbose=0), axis=-1) == test.labels
    assert abs(right.mean() - accuracy) < 1e-4
    assert isinstance(again.loss, type(model.smoothed_cross_entropy))


def check_engines_are_compared():
    with folder() as out:
        status, printed, err = run(out, "--compare", "--epochs", "3")
        rows = [line.split() for line in printed.splitlines()]
        for name in dt.list_engines():
            (row,) = (row for row in rows if row[:1] == [name])
            assert row[2] == "ms" and float(row[-1]) > 0.93, row
            assert is_png(out / name / "learning_curve.png") and (out / name / "digits.keras").exists()
            assert f"{name}: 100%" in err
        assert status == 0 and "The losses agree" in printed
        assert is_png(out / "comparison.png")


def check_the_engine_may_be_chosen_by_measuring():
    with folder() as out, dt.engine("auto"), patch.object(measurer.ledger, "started", -1e12):
        status, printed, err = run(out, "--epochs", "2")
    accuracy, summary, *_ = printed.splitlines()
    assert status == 0 and accuracy.startswith("auto: test accuracy 0.9"), printed
    assert summary.startswith("auto: now: ") and " strategies" in summary, printed
    assert "auto: 100%" in err, err


def check_the_seed_decides():
    first, again, other = map(trained, (0, 0, 1))
    assert first.losses == again.losses != other.losses
    assert first.logs.keys() == EVERY


def check_engines_that_differ_are_told():
    runs = [train.History(name, {"loss": [1.0, loss], "val_accuracy": [0.5]}, [0.01]) for name, loss in DIFFERENT]
    with folder() as out, redirect_stdout(io.StringIO()) as said:
        assert command.report_comparison(runs, out) == 1
    assert "The losses DIFFER: at most 2.0e-02 apart" in said.getvalue()
    runs[1].losses[1] = math.nan
    assert compare.largest_difference(runs) == math.inf


DIFFERENT = [("a", 0.5), ("b", 0.51)]


def interrupting(function, at=1):
    """The function; before its call number `at`, Ctrl-C comes."""
    calls = iter(range(1, 100))

    def call(*args, **kwargs):
        if next(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*args, **kwargs)

    return call


def check_ctrl_c_after_training_loses_nothing():
    with folder() as out, patch.object(command.report, "draw_training", interrupting(command.report.draw_training)):
        status, _, err = run(out, "--epochs", "1")
        assert status == INTERRUPTED and "what was learned so far is kept" in err
        assert is_png(out / "learning_curve.png") and (out / "digits.keras").exists()


def check_ctrl_c_in_a_comparison_compares_what_is_finished():
    with (
        folder() as out,
        patch.object(train, "build", interrupting(model.build, at=2)),
        patch.object(dt, "list_engines", lambda: ("numpy", "numpy")),
    ):
        status, printed, _ = run(out, "--compare", "--epochs", "2")
    assert status == INTERRUPTED
    assert "after 2 epochs" in printed and "after 1 epoch," in printed
    assert "Only one engine ran" in printed


def check_a_folder_that_cannot_be_is_told_before_training():
    with folder() as out:
        (out / "file").write_text("")
        status, _, err = run(out / "file" / "folder")
        assert status == 1 and err == f"dovetail: [Errno 20] Not a directory: {str(out / 'file' / 'folder')!r}\n"


def check_libraries_that_are_missing_are_named():
    with patch.dict(sys.modules, {"tqdm": None, "sklearn": None}):
        status, _, err = run("nowhere")
    assert status == 1
    problem = "the demo needs libraries that are not installed, sklearn, tqdm"
    assert err == f"dovetail: {problem}: pip install scikit-learn tqdm\n"


def check_the_layer():
    x = np.random.default_rng(0).normal(size=(2, 5, 5, 3)).astype("float32")
    layer = model.SmoothConvolution(4)
    layer.build(x.shape)
    layer.alpha.assign(0.5)
    y = keras.ops.convert_to_numpy(keras.ops.conv(x, layer.kernel, padding="same"))
    np.testing.assert_allclose(layer(x).numpy(), (y + 0.5) / (1 + np.exp(-y)), rtol=1e-5, atol=1e-6)


def check_the_loss():
    logits = np.random.default_rng(0).normal(size=(6, 10)).astype("float32")
    labels = np.array([3, 1, 4, 1, 5, 9], "int32")
    wanted = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(np.eye(10)[labels], logits)
    found = model.smoothed_cross_entropy(labels, logits).numpy()
    np.testing.assert_allclose(found.mean(), float(wanted), rtol=1e-6)


def check_the_metric():
    metric = model.WorstDigit()
    logits = np.eye(10)[[0, 0, 1, 2, 2, 2]]
    metric.update_state(np.array([0, 0, 1, 2, 2, 2]), logits)
    np.testing.assert_allclose(float(metric.result()), 1)
    metric.update_state(np.array([0, 3]), np.eye(10)[[1, 3]])
    np.testing.assert_allclose(float(metric.result()), 2 / 3, rtol=1e-6)
    metric.update_state(np.array([3]), np.eye(10)[[1]], sample_weight=np.array([2.0]))
    np.testing.assert_allclose(float(metric.result()), 1 / 3, rtol=1e-6)


if __name__ == "__main__":
    main(globals())
