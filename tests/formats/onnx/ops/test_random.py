"""Random numbers of models: other ones in each run, the same ones for each load of a model with a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dovetail as dt

X = np.full((40, 50), 0.25, "float32")
SEED = {"seed": 7.0}
CASES: dict[str, tuple[list[str], dict[str, Any], float]] = {  # type → inputs, attributes, the mean
    "RandomUniform": ([], {"shape": [40, 50], "low": 1.0, "high": 3.0}, 2.0),
    "RandomUniformLike": (["x"], {}, 0.5),
    "RandomNormal": ([], {"shape": [40, 50], "mean": 4.0}, 4.0),
    "RandomNormalLike": (["x"], {"scale": 0.1}, 0.0),
    "Bernoulli": (["x"], {}, 0.25),
    "Multinomial": (["x"], {"sample_size": 50}, 24.5),
    "Dropout": (["x", "ratio", "training"], {}, 0.25),
}


def model(type: str, inputs: list[str], attrs: dict[str, Any]) -> onnx.ModelProto:
    node = helper.make_node(type, inputs, ["y"], **attrs)
    out = TensorProto.INT32 if type == "Multinomial" else TensorProto.FLOAT
    weights = [
        numpy_helper.from_array(np.array(0.5, "float32"), "ratio"),
        numpy_helper.from_array(np.array(True), "training"),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 50])] if inputs else []
    graph = helper.make_graph([node], "draws", given, [helper.make_tensor_value_info("y", out, None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize("type", list(CASES))
def test_runs_differ_and_loads_do_not(engine: str, type: str):
    inputs, attrs, mean = CASES[type]
    proto = model(type, inputs, attrs | ({"seed": 7} if type == "Dropout" else SEED))
    given = [X] if inputs else []

    def runs() -> list[np.ndarray]:
        loaded = dt.onnx.load(proto)
        return [loaded.run(given)[0].numpy() for _ in range(2)]

    first, second = runs()
    assert (first != second).mean() > 0.1
    assert abs(first.mean() - mean) < 0.1 * max(first.std(), 0.5)
    assert all(map(np.array_equal, runs(), (first, second)))


def test_loads_without_a_seed_differ():
    proto = model("Bernoulli", ["x"], {})
    first, second = (dt.onnx.load(proto)(X).numpy() for _ in range(2))
    assert (first != second).any()


def test_the_sequence_goes_on_where_a_model_is_read_again():
    loaded = dt.onnx.load(model("Bernoulli", ["x"], SEED))
    first = loaded(X).numpy()
    with pytest.warns(UserWarning, match="the file declares"):
        again = loaded(X[:, :20]).numpy()
    assert (first[:, :20] != again).any()
    assert (loaded(X).numpy() != first).any()
