"""`dovetail audit`: the kinds of files, the names that they miss, and the share of files that run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.cli.main import main
from tests.compat.source.files import notebook, write
from tests.libraries import require

FILES = {
    "train.py": "import tensorflow as tf\nimport model\nx = tf.placeholder(tf.float32)\nmodel.f(x)",
    "model.py": "import tensorflow as tf\nfrom utils import g\ndef f(x):\n    return tf.nn.relu(g(x))",
    "utils.py": "from keras import backend as K\ndef g(x):\n    return K.square(x)",
    "bad.py": "import tensorflow as tf\nimport broken\ntf.reduce_summ(tf.placeholder(3))",
    "broken.py": "import tensorflow as tf\nprint tf",
    "uses_bad.py": "import bad, tensorflow as tf\ntf.Session()",
    "old.ipynb": notebook("from keras import backend as K", "K.mean(x), K.squre(x)"),
    "plain.py": "import numpy",
}
PYTHON_2 = (
    "Python 2, which has to be converted first (2to3 does it): "
    "Missing parentheses in call to 'print'. Did you mean print(...)?"
)


@pytest.fixture
def project(tmp_path):
    write(tmp_path, FILES)
    return tmp_path


def test_kinds_misses_and_the_share(project, capsys):
    assert main(["audit", str(project), "--json", "--engine", "numpy"]) == 1
    found = json.loads(capsys.readouterr().out)
    files = {one["file"].removeprefix(f"{project}/"): one for one in found["files"]}
    assert {name: (one["kind"], one["runs"], one["misses"]) for name, one in files.items()} == {
        "train.py": ("tf1", True, []),
        "model.py": ("keras2", True, []),
        "utils.py": ("keras2", True, []),
        "bad.py": ("tf1", False, ["tf.reduce_summ"]),
        "broken.py": ("keras3", False, [f"{project}/broken.py:2: {PYTHON_2}"]),
        "uses_bad.py": ("tf1", False, []),
        "old.ipynb": ("keras2", False, ["K.squre"]),
    }
    assert found["summary"] == "3 of 7 files that use TensorFlow or Keras run (43%), as far as names tell."
    assert files["train.py"]["why"] == "line 3 uses tf.placeholder"
    assert {name: [one["name"] for one in part["functions"]] for name, part in found["names"].items()} == {
        "tf": ["Session", "float32", "nn.relu", "placeholder", "reduce_summ"],
        "keras": [],
        "K": ["mean", "square", "squre"],
    }


def test_the_report_says_what_to_write(project, capsys):
    main(["audit", str(project)])
    text = capsys.readouterr().out
    assert "Did you mean tf.reduce_sum?" in text and "did you mean K.square?" in text
    assert [*map(str.split, text.splitlines())][2] == ["file", "kind", "runs", "misses"]
    assert text.count("which has to be converted first") == 1
    (project / "none").mkdir()
    write(project / "none", {"a.py": "print(1)"})
    assert main(["audit", str(project / "none")]) == 0
    assert capsys.readouterr().out == "No file uses TensorFlow or Keras.\n"


@pytest.mark.parametrize("subject", ["K", "tf", "keras"])
def test_one_subject_alone(project, capsys, subject):
    assert main(["audit", str(project), "--only", subject, "--json"]) == int(subject != "keras")
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["functions"]]
    assert names == {"K": ["mean", "square", "squre"], "keras": []}.get(subject, names)


MODERN = """\
import keras
from keras import backend, layers, ops
from keras.src import backend as own

class Halved(layers.Layer):
    def call(self, x):
        dtype = backend.standardize_dtype(x.dtype)
        return ops.cast(own.nn.relu(own.numpy.abs(own.convert_to_tensor(x))) / 2, dtype)

print(backend.result_type("float16", "int32"), Halved()(ops.ones(2, "float16")).dtype)
"""


def test_what_is_of_keras_3_runs_as_dovetail_run_says(tmp_path):
    require("keras", "its backend has the names")
    write(tmp_path, {"modern.py": MODERN, "wrong.py": MODERN + "backend.standardise_dtype(3)\n"})
    command = [sys.executable, "-m", "dovetail"]
    done = subprocess.run([*command, "run", tmp_path / "modern.py"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "float16 float32\n")
    told = subprocess.run([*command, "audit", tmp_path, "--json"], capture_output=True, text=True)
    assert told.returncode == 1, told.stderr
    runs = {Path(one["file"]).name: one["runs"] for one in json.loads(told.stdout)["files"]}
    assert runs == {"modern.py": True, "wrong.py": False}


BRANCHING = """\
import tensorflow as tf

@tf.function
def collatz(n):
    steps, seen = 0, {"largest": n}
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n > seen["largest"]:
            seen["largest"] = n
        steps += 1
    return steps, seen["largest"]

print(*(int(x) for x in collatz(tf.constant(27))))
"""


def test_branches_of_python_run_as_the_audit_says(tmp_path):
    write(tmp_path, {"branching.py": BRANCHING, "cells.ipynb": notebook("%matplotlib inline\n" + BRANCHING)})
    command = [sys.executable, "-m", "dovetail"]
    for name in ("branching.py", "cells.ipynb"):
        done = subprocess.run([*command, "run", tmp_path / name], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "111 9232\n"), done.stderr
    told = subprocess.run([*command, "audit", tmp_path, "--json"], capture_output=True, text=True)
    assert [one["runs"] for one in json.loads(told.stdout)["files"]] == [True, True]
