"""`dovetail demo`: its checks, in a process where Keras runs on Dovetail, and a run that gets Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from dovetail.cli import INTERRUPTED
from tests import keras_backends
from tests.libraries import checks_of, require

for library in ("keras", "sklearn", "matplotlib", "tqdm"):
    require(library, "the demo needs it")
MODULE = "tests.keras_dovetail.demo_checks"


@pytest.mark.parametrize("check", checks_of(MODULE))
def test_demo(check):
    keras_backends.check(MODULE, check, "dovetail")


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
    assert (tmp_path / "learning_curve.png").exists() and (tmp_path / "digits.keras").exists()
