"""Summaries of ONNX models: what they take and give, their operations, also in branches, and their weights."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.kinds import kind_of, summarize
from dovetail.formats.wire.messages import ONNX


@pytest.fixture
def path(tmp_path):
    w = dt.Variable(np.ones((3, 2000), "float32"), name="w")
    function = dt.function(
        lambda x: ops.cond(ops.sum(x) > 0, lambda: x @ w, lambda: ops.zeros_like(x @ w)),
        input_signature=[dt.spec((None, 3))],
    )
    dt.onnx.save(function, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def table(found, title):
    return next(table.rows for table in found.tables if table.title == title)


@pytest.mark.parametrize("external", [False, True])
def test_a_model(path, external):
    if external:
        model = ONNX.ModelProto.FromString(path.read_bytes())
        weight = model.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = 1
        weight.external_data.add(key="location", value="gone.data")
        path.write_bytes(model.SerializeToString())
    found = summarize(path)
    assert found.kind == "ONNX model" and found.facts["opset"] == "ai.onnx 18"
    assert [row[1:] for row in table(found, "inputs and outputs")] == [
        ("input", "x", "float32", (None, 3)),
        ("output", "output_0", "float32", (None, 2000)),
    ]
    assert ("If", 1) in table(found, "operations") and "MatMul" in dict(table(found, "operations"))
    assert ("w", "float32", (3, 2000), 6000, 24000) in table(found, "weights")


def test_an_operation_that_is_not_known(path):
    model = ONNX.ModelProto.FromString(path.read_bytes())
    model.graph.node.add(op_type="Unheard", domain="com.example", output=["y"])
    path.write_bytes(model.SerializeToString())
    assert ("com.example.Unheard (opaque)", 1) in table(summarize(path), "operations")


def test_damage(path):
    assert kind_of(path)[0] == "ONNX model"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FormatError):
        summarize(path)
