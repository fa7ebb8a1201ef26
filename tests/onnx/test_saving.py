"""Functions, graphs and training steps that leave as ONNX models: ONNX Runtime computes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from tests.formats.onnx.running import onnx, run, session, trained
from tests.libraries import require

require("onnx", "its checker looks at what is written")
require("onnxruntime", "it runs what is written")


def variables(rng: Any, *shapes: tuple[int, ...]) -> list[dt.Variable]:
    return [dt.Variable(rng.normal(size=shape).astype("float32") / 3, name=f"w{i}") for i, shape in enumerate(shapes)]


def mlp(rng: np.random.Generator) -> tuple[Any, list[dt.Variable]]:
    w, b, v = kept = variables(rng, (4, 8), (8,), (8, 3))
    return (lambda x: dt.ops.softmax(dt.ops.matmul(dt.ops.relu(dt.ops.matmul(x, w) + b), v))), kept


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("opset", range(13, 29))
def test_a_function_is_saved(opset: int, external: bool, tmp_path: Path, rng: np.random.Generator):
    predict = dt.function(mlp(rng)[0], input_signature=[dt.spec((None, 4))])
    dt.onnx.save(predict, tmp_path / "model.onnx", opset, external)
    x = rng.normal(size=(5, 4)).astype("float32")
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x)[0], predict(x).numpy(), atol=1e-6)
    model = onnx.load(tmp_path / "model.onnx")
    lowest = onnx.helper.find_min_ir_version_for(model.opset_import)
    assert (model.opset_import[0].version, model.ir_version) == (opset, lowest)
    assert [one.dim_param for one in model.graph.input[0].type.tensor_type.shape.dim] == ["x_0", ""]
    assert [one.name for one in model.graph.initializer if one.name.startswith("w")] == ["w0", "w1", "w2"]


def cnn(rng: np.random.Generator) -> tuple[Any, list[dt.Variable]]:
    k, b, v, w = kept = variables(rng, (3, 3, 1, 4), (4,), (3, 3, 4, 6), (6, 3))

    def predict(x: Any) -> Any:
        x = dt.ops.reshape(x, (-1, 8, 8, 1))
        y = dt.ops.max_pool(dt.ops.relu(dt.ops.conv(x, k, padding="same") + b), 2, strides=2)
        return dt.ops.softmax(dt.ops.matmul(dt.ops.mean(dt.ops.conv(y, v, strides=2), axis=(1, 2)), w))

    return predict, kept


def lstm(rng: np.random.Generator) -> tuple[Any, list[dt.Variable]]:
    kernel, recurrent, bias, w = kept = variables(rng, (8, 20), (5, 20), (20,), (5, 3))

    def predict(x: Any) -> Any:
        zero = dt.ops.zeros((4, 5))
        y, *_ = OPS["LSTM"](dt.ops.reshape(x, (4, 8, 8)), zero, zero, kernel, recurrent, bias)
        return dt.ops.softmax(dt.ops.matmul(y[:, -1], w))

    return predict, kept


def transformer(rng: np.random.Generator) -> tuple[Any, list[dt.Variable]]:
    q, k, v, gamma, beta, w = kept = variables(rng, (8, 8), (8, 8), (8, 8), (8,), (8,), (8, 3))

    def predict(x: Any) -> Any:
        x = dt.ops.reshape(x, (-1, 8, 8))
        parts = [dt.ops.matmul(x, one) for one in (q, k, v)]
        y = dt.ops.layer_normalization(x + dt.ops.scaled_dot_product_attention(*parts), gamma + 1, beta)
        drawn = OPS["StatelessRandomUniform"](np.int32([3, 7]), (8, 8), "float32")
        dropped = dt.ops.gelu(y) * dt.ops.cast(drawn > 0.1, "float32")
        return dt.ops.softmax(dt.ops.matmul(dt.ops.mean(dropped, axis=1), w))

    return predict, kept


def sgd(kept: Any, gradients: Any) -> None:
    for variable, gradient in zip(kept, gradients, strict=True):
        variable.assign_sub(0.1 * gradient)


def adam(kept: Any, gradients: Any, slots: dict[Any, Any]) -> None:
    for variable, gradient in zip(kept, gradients, strict=True):
        mean, square = slots[variable]
        mean.assign(0.9 * mean + 0.1 * gradient)
        square.assign(0.999 * square + 0.001 * gradient * gradient)
        variable.assign_sub(0.01 * mean / (dt.ops.sqrt(square) + 1e-4))


STEPS = {"mlp": (mlp, 4, None), "cnn": (cnn, 64, None), "lstm": (lstm, 64, 4), "transformer": (transformer, 64, None)}


@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_carries_its_state(name: str, tmp_path: Path, rng: np.random.Generator):
    build, size, batch = STEPS[name]
    predict, kept = build(rng)
    slots = {v: [dt.Variable(np.zeros(v.shape, "f"), name=f"{v.name}_{i}") for i in range(2)] for v in kept}

    def step(x: Any, y: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = dt.ops.mean(dt.ops.square(predict(x) - y))
        gradients = tape.gradient(loss, kept)
        sgd(kept, gradients) if name == "mlp" else adam(kept, gradients, slots)
        return loss

    compiled = dt.function(step, input_signature=[dt.spec((batch, size)), dt.spec((batch, 3))])
    dt.onnx.save(compiled, tmp_path / "step.onnx")
    batches = [
        {"x": rng.normal(size=(4, size)).astype("float32"), "y": rng.normal(size=(4, 3)).astype("float32")}
        for _ in range(10)
    ]
    found, state = trained(tmp_path / "step.onnx", batches)
    with dt.engine("numpy"):
        expected = [np.asarray(compiled(*batch.values()).numpy()) for batch in batches]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    for variable in kept:
        np.testing.assert_allclose(state[variable.op_name], variable.numpy(), rtol=1e-4, atol=1e-5)


def test_reads_and_assignments_keep_their_order(tmp_path: Path):
    a, b = dt.Variable(3.0, name="a"), dt.Variable(5.0, name="b")

    def effects(x: Any) -> Any:
        before = a.read() * 1
        a.assign(b.read() + x)
        b.assign(a.read() * before)
        a.assign(a.read() + dt.ops.cond(x > 1, lambda: b.read(), lambda: x))
        return before, a.read() - b.read()

    compiled = dt.function(effects, input_signature=[dt.spec(())])
    dt.onnx.save(compiled, tmp_path / "step.onnx")
    given = [np.array(value, "float32") for value in (1, 2)]
    found, state = trained(tmp_path / "step.onnx", [{"x": x} for x in given])
    assert [float(x) for x in found] == [float(compiled(x)[0]) for x in given]
    assert (state["a"], state["b"]) == (a.numpy(), b.numpy())


def test_a_graph_that_records_effects_is_saved(tmp_path: Path):
    a, b, graph = dt.Variable(3.0, name="a"), dt.Variable(5.0, name="b"), dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        a.assign(b.read() * x)
        graph.outputs = [a.read() + x]
    dt.onnx.save(graph, tmp_path / "step.onnx")
    found, state = trained(tmp_path / "step.onnx", [{"x": np.array(2, "float32")}])
    assert (float(found[0]), float(state["a"])) == (12, 10)


def test_a_model_of_halves_is_saved(tmp_path: Path, rng: np.random.Generator):
    w = dt.Variable(rng.normal(size=(4, 3)).astype("float16"), name="w")
    predict = dt.function(
        lambda x: dt.ops.softmax(dt.ops.matmul(x, w)), input_signature=[dt.spec((None, 4), "float16")]
    )
    dt.onnx.save(predict, tmp_path / "model.onnx")
    x = rng.normal(size=(5, 4)).astype("float16")
    (found,) = run(tmp_path / "model.onnx", x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, predict(x).numpy(), atol=2e-3)


def test_a_part_of_a_session_graph_is_saved(tmp_path: Path, rng: np.random.Generator):
    graph, w = dt.Graph(), dt.Variable(rng.normal(size=(4, 3)).astype("float32"), name="w")
    with graph.as_default(), dt.Session(graph) as session:
        x = graph.placeholder(dt.spec((None, 4)), "x")
        hidden = dt.ops.matmul(dt.ops.tanh(x), w.read())
        y = dt.ops.softmax(hidden)
        graph.placeholder(dt.spec(()), "unused")
        array = rng.normal(size=(5, 4)).astype("float32")
        expected, inner = session.run([y, hidden], {x: array})
    dt.onnx.save(graph.subgraph([y], [x]), tmp_path / "whole.onnx")
    dt.onnx.save(graph.subgraph([y], [hidden]), tmp_path / "head.onnx")
    np.testing.assert_allclose(run(tmp_path / "whole.onnx", array)[0], expected, atol=1e-6)
    np.testing.assert_allclose(run(tmp_path / "head.onnx", inner)[0], expected, atol=1e-6)


def test_names_of_dicts_are_the_outputs(tmp_path: Path):
    twice = dt.function(lambda x: {"x": x, "sum": x + x}, input_signature=[dt.spec((2,))])
    dt.onnx.save(twice, tmp_path / "model.onnx")
    ready = session(tmp_path / "model.onnx")
    assert [one.name for one in ready.get_outputs()] == ["sum", "x_1"]
    assert run(tmp_path / "model.onnx", np.float32([1, 2]))[0].tolist() == [2.0, 4.0]


def test_large_values_go_to_a_second_file(tmp_path: Path):
    w = dt.Variable(np.ones((64, 64), "float32"), name="w")
    product = dt.function(lambda x: dt.ops.matmul(x, w), input_signature=[dt.spec((1, 64))])
    dt.onnx.save(product, tmp_path / "model.onnx", external=True)
    assert (tmp_path / "model.onnx.data").stat().st_size == w.numpy().nbytes
    assert run(tmp_path / "model.onnx", np.ones((1, 64), "f"))[0][0, 0] == 64
    before = (tmp_path / "model.onnx").read_bytes()
    with pytest.raises(NotImplementedError):
        dt.onnx.save(dt.function(dt.ops.cholesky, input_signature=[dt.spec((3, 3))]), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_wrong_calls_say_what_to_do(tmp_path: Path):
    path = tmp_path / "model.onnx"
    with pytest.raises(ValueError, match="was not traced"):
        dt.onnx.save(dt.function(lambda x: x), path)
    with pytest.raises(TypeError, match=r"no compiled function.*as dt\.function makes it"):
        dt.onnx.save(lambda x: x, path)
    solve = dt.function(lambda x: dt.ops.cholesky(x), input_signature=[dt.spec((3, 3))])
    with pytest.raises(ValueError, match="from 13 to 28, not 12"):
        dt.onnx.save(solve, path, opset=12)
    with pytest.raises(NotImplementedError, match=r"Cholesky at .*test_saving\.py.*decomposes no matrices.*Cut"):
        dt.onnx.save(solve, path)
    assert not path.exists()
