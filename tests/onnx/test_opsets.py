"""Edited models keep their opset, and files of older opsets are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.parser import parse_model

import dovetail as dt
from dovetail.core.base.table import OPS
from tests.formats.onnx.running import run, session, session_of
from tests.libraries import require

require("onnxruntime", "it says what is right")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 8, 8)).astype("float32")
TEXT = """<ir_version: 7, opset_import: ["": {opset}]> g (float[b,3,8,8] x) => (float[b,n] y) {{
    c = Conv<pads = [1, 1, 1, 1]>(x, w)
    h = Relu(c)
    p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)
    zero = Constant<value_ints = [0]>()
    all = Constant<value_ints = [64]>()
    sizes = Shape(p)
    count = Gather(sizes, zero)
    shape = Concat<axis = 0>(count, all)
    f = Reshape(p, shape)
    m = ReduceMean<axes = [1], keepdims = 1>(f)
    y = Sub(f, m)
}}"""


def convolved(opset: int) -> onnx.ModelProto:
    """A model as exporters of an old opset write it, with a batch of any size."""
    message = parse_model(TEXT.format(opset=opset))
    message.graph.initializer.append(numpy_helper.from_array(RNG.normal(size=(4, 3, 3, 3)).astype("float32"), "w"))
    return message


def opset_of(path: Path) -> int:
    (found,) = onnx.load(path).opset_import
    return found.version


@pytest.mark.parametrize("opset", [9, *range(13, 18)])
def test_an_edited_model_keeps_its_opset(opset: int, tmp_path: Path):
    message = convolved(opset)
    message.ir_version = 4 if opset < 13 else 7
    if opset < 12:  # which have no lists as constants
        for node, number in ((message.graph.node[3], 0), (message.graph.node[4], 64)):
            node.attribute[0].CopyFrom(helper.make_attribute("value", numpy_helper.from_array(np.array([number]))))
    loaded = dt.onnx.load(message)
    with loaded.graph.as_default():
        loaded.graph.outputs = [loaded.graph.outputs[0] * 2]
    loaded.save(tmp_path / "model.onnx")
    assert opset_of(tmp_path / "model.onnx") == max(opset, 13)
    for x in (X, X[:1], X[:0]):
        (right,) = session_of(message.SerializeToString()).run(None, {"x": x})
        (found,) = run(tmp_path / "model.onnx", x)
        assert found.shape == right.shape
        np.testing.assert_allclose(found, 2 * right, atol=1e-5)


LATER: dict[str, Any] = {  # new operations → the first opset that has them
    "greatest": (lambda y: OPS["TensorScatterMax"](y, [[0]], y[:1] + 1), 18),
    "added": (lambda y: OPS["TensorScatterAdd"](y, [[0]], y[:1]), 16),
    "bits": (lambda y: dt.ops.cast(dt.ops.bitwise_and(dt.ops.cast(y * 9, "int32"), 3), "float32"), 18),
}


@pytest.mark.parametrize("name", LATER)
def test_an_operation_that_the_opset_lacks_moves_the_file_to_the_next(name: str, tmp_path: Path):
    edit, first = LATER[name]
    loaded = dt.onnx.load(convolved(13))
    with loaded.graph.as_default(), loaded.graph.name_scope("new"):
        loaded.graph.outputs = [edit(loaded.graph.outputs[0])]
    with pytest.warns(UserWarning, match=f"the opset of the file becomes {first}: .*new/.* opset 13 lacks"):
        loaded.save(tmp_path / "model.onnx")
    assert opset_of(tmp_path / "model.onnx") == first
    np.testing.assert_allclose(run(tmp_path / "model.onnx", X)[0], loaded(X).numpy(), atol=1e-5)
    with pytest.raises(NotImplementedError, match=rf"test_opsets\.py.*new/.*lacks.*; give opset={first}"):
        loaded.save(tmp_path / "other.onnx", opset=14)
    assert not (tmp_path / "other.onnx").exists()


def test_an_operation_in_a_branch_is_named(tmp_path: Path):
    x = dt.spec((3,), "int32")
    wrong = dt.function(
        lambda x: dt.ops.cond(x[0] > 0, lambda: dt.ops.bitwise_or(x, 4), lambda: x), input_signature=[x]
    )
    with pytest.raises(NotImplementedError, match=r"BitwiseOr at .*test_opsets\.py.*opset 17 lacks Bitwise.*opset=18"):
        dt.onnx.save(wrong, tmp_path / "model.onnx", opset=17)


def test_the_command_takes_an_older_opset(tmp_path: Path):
    from dovetail.cli.main import main

    (tmp_path / "model.onnx").write_bytes(convolved(17).SerializeToString())
    assert not main(["convert", str(tmp_path / "model.onnx"), str(tmp_path / "old.onnx"), "--opset", "13"])
    assert opset_of(tmp_path / "old.onnx") == 13
    (right,) = session_of(str(tmp_path / "model.onnx")).run(None, {"x": X})
    np.testing.assert_allclose(session(tmp_path / "old.onnx").run(None, {"x": X})[0], right, atol=1e-5)
