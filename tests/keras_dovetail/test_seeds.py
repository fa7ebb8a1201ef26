"""`keras.utils.set_random_seed`: it seeds TensorFlow without importing it; each case in its own process."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.libraries import require

require("keras", "it keeps the seed")
require("tensorflow", "it is seeded")
START = "import sys, keras_dovetail, keras"
DRAW = "import tensorflow as tf; print(tf.random.uniform((4,), maxval=9999, dtype=tf.int32).numpy().tolist())"


def said(*lines: str) -> object:
    """The value that a program prints last."""
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return ast.literal_eval(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wanted():
    """The numbers that TensorFlow draws with the seed 8."""
    return said("import tensorflow; tensorflow.random.set_seed(8)", DRAW)


def test_it_is_seeded_once_it_is_imported(wanted):
    seed = "for seed in (7, 8): keras.utils.set_random_seed(seed)"
    assert said(START, seed, "assert 'tensorflow' not in sys.modules", DRAW) == wanted


def test_it_is_seeded_at_once_if_it_is_there(wanted):
    assert said(START, "import tensorflow", "keras.utils.set_random_seed(8)", DRAW) == wanted


def test_without_a_seed_it_is_left_alone(wanted):
    assert said(START, DRAW) != wanted
