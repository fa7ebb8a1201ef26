"""Models of TensorFlow, read without it: values on all engines, names, variables, nodes that nothing calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dovetail import saved_model
from tests.conftest import ENGINES

FOLDER = Path(__file__).parent / "models"


def known(name: str) -> list[np.ndarray]:
    found = np.load(FOLDER / f"{name}.npz")
    return [*(found[f"x{number}"] for number in range(len(found.files) - 1)), found["y"]]


def test_models_run_where_tensorflow_cannot_be_imported():
    engines = [name for name in ENGINES if name in ("numpy", "torch", "jax")]
    command = [sys.executable, "-m", "tests.formats.tensorflow.running_checks", *engines]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()[-1])
    assert len(found) == 6 * len(engines)
    assert {name: value for name, value in found.items() if not value < 1e-5} == {}


def test_tensors_have_tensorflows_names():
    graph = saved_model.load(FOLDER / "frozen.pb").signatures["graph"].graph
    relu = graph.get_tensor("conv/Relu:0")
    assert (relu.op.type, relu.op.inputs[0].name, relu.shape) == ("Relu", "conv/Conv2D:0", (None, 3, 3, 3))
    assert graph.get_tensor("dense_1/MatMul").op.outputs[0].shape == (None, 4)


def test_an_unknown_op_is_opaque_and_a_run_that_needs_it_names_it():
    signature = saved_model.load(FOLDER / "frozen.pb").signatures["graph"]
    assert signature.opaque == {
        "unknown": "AudioSpectrogram 'unknown' is an opaque operation: Dovetail has no rule for TensorFlow's op "
        "AudioSpectrogram"
    }
    operation = signature.graph.get_operation("unknown")
    assert (operation.type, operation.inputs[0].shape) == ("AudioSpectrogram", (4, 1))
    x, expected = known("frozen")
    with pytest.raises(NotImplementedError, match="AudioSpectrogram 'unknown' is an opaque operation"):
        signature(x)
    signature.keep("scores")
    np.testing.assert_allclose(signature(image=x)["scores"].numpy(), expected, atol=1e-6)
