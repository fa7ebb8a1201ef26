"""Models of Keras with classes of one's own, which `--import` brings, and the model that the demo writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import require

require("keras", "it makes the models")

LAYERS = "import keras\nclass Halved(keras.layers.Layer):\n    def call(self, x):\n        return x / 2\n"
MAKE = """\
import keras_dovetail, keras, numpy as np
from keras_dovetail.demo import model
from my_layers import Halved
keras.utils.set_random_seed(0)
model.build().save("digits.keras")
made = keras.Sequential([keras.Input((3,), name="x"), Halved()])
made.save("own.keras")
made.save("own.h5")
np.save("x.npy", np.ones((2, 3), "float32"))
"""
IMPORT = "--import", "my_layers.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("own")
    (path / "my_layers.py").write_text(LAYERS)
    subprocess.run([sys.executable, "-c", MAKE], cwd=path, check=True, capture_output=True)
    return path


def told(folder: Path, *arguments: str) -> tuple[int, str]:
    """The status of a command, and what it prints."""
    done = subprocess.run([sys.executable, "-m", "dovetail", *arguments], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["own.keras", "own.h5"])
def test_a_class_of_the_users(folder, file):
    status, text = told(folder, "run", file)
    assert status == 1 and text.count("\n") == 1
    assert f"{file!r} has 'Halved', a class or function that Keras does not know: add --import" in text
    status, text = told(folder, "run", file, *IMPORT, "--input", "x=x.npy", "--engine", "numpy")
    assert status == 0 and "0.5 0.5 0.5" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "own.keras", "--signature", "serving_default"),
        ("show", "own.keras", "--out", "own.svg"),
        ("convert", "own.keras", "own.npz.onnx"),
    ],
    ids=lambda arguments: " ".join(arguments[::2]),
)
def test_commands_that_open_a_model(folder, arguments):
    assert told(folder, *arguments)[0] == 1
    assert told(folder, *arguments, *IMPORT)[0] == 0


def test_files_that_are_not_there_and_programs(folder):
    assert told(folder, "run", "own.keras", "--import", "nothing.py") == (
        1,
        "dovetail: there is no file 'nothing.py' to import.\n",
    )
    (folder / "program.py").write_text("")
    assert "options of models stand before its name" in told(folder, "run", *IMPORT, "program.py")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "digits.keras"), "SmoothConvolution"),
        (("show", "--flops", "digits.keras"), "192,522       9,932  total"),
        (("show", "--html", "digits.keras"), "wrote digits.html"),
        (("run", "digits.keras"), "float32[?,10]"),
        (("convert", "digits.keras", "digits.onnx"), "wrote digits.onnx"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_the_model_of_the_demo(folder, arguments, said):
    status, text = told(folder, *arguments)
    assert status == 0 and said in text
