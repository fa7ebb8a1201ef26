"""Variables lie in the mapped checkpoint: a large one takes little memory, and no assignment changes the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.cli import progress
from dovetail.formats.tensorflow.saved_model import read_meta_graph
from tests.formats.tensorflow.large_checks import write
from tests.libraries import require
from tests.parts import WHOLE

require("google_crc32c", "bundles have its checksums")

SIZE = 2**30 if WHOLE else 2**28


@pytest.mark.deeper
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell the most memory")
def test_a_large_variable_takes_little_memory():
    command = [sys.executable, "-m", "tests.formats.tensorflow.large_checks", str(SIZE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loading, summing = map(int, done.stdout.split())
    assert loading < 64 << 20 and summing < 64 << 20


def test_an_assignment_does_not_change_the_file(tmp_path, engine):
    saved = read_meta_graph(write(tmp_path, 2**23))
    saved.read("serving_default")
    (variable,) = saved.variables.values()
    if engine in ("numpy", "torch"):
        assert np.shares_memory(np.asarray(variable.value), saved.bundle["w"])
    variable.assign_add(np.ones(2**21, "float32"))
    step = dt.function(lambda: variable.assign(variable * 2.0))
    step()
    step()
    assert variable.numpy().tolist() == [4.0] * 2**21
    assert not saved.bundle["w"].any() and not saved.bundle["w"].flags.writeable
    assert not any((tmp_path / "large.data-00000-of-00001").read_bytes())


def test_the_reading_of_a_large_variable_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "LARGE", 2**20)
    with progress.reading():
        read_meta_graph(write(tmp_path, 2**23)).read("serving_default")
    shown = [text.strip() for text in capsys.readouterr().err.split("\r")]
    assert shown[:3] == ["", "reading the tensor 'w': 50 %", ""]
