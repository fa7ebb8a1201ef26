"""`dovetail audit --only tf`: the names of TensorFlow that a program uses, under any name, and their replacements."""

from __future__ import annotations

import json

import pytest

from dovetail.cli.main import main

PROGRAM = """\
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow.python.framework import ops
from tensorflow import nn as layers_of_tf
import numpy as np

@ops.RegisterGradient("Mine")
def gradient(op, g):
    return g

x = tf1.placeholder(tf.float32, [None])
y = layers_of_tf.relu(x) + np.abs(3)
v = tf.Variable(1.0).assign(2.0)
dataset = tf.data.Dataset.from_tensor_slices([1])
z = tf.compat.v1.estimator.BoostedTreesClassifier(y)
w = tf.reduce_summ(y)
k = tf.keras.backend.square(x)
"""


@pytest.fixture
def audit(tmp_path, capsys):
    def run(text, *options):
        (tmp_path / "program.py").write_text(text)
        status = main(["audit", "--only", "tf", str(tmp_path / "program.py"), *options])
        return status, capsys.readouterr().out

    return run


def test_names_are_found_and_judged(audit):
    status, text = audit(PROGRAM, "--json", "--engine", "numpy")
    found = {one["name"]: one for one in json.loads(text)["functions"]}
    assert status == 1
    works = {name for name, one in found.items() if one["state"] == "works"}
    framework = "python.framework.ops.RegisterGradient"
    assert works == {"placeholder", "float32", "nn.relu", "Variable", framework, "data.Dataset.from_tensor_slices"}
    fails = {name: one["notes"][0] for name, one in found.items() if one["state"] == "fails"}
    assert set(fails) == {"estimator.BoostedTreesClassifier", "reduce_summ"}
    assert "use Keras' fit" in fails["estimator.BoostedTreesClassifier"]
    assert "Did you mean tf.reduce_sum" in fails["reduce_summ"]
    assert found["nn.relu"]["places"][0]["line"] == 12


def test_the_report_is_text(audit):
    status, text = audit("import tensorflow as tf\ntf.matmul(tf.ones([2, 2]), tf.zeros([2, 2]))\n")
    assert status == 0
    assert text.startswith("3 uses of 3 functions in 1 file: 3 work, 0 work with a difference, 0 do not.")
    assert "`dovetail run FILE` runs the program" in text
    status, text = audit("import numpy as np\nnp.abs(1)\n")
    assert (status, text) == (0, "tf is not used in 1 file.\n")


def test_a_wrong_path(capsys):
    assert main(["audit", "--only", "tf", "nowhere.py"]) == 2
    assert "nowhere.py" in capsys.readouterr().err
