"""Edits of a loaded model: their results on each engine by NumPy's formulas, and in TensorFlow after saving."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.saved_model import Signature, load, save
from tests import foreign
from tests.formats.tensorflow.calls import FOLDER

EXAMPLES = Path(__file__).parents[2] / "examples"
X = np.load(FOLDER / "mlp.npz")["x0"]


def loaded() -> Signature:
    return load(FOLDER / "mlp").signatures["serving_default"]


def _weights(signature: Signature) -> dict[str, Any]:
    found = {op.attrs["variable"].name: op.attrs["variable"] for op in signature.graph.find("ReadVariableOp")}
    return {name.removeprefix("sequential/").removesuffix("_1"): variable for name, variable in found.items()}


@dt.RegisterGradient("SurgeryGuidedRelu")
def _guided(op: Any, grad: Any) -> Any:
    return ops.where((grad > 0) & (op.outputs[0] > 0), grad, 0.0)


def _normalize(model: Signature) -> None:
    logits = model.graph.find("BiasAdd")[-1].outputs[0]
    model.graph.insert_after(logits, lambda t: (t - ops.mean(t, 1, keepdims=True)) / ops.std(t, 1, keepdims=True))


def _swap(model: Signature) -> None:
    for op in model.graph.find("Relu"):
        op.change("Softplus")


def _cut(model: Signature) -> None:
    model.keep(model.graph.find("Relu")[0].outputs[0].name)


def _join(model: Signature) -> None:
    second = dt.function(lambda t: ops.tanh(0.1 * t)).graph(dt.spec((None, 3)))
    model.graph.outputs = model.graph.import_graph(second, {second.inputs[0]: model.graph.outputs[0]}, name="second")


def _guide(model: Signature) -> None:
    model.graph.override_gradients({"Relu": "SurgeryGuidedRelu"})
    model.graph.outputs = [dt.gradients(model.graph.outputs[0], model.graph.inputs)[0]]


def _tune(model: Signature) -> None:
    bias = _weights(model)["dense_1/bias"]
    with dt.GradientTape() as tape:
        loss = ops.sum(model(X)["output_0"])
    bias.assign_sub(0.1 * tape.gradient(loss, bias))  # each gradient is the number of rows


def _halve(model: Signature) -> None:
    weights = _weights(model).values()
    model.graph.replace_variables({w: dt.Variable(w.numpy(), "float16", name=w.name) for w in weights})


def _rename(model: Signature) -> None:
    model.rename({"keras_tensor": "features"}, {"output_0": "scores"})


def _fix_and_free(model: Signature) -> None:
    for size in (len(X), None):
        model.graph.set_input_shapes({t: (size, *t.shape[1:]) for t in model.graph.inputs})


def _pairs(w: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    before = X @ w["dense/kernel"] + w["dense/bias"]
    hidden = np.maximum(before, 0)
    return before, hidden, hidden @ w["dense_1/kernel"] + w["dense_1/bias"]


Formula = Callable[[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]], np.ndarray]
EDITS: dict[str, tuple[Callable[[Signature], None], Formula]] = {  # name → edit, and the formula of the result
    "normalize": (_normalize, lambda b, h, y, w: (y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)),
    "swap": (_swap, lambda b, h, y, w: np.logaddexp(b, 0) @ w["dense_1/kernel"] + w["dense_1/bias"]),
    "cut": (_cut, lambda b, h, y, w: h),
    "join": (_join, lambda b, h, y, w: np.tanh(0.1 * y)),
    "guide": (
        _guide,
        lambda b, h, y, w: (np.maximum(w["dense_1/kernel"].sum(1), 0) * (b > 0)) @ w["dense/kernel"].T,
    ),
    "tune": (_tune, lambda b, h, y, w: y - 0.1 * len(X)),
    "halve": (_halve, lambda b, h, y, w: y),
    "rename": (_rename, lambda b, h, y, w: y),
    "batch": (_fix_and_free, lambda b, h, y, w: y),
}
LOOSE = {"halve": 2e-3, "normalize": 1e-4}


def _expected(name: str) -> np.ndarray:
    weights = {key: variable.numpy() for key, variable in _weights(loaded()).items()}
    return EDITS[name][1](*_pairs(weights), weights)


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_model_runs(name, engine):
    model = loaded()
    EDITS[name][0](model)
    model.graph.validate()
    (found,) = model(X).values()
    np.testing.assert_allclose(found.numpy(), _expected(name), rtol=LOOSE.get(name, 1e-5), atol=1e-5)


@pytest.mark.parametrize("name", EDITS)
def test_tensorflow_runs_what_was_edited(name, tmp_path):
    model = loaded()
    EDITS[name][0](model)
    save(model, tmp_path / name)
    (key,) = model.inputs
    (found,) = foreign.saved_model(tmp_path / name, {key: X}).values()
    np.testing.assert_allclose(found, _expected(name), rtol=LOOSE.get(name, 1e-5), atol=1e-5)


def test_the_third_program_of_the_first_seed(engine, monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    program = importlib.import_module("edit_saved_model")
    monkeypatch.setattr(program, "find_spec", lambda name: None)  # the guide runs it in TensorFlow
    found = program.main(["--engine", engine])
    before = found["before"]
    expected = (before - before.mean(1, keepdims=True)) / before.std(1, keepdims=True)
    np.testing.assert_allclose(found["after"], expected, rtol=1e-4, atol=1e-5)
    assert capsys.readouterr().out.count("\n") == 3
