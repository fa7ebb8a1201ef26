"""`dovetail run MODEL`: models of TensorFlow, of Keras and of `dt.save` on arrays, and the errors of wrong inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.cli.main import main
from tests.libraries import require

MODELS = Path(__file__).parents[1] / "formats" / "tensorflow" / "models"
CASES = {  # model → its inputs, and its result
    "mlp": (["keras_tensor={}:x0"], "output_0"),
    "frozen.pb": (["image={}:x.image", "--outputs", "scores"], "scores"),
    "loop1.meta": (["x={}:x.x", "--input", "n={}:x.n", "--outputs", "z"], "z"),
    "simple": (["x={}:x.x"], "y"),
}


def run(*arguments) -> int:
    return main(["run", *map(str, arguments)])


@pytest.fixture
def own(tmp_path) -> Path:
    """A file of `dt.save` with a function that has keywords, and a graph."""

    @dt.function
    def scaled(x, *, scale):
        return {"up": x * scale, "down": x / scale}

    scaled.concrete(dt.spec((None, 2)), scale=dt.spec(()))
    graph = dt.function(dt.ops.tanh).graph(dt.spec((3,)))
    dt.save({"scaled": scaled, "graphs": [graph]}, tmp_path / "own")
    return tmp_path / "own"


@pytest.mark.parametrize("name", CASES)
def test_values_of_models(name, tmp_path, capsys):
    arrays = MODELS / f"{name.partition('.')[0]}.npz"
    (first, *others), result = CASES[name]
    arguments = [text.format(arrays) for text in (first, *others)]
    assert run(MODELS / name, "--engine", "numpy", "--input", *arguments, "--output", tmp_path / "out.npz") == 0
    known = np.load(arrays)
    expected = known[f"y.{result}" if f"y.{result}" in known else "y"]
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")[result], expected, atol=1e-5)
    said = capsys.readouterr().out
    assert said.splitlines()[2].startswith(f"{result}  ") and said.endswith("out.npz\n")


def test_without_inputs_it_says_what_the_model_takes(capsys):
    assert run(MODELS / "mlp") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[3].split() == ["input", "keras_tensor", "float32[?,6]"]
    assert said[4].split() == ["output", "output_0", "float32[?,3]"]
    assert said[-1].startswith("to run it: dovetail run") and "--input keras_tensor=keras_tensor.npy" in said[-1]


def test_functions_and_graphs_of_dovetails_own_file(own, capsys):
    values = "--input", "scale=2.0", "--input", "arg0=[[1., 2.]]"
    assert run(own, "--signature", "scaled", *values, "--engine", "numpy") == 0
    assert [line.split()[3:] for line in capsys.readouterr().out.splitlines()[2:]] == [["0.5", "1"], ["2", "4"]]
    assert run(own, "--signature", "graphs.0", "--random", "--steps", "2", "--engine", "numpy") == 0
    assert "2 calls: median" in capsys.readouterr().out
    assert run(own) == 1
    assert "several signatures, so add --signature NAME, one of scaled, graphs.0" in capsys.readouterr().err


def test_strings_go_through_a_table(tmp_path, capsys):
    words = "words=['a', 'b', 'c']"
    assert run(MODELS / "loop", "--signature", "look_up", "--input", words, "--output", tmp_path / "out.npz") == 0
    assert np.load(tmp_path / "out.npz")["numbers"].tolist() == [1, 2, 0]
    assert capsys.readouterr().out.splitlines()[2].split() == ["numbers", "int32", "[3]", "1", "2", "0"]


WRONG = [
    (["loop", "--signature", "look_up", "--random"], "takes strings, which are not drawn"),
    (["loop", "--signature", "look_up", "--input", "words=3"], "takes string[?], and int64[] is given"),
    (["mlp", "--input", "nowhere.npy"], "there is no file 'nowhere.npy'"),
    (["mlp", "--input", "kears_tensor=3"], "no input 'kears_tensor'. Did you mean 'keras_tensor'?"),
    (["mlp", "--input", "keras_tensor={}/mlp.npz"], "has no array 'keras_tensor', but "),
    (["mlp", "--input", "keras_tensor=float32[2,5]"], "takes float32[?,6], and float64[2,5] is given"),
    (["mlp", "--input", "keras_tensor=1j"], "takes float32[?,6], and complex128[] is given"),
    (["mlp", "--input", "keras_tensor=import os"], "is no file, no shape as float32[8,3], and no number"),
    (["mlp", "--input", "{}/mlp/saved_model.pb"], "has no arrays of NumPy's"),
    (["mlp", "--signature", "train"], "no signature 'train'; there are serve, serving_default"),
    (["mlp", "--random", "--output", "x.npy"], "--output x.npz"),
    (["mlp", "--trace", "t.json", "--random"], "--as and --map are for programs"),
    (["loop", "--input", "n=2"], "the input 'x', float32[?,4], is not given: add --input x=FILE.npy or --random"),
    (["loop1.meta"], "it has no signature, so add --outputs NAME"),
    (["loop1.meta", "--outputs", "while/Merge:0"], "did you mean loop/Merge or"),
    (["frozen.pb", "--random"], "AudioSpectrogram 'unknown' is an opaque operation"),
    (["loop1.index"], "has arrays and no model to run"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(line) for line, _ in WRONG])
def test_wrong_inputs_are_errors_in_one_line(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model, *others = [text.format(MODELS) for text in arguments]
    flags = others if "--trace" not in others else []
    before = [] if flags else others
    assert run(*before, MODELS / model, *flags, "--engine", "numpy") == 1
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.tflite", "LiteRT"),
        ("model.json", "tensorflowjs_converter"),
        ("m.mlmodel", "coremltools"),
    ],
)
def test_files_of_others_say_what_to_use(name, message, tmp_path, capsys):
    (tmp_path / name).write_bytes(b"\x1c\0\0\0TFL3\xff\xff")
    for command in ("run", "show"):
        assert main([command, str(tmp_path / name)]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["m.pb", "m.onnx", "m"])
@pytest.mark.parametrize(
    ("data", "message"), [(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"), (b"\n<html>", "HTML")]
)
def test_what_stands_in_place_of_a_file_is_told(name, data, message, tmp_path, capsys):
    (tmp_path / name).write_bytes(data)
    for command in (["show", str(tmp_path / name)], ["convert", str(tmp_path / name), str(tmp_path / "out.onnx")]):
        assert main(command) == 1
        assert message in capsys.readouterr().err


def test_a_model_without_inputs_and_outputs_is_not_saved(tmp_path, capsys):
    (tmp_path / "m").write_bytes(b"\x0a\x09\x0a\x01n\x12\x04NoOp")  # a GraphDef with this node alone
    for name in ("x.onnx", "x.pb"):
        assert main(["convert", str(tmp_path / "m"), str(tmp_path / name)]) == 1
        assert "neither inputs nor outputs" in capsys.readouterr().err


KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = "numpy"
import keras, numpy as np
inputs = keras.Input((3,), name="left"), keras.Input((2,), name="right")
x = keras.layers.Concatenate()(inputs)
model = keras.Model(inputs, [keras.layers.Dense(2, name="a")(x), keras.layers.Dense(1, name="b")(x)])
model.save(sys.argv[1])
np.savez(sys.argv[2], *[np.asarray(y) for y in model([np.ones((2, 3)), np.ones((2, 2))])])
"""


def test_a_model_of_keras(tmp_path):
    require("keras", "it reads the file")
    file, known = tmp_path / "m.keras", tmp_path / "known.npz"
    subprocess.run([sys.executable, "-c", KERAS, file, known], check=True)
    for name in ("left", "right"):
        np.save(tmp_path / f"{name}.npy", np.ones((2, 3 if name == "left" else 2)))
    line = [sys.executable, "-m", "dovetail", "run", file, "--engine", "numpy", "--output", tmp_path / "out.npz"]
    line += ["--input", f"right={tmp_path}/right.npy", "--input", tmp_path / "left.npy"]
    done = subprocess.run([*map(str, line)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, expected = np.load(tmp_path / "out.npz"), np.load(known)
    assert found.files == ["a", "b"]
    np.testing.assert_allclose(found["a"], expected["arr_0"], atol=1e-6)
    np.testing.assert_allclose(found["b"], expected["arr_1"], atol=1e-6)
