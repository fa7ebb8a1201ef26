"""OpenVINO as an engine; `make test-engines` runs these tests in an environment of its own."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.claims import NotClaimed
from dovetail.formats.wire.messages import ONNX
from tests.engines.models import check_case
from tests.libraries import require
from tests.ops.table import CASES

require("openvino", "the engine stands on it")

X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)

TOLERANCES = {"ResizeBilinear-3": 1e-4}  # OpenVINO computes positions in float32
WRONG = {
    "LinSpace-0": "OpenVINO 2026.4 keeps the axis of a constant",
    "LinearRecurrence-3": "OpenVINO 2026.4 computes another number for one step",
    "CTCBeamSearchDecoder-2": "OpenVINO has the least float32 for minus infinity",
}


def engines(plan):
    return [segment.engine.name for segment in plan.segments]


def test_the_table_of_ops():
    """Check all samples that it claims: no arrays without elements, no numbers of 64 bits, no random bits."""
    claimed = 0
    for op, number in CASES:
        name = f"{op.name}-{number}"
        if name not in WRONG:
            try:
                check_case("openvino", op, number, TOLERANCES.get(name, 1e-5))
                claimed += 1
            except NotClaimed:
                continue
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
    assert claimed >= 720 and len(OPS) > 300


def test_shapes_that_change():
    f = dt.function(lambda x: ops.tanh(x * 2.0), engine="openvino", input_signature=[dt.spec((None, 3))])
    for size in (1, 4, 2):
        x = np.ones((size, 3), "float32")
        np.testing.assert_allclose(f(x).numpy(), np.tanh(x * 2), rtol=1e-6)
    assert engines(f.plan(x)) == ["openvino"]


def test_results_are_new_arrays():
    f = dt.function(lambda x: (x, x + 1.0, ops.ones(3)), engine="openvino")
    first, again = ([t.numpy() for t in f(X)] for _ in range(2))
    assert not any(np.shares_memory(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.shares_memory(found, X) for found in first)


def test_new_weights_count_at_once():
    w = dt.Variable(np.eye(3, dtype="float32"))
    f = dt.function(lambda x: x @ w, engine="openvino")
    for factor in range(1, 4):
        w.assign(np.eye(3, dtype="float32") * factor)
        for _ in range(4):
            np.testing.assert_array_equal(f(X).numpy(), X * factor)


def test_a_model_that_nobody_edited_goes_to_it_as_its_file_has_it(monkeypatch):
    node = ONNX.NodeProto(op_type="HardSwish", input=["x"], output=["y"])  # Dovetail would write other nodes
    x, y = (ONNX.ValueInfoProto(name=name) for name in "xy")
    for value in (x, y):
        value.type.tensor_type.elem_type = 1
        for size in X.shape:
            value.type.tensor_type.shape.dim.add(dim_value=size)
    file = ONNX.ModelProto(ir_version=8, graph=ONNX.GraphProto(name="one", node=[node], input=[x], output=[y]))
    file.opset_import.add(version=17)
    engine, models = get_engine("openvino"), []
    load = engine.load
    monkeypatch.setattr(engine, "load", lambda model: (models.append(model), load(model))[1])
    with dt.engine("openvino"):
        result = dt.onnx.load(file.SerializeToString())(X)
    np.testing.assert_allclose(result, X * np.clip(X / 6 + 0.5, 0, 1), rtol=1e-5, atol=1e-6)
    assert models == [file.SerializeToString()]


def test_threads_call_at_the_same_time():
    f, right = dt.function(lambda x: x * 2.0, engine="openvino"), []

    def work(number):
        right.extend(bool((f(X + number).numpy() == (X + number) * 2).all()) for _ in range(50))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 200


def test_the_number_of_threads(monkeypatch):
    engine = get_engine("openvino")
    monkeypatch.setattr(engine, "threads", engine.threads)
    f = dt.function(lambda x: x + 1.0, engine="openvino")
    f(X)
    assert engine.set_threads(2)
    np.testing.assert_array_equal(f(X).numpy(), X + 1)
    request = f.plan(X).segments[0].executable.packed.run.request
    assert request.get_compiled_model().get_property("INFERENCE_NUM_THREADS") == 2


REFUSED = {
    "numbers of 64 bits": (lambda x: ops.cast(x, "float64") * 2.0, X),
    "no elements": (lambda x: x + 1.0, X[:0]),
    "random bits": (lambda x: x + ops.random.normal(ops.cast(x[0, :2], "int32"), (2, 3)), X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numpy_computes_what_it_refuses(name):
    function, x = REFUSED[name]
    f = dt.function(function, engine="openvino")
    with dt.engine("numpy"):
        np.testing.assert_array_equal(f(x).numpy(), function(ops.convert(x)).numpy())
    assert engines(f.plan(x)) == ["numpy"]


def test_it_works_in_a_forked_child():
    f = dt.function(lambda x: x @ x + 1.0, engine="openvino")
    x = np.ones((300, 300), "float32")
    f(x)
    child = os.fork()
    if child == 0:
        os._exit(int(f(x).numpy()[0, 0] != 301))
    assert os.waitpid(child, 0)[1] == 0
