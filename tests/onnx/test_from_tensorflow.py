"""SavedModels, as TensorFlow and Keras 2 wrote them, that leave as ONNX: ONNX Runtime computes TensorFlow's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops, saved_model
from tests.formats.onnx.running import run, session
from tests.formats.tensorflow.calls import FOLDER, Call, difference, models
from tests.keras_backends import told
from tests.libraries import require

require("onnx", "its checker looks at what is written")
require("onnxruntime", "it runs what is written")

SERVING = "serving_default"
KERAS2 = Path(__file__).parents[1] / "formats" / "keras" / "folders"
WITH_FUNCTIONS = ("mlp", "lambdas", "gated", "subclassed", "adam")  # others of the folder have no graphs
HOST = "the host computes strings, tables or records"
ABSENT = {  # calls that do not leave as ONNX → words of the error
    "classifier1": HOST,  # its result is a class by name
    "labels loop": HOST,
    "labels shares": HOST,
    "loop look_up": HOST,
    "texts texts": HOST,
    "products": "it solves no equations",
}
OPSETS = {"named serving_default": 28}  # its numbers are drawn by bits, for which ONNX has BitCast from 26 on
NO_KERNELS = ("halves", "mixed")  # ONNX Runtime multiplies no matrices of bfloat16 on a CPU, so Dovetail reads them


def calls(is_absent: bool) -> list[Any]:
    """The first call of numbers of each signature of each model, with a name."""
    found = []
    for name, path, known in models(FOLDER):
        for signature, call in {call.signature: call for call in reversed(known.calls)}.items():
            given = call.inputs if isinstance(call.inputs, tuple) else call.inputs.values()
            title = f"{name} {signature}".rstrip()
            if all(x.dtype.kind not in "SO" for x in given) and (title in ABSENT) == is_absent:
                found.append(pytest.param(title, path, call, id=title))
    return found


def program_of(path: Path, call: Call) -> tuple[Any, list[Any], list[str]]:
    """The program that a call of a model runs, its arrays in order, and the keys of its results in order."""
    model = saved_model.load(path)
    serving = model.signatures.get(SERVING)
    if isinstance(call.inputs, tuple) and serving and len(call.inputs) == len(serving.inputs) == 1:
        (spec,) = serving.input_specs.values()
        return serving, [call.inputs[0].astype(spec.dtype.numpy)], sorted(call.results)
    if isinstance(call.inputs, tuple):
        specs = [dt.spec(x.shape, x.dtype) for x in call.inputs]
        return dt.function(model, input_signature=specs), [*call.inputs], sorted(call.results)
    found = model.results(*call.results) if path.is_file() else model.signatures[call.signature or SERVING]
    return found, [call.inputs[key] for key in found.inputs], list(found.outputs)


@pytest.mark.parametrize(("title", "path", "call"), calls(False))
def test_a_model_of_tensorflow_leaves_as_onnx(title: str, path: Path, call: Call, tmp_path: Path):
    (program, arrays, keys), file = program_of(path, call), tmp_path / "model.onnx"
    dt.onnx.save(program, file, OPSETS.get(title, 18))
    found = [x.numpy() for x in dt.onnx.load(file).run(arrays)] if title in NO_KERNELS else run(file, *arrays)
    assert len(found) >= len(call.results)  # new values of variables come behind
    for key, array in zip(keys, found, strict=False):
        expected = call.results[key] if key in call.results else next(iter(call.results.values()))
        limit = 4e-3 if title in NO_KERNELS else 1e-5
        assert difference(array.astype("float32") if title in NO_KERNELS else array, expected) < limit, key


@pytest.mark.parametrize(("title", "path", "call"), calls(True))
def test_models_that_do_not_leave_are_named(title: str, path: Path, call: Call, tmp_path: Path):
    with pytest.raises(NotImplementedError, match=ABSENT[title]):
        dt.onnx.save(program_of(path, call)[0], tmp_path / "model.onnx")


SORTED = {
    "sort": lambda x: ops.sort(x, 1),
    "first axis": lambda x: ops.argsort(x, 0),
    "descending": lambda x: ops.argsort(-x, -1),
    "integers": lambda x: ops.argsort(ops.cast(ops.isnan(x), "int32"), -1),
    "bools": lambda x: ops.argsort(ops.isnan(x), -1),
    "halves": lambda x: ops.argsort(ops.cast(x, "float16"), -1),
    "doubles": lambda x: ops.sort(ops.cast(x, "float64"), 0),
    "median": lambda x: ops.median(ops.where(ops.isnan(x), 0.0, x), -1),
}


@pytest.mark.parametrize("shape", [(None, None), (None, 4), (2, 4)], ids=str)
@pytest.mark.parametrize("name", SORTED)
def test_what_is_sorted_comes_back_from_a_saved_model_and_leaves_as_onnx(name: str, shape: Any, tmp_path: Path):
    x = np.array([[3, 1, np.nan, 2], [0.0, -0.0, -np.inf, 1]], "float32")
    expected = SORTED[name](x).numpy()
    saved_model.save(dt.function(SORTED[name], input_signature=[dt.spec(shape)]), tmp_path / "model")
    loaded = dt.function(saved_model.load(tmp_path / "model"), input_signature=[dt.spec(shape)])
    dt.onnx.save(loaded, tmp_path / "model.onnx")
    np.testing.assert_array_equal(loaded(x).numpy(), expected)
    np.testing.assert_array_equal(run(tmp_path / "model.onnx", x)[0], expected)


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_a_model_of_keras_2_leaves_as_onnx(name: str, tmp_path: Path):
    known = np.load(KERAS2 / f"{name}.npz")
    dt.onnx.save(saved_model.load(KERAS2 / name), tmp_path / "model.onnx")
    found = run(tmp_path / "model.onnx", *(known[key] for key in known.files if key.startswith("x")))
    for ours, key in zip(found, [key for key in known.files if key.startswith("y")], strict=True):
        assert difference(ours, known[key]) < 1e-5


@pytest.mark.long("it makes models by Keras 2")
def test_new_models_of_keras_2_leave_as_onnx(tmp_path: Path):
    found = told("tests.onnx.keras2_models", "tensorflow", str(tmp_path), alone=True)
    assert len(found) >= 8
    for name, inputs in found.items():
        dt.onnx.save(saved_model.load(tmp_path / name), tmp_path / "model.onnx")
        known = np.load(tmp_path / f"{name}.npz")
        ready = session(tmp_path / "model.onnx")
        for size in (1, 5):  # the batch is not known
            given = {key: known[f"{key}.{size}"] for key in inputs}
            assert difference(ready.run(None, given)[0], known[f"y.{size}"]) < 1e-5, name
