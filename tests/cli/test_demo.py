"""The demo: it learns on every engine, the same by the same seed, and Ctrl-C keeps what was learned."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading

import numpy as np

from tests.libraries import Library, require

require("sklearn", "the demo trains with it")
require("matplotlib", "the demo draws with it")
require("tqdm", "the demo shows its progress with it")

import dovetail as dt
from dovetail.cli import INTERRUPTED
from dovetail.cli.main import main

command, compare, data, model, training = (
    Library(f"dovetail.cli.demo.{name}") for name in ("command", "compare", "data", "model", "train")
)


def parameter_names():
    return sorted(model.Classifier(0).parameters)


def parameters(folder):
    """What a run wrote, by name."""
    with np.load(folder / "parameters.npz") as archive:
        return dict(archive)


def test_learns_on_each_engine(engine, tmp_path, capsys):
    assert main(["demo", "--engine", engine, "--epochs", "3", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == f"Results are in {tmp_path / 'out'}"
    assert float(printed.out.split("test accuracy ")[1].split()[0]) > 0.93
    assert "100%" in printed.err
    assert sorted(parameters(tmp_path / "out")) == parameter_names()
    assert (tmp_path / "out" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_the_default_run_learns_to_read(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert float(capsys.readouterr().out.split("test accuracy ")[1].split()[0]) >= 0.97


def losses(seed):
    examples, test = data.load()
    return training.train(
        training.Trainer(model.Classifier(seed)), examples, test, 1, seed, "numpy", threading.Event()
    ).losses


def test_the_seed_decides():
    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_compare(tmp_path, capsys):
    assert main(["demo", "--compare", "--epochs", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    for name in dt.list_engines():
        assert any(row[:1] == [name] and "ms" in row for row in rows)
        assert sorted(parameters(tmp_path / name)) == parameter_names()
    assert "The losses agree" in printed
    assert (tmp_path / "comparison.png").exists()


def test_compare_fails_where_engines_differ(tmp_path, capsys):
    runs = [
        training.History(name, [1.0, loss], [0.5, 0.5], [0.01, 0.01], [(2, 0.5)])
        for name, loss in [("a", 0.5), ("b", 0.51)]
    ]
    assert command.report_comparison(runs, tmp_path) == 1
    assert "The losses DIFFER: at most 2.0e-02 apart" in capsys.readouterr().out
    runs[1].losses[1] = math.nan
    assert compare.largest_difference(runs) == math.inf


def test_ctrl_c_keeps_what_was_learned(tmp_path):
    arguments = [sys.executable, "-m", "dovetail", "demo", "--epochs", "1000", "--out", str(tmp_path)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
    seen = ""
    while "test accuracy" not in seen:  # the first epoch is done
        read = process.stderr.read(1)
        assert read, seen
        seen += read
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "what was learned so far is kept" in err
    assert out.splitlines()[-1] == f"Results are in {tmp_path}"
    learned = parameters(tmp_path)
    assert not np.array_equal(learned["dense/kernel"], model.Classifier(0).parameters["dense/kernel"].numpy())
    assert (tmp_path / "learning_curve.png").exists()


def test_ctrl_c_after_training_loses_nothing(tmp_path, capsys, monkeypatch):
    write = command.report.write_parameters

    def interrupted(path, trained):
        signal.raise_signal(signal.SIGINT)
        write(path, trained)

    monkeypatch.setattr(command.report, "write_parameters", interrupted)
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path)]) == INTERRUPTED
    assert sorted(parameters(tmp_path)) == parameter_names()
    assert (tmp_path / "learning_curve.png").exists()


def test_a_folder_that_cannot_be_is_told_before_training(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert main(["demo", "--out", str(file / "folder")]) == 1
    printed = capsys.readouterr()
    assert printed.err == f"dovetail: [Errno 20] Not a directory: {str(file / 'folder')!r}\n"


def test_activation_learns_its_height(engine):
    x, alpha = dt.ops.constant([-2.0, 0.0, 2.0]), dt.Variable(0.5)
    with dt.GradientTape() as tape:
        y = model.activation(x, alpha)
    sigmoid = 1 / (1 + np.exp([2.0, 0.0, -2.0]))
    np.testing.assert_allclose(y.numpy(), np.array([-1.5, 0.5, 2.5]) * sigmoid, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, alpha).numpy(), sigmoid.sum(), rtol=1e-6)


def test_clipping_keeps_the_direction(engine):
    small, large = [dt.ops.constant([0.3, 0.4])], [dt.ops.constant([3.0, 0.0]), dt.ops.constant([[4.0]])]
    np.testing.assert_allclose(model.clip_by_global_norm(small, 1.0)[0].numpy(), [0.3, 0.4], rtol=1e-6)
    clipped = [g.numpy() for g in model.clip_by_global_norm(large, 1.0)]
    np.testing.assert_allclose(clipped[0], [0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(clipped[1], [[0.8]], rtol=1e-6)
