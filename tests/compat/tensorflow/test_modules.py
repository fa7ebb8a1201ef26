"""TensorFlow's modules that are Keras', in a process of their own, and modules of `tensorflow.python`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.keras_backends import outcomes
from tests.libraries import checks_of, require

CHECKS = "tests.compat.tensorflow.keras_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_keras(check):
    require("keras", "TensorFlow's names are Keras'")
    problem = outcomes(CHECKS, "dovetail")[check]
    assert not problem, problem


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import keras; tf.keras.layers", "import keras_dovetail first, or set KERAS_BACKEND=dovetail"),
        ("import keras; tf.losses.MeanSquaredError", "import keras_dovetail first"),
        ("print(tf.losses, [m for m in sys.modules if m.startswith('keras')]); 1 / 0", " []\n"),
        ("from dovetail.compat.tensorflow.keras import Model; import keras; 1 / keras.backend.backend()", "'str'"),
    ],
)
def test_keras_is_imported_when_it_is_asked_for(program, words):
    require("keras", "TensorFlow's names are Keras'")
    program = f"import sys, dovetail.compat.tensorflow as tf; {program}"
    environment = {**os.environ, "KERAS_BACKEND": "numpy"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert run.returncode == 1 and words in run.stdout + run.stderr
