"""Tracebacks of uncaught errors: the user's frames, the file with the whole one, the setting, and other hooks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dovetail as dt
from dovetail.core.base import tracebacks
from tests.libraries import require

LAYER = """\
import keras_dovetail, keras
from dovetail import backend as K
class Own(keras.layers.Layer):
    def call(self, x):
        return {}
keras.Sequential([keras.Input((3,)), Own()])
"""
STEP = """\
import keras_dovetail, keras
class Own(keras.Model):
    def train_step(self, state, data):
        return {}, state

Own().compile(optimizer="sgd")
"""
MATMUL = "import dovetail.compat.tensorflow as tf\na = tf.ones((2, 3))\ntf.matmul(a, a)\n"
MISSING = "import sys\nsys.modules['openvino'] = None\nimport dovetail as dt\ndt.set_engine('openvino')\n"
AXIS = "import dovetail as dt\ndef f():\n    dt.ops.mean(dt.ops.ones((2, 3)), axis=5)\nf()\n"
ERRORS = {  # kind → the program, the lines of all its frames, and words of its message
    "a shape in tf.matmul": (MATMUL, [3], "inner dimensions"),
    "K in a layer": (LAYER.format("K.dot(x, K.ones((7, 2)))"), [6, 5], "inner dimensions"),
    "an own layer": (LAYER.format("keras.ops.reshape(x, (5, 5))"), [6, 5], "shape (5, 5)"),
    "a step for another backend": (STEP, [6], "train_step(self, data)"),
    "no such file": ("import dovetail as dt\ndt.load('nothing.safetensors')\n", [2], "nothing.safetensors"),
    "no such engine": ("import dovetail as dt\ndt.engine('abacus').__enter__()\n", [2], "there is no engine 'abacus'"),
    "an engine that is not installed": (MISSING, [4], "pip install"),
    "a wrong axis": (AXIS, [4, 3], "the axis 5"),
}


def told(folder: Path, program: str, **variables: str) -> str:
    """What a program that fails prints to stderr."""
    (folder / "program.py").write_text(program)
    env = os.environ | {"TMPDIR": str(folder)} | variables
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr


def lines(text: str) -> list[tuple[str, int]]:
    """The file and line of each frame."""
    return [(Path(file).name, int(line)) for file, line in re.findall(r'  File "(.+)", line (\d+)', text)]


@pytest.mark.parametrize("kind", ERRORS)
def test_frames_of_libraries_are_left_out(kind, tmp_path):
    program, numbers, words = ERRORS[kind]
    if "keras" in program:
        require("keras", "it has the layer")
    text = told(tmp_path, program)
    assert lines(text) == [("program.py", number) for number in numbers] and words in text
    title, _, path = text.splitlines()[-1].rpartition(" ")
    assert title == tracebacks.TITLE and Path(path).parent == tmp_path
    whole = Path(path).read_text()
    assert len(lines(whole)) > len(numbers) and {*lines(text)} <= {*lines(whole)}
    known = told(tmp_path, program, DOVETAIL_WHOLE_TRACEBACKS="1")
    assert lines(known) == lines(whole) and tracebacks.TITLE not in known


CHAINED = """\
import dovetail as dt
try:
    dt.ops.ones(2) + dt.ops.ones(3)
except ValueError as error:
    raise KeyError("mine") from error
"""


def test_errors_that_follow_each_other(tmp_path):
    text = told(tmp_path, CHAINED)
    assert lines(text) == [("program.py", 3), ("program.py", 5)] and "direct cause of the following" in text
    assert lines(told(tmp_path, CHAINED.replace("from error", "from None"))) == [("program.py", 5)]


def test_other_errors_are_as_python_prints_them(tmp_path):
    program = "import json\njson.loads('{')\n"
    assert told(tmp_path, f"import dovetail; {program}").replace("import dovetail; ", "") == told(tmp_path, program)


def test_python_tells_the_name_that_is_meant(tmp_path):
    """Check a name of the program, and one of Dovetail."""
    assert "Did you mean: 'weights'?" in told(tmp_path, "import dovetail\nweights = 1\nprint(weigths)\n")
    assert "Did you mean: 'softmax'?" in told(tmp_path, "from dovetail import ops\nops.sofmax\n")
    assert "Did you mean 'function'?" in told(tmp_path, "import dovetail as dt\ndt.functoin\n")


def test_hooks_of_programs_stay(tmp_path):
    program = "import sys\n{}\ndt.ops.ones(2) + dt.ops.ones(3)\n"
    own = "sys.excepthook = lambda *error: print('mine', file=sys.stderr)"
    assert told(tmp_path, program.format(f"{own}\nimport dovetail as dt")) == "mine\n"
    assert told(tmp_path, program.format(f"import dovetail as dt\n{own}")) == "mine\n"


def test_the_latest_files_stay(tmp_path):
    """Check that files of other names, links and folders stay, too."""
    names = [f"{tracebacks.PREFIX}{number:02}{tracebacks.SUFFIX}" for number in range(tracebacks.MOST + 2)]
    for number, name in enumerate(names):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (number, number))
    others = ["dovetail-notes.txt", f"{tracebacks.PREFIX}notes", f"{tracebacks.PREFIX}link.txt"]
    for name in others[:2]:
        (tmp_path / name).touch()
    (tmp_path / others[2]).symlink_to(tmp_path / others[0])
    new = Path(told(tmp_path, MATMUL).split()[-1]).name
    assert {*os.listdir(tmp_path)} == {*names[3:], *others, "program.py", new}


def test_a_folder_that_cannot_be_written(tmp_path):
    program = MATMUL.replace("import", "import tempfile; tempfile.tempdir = '/nowhere'; import", 1)
    assert len(lines(told(tmp_path, program))) > 3


def test_the_error_itself_keeps_its_frames(caplog):
    """Debuggers and `logging.exception` read them."""
    with pytest.raises(ValueError) as caught:
        dt.ops.ones(2) + dt.ops.ones(3)
    assert any("dispatch.py" in str(entry.path) for entry in caught.traceback)


def test_the_setting(capsys):
    assert not dt.config.whole_tracebacks()
    dt.config.set_whole_tracebacks(True)
    try:
        assert dt.config.whole_tracebacks()
        with pytest.raises(ValueError) as caught:
            dt.ops.ones(2) + dt.ops.ones(3)
        tracebacks.report(ValueError, caught.value, caught.value.__traceback__)
        assert "dispatch.py" in capsys.readouterr().err
    finally:
        dt.config.set_whole_tracebacks(False)
    with pytest.raises(TypeError, match="must be True or False, not 3"):
        dt.config.set_whole_tracebacks(3)
    tracebacks._is_whole = None
