"""Models that Dovetail exports, which other libraries compute, each with the same results."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.keras_backends import told
from tests.libraries import require

require("keras", "it exports the models")
MODULE = "tests.keras_dovetail.export_checks"


def need(library):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: it loads the models")


def check(problems, count):
    assert len(problems) == count
    assert not any(problems.values()), "\n".join(f"{name}: {text}" for name, text in problems.items() if text)


def test_tensorflow_runs_exported_models(tmp_path):
    need("tensorflow")
    saved = told(MODULE, "dovetail", str(tmp_path), "save")
    check({**saved, **told(MODULE, "tensorflow", str(tmp_path), "load")}, 10)


def test_torch_runs_exported_programs_without_dovetail(tmp_path):
    need("torch")
    check(told(MODULE, "dovetail", str(tmp_path), "torch"), 6)
    program = [sys.executable, str(Path(__file__).with_name("torch_programs.py")), str(tmp_path)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert ended.stdout == "6 programs\n", ended.stderr


def test_openvino_runs_exported_models(tmp_path):
    need("openvino")
    check(told(MODULE, "dovetail", str(tmp_path), "openvino"), 6)
