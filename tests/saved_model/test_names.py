"""Names that TensorFlow does not take, or that become one there: it opens the files, and the names come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.formats.tensorflow.names import node_name
from tests import foreign

X = np.linspace(-1, 1, 4, dtype="float32").reshape(2, 2)
ODD = (
    "my kernel",
    "my_kernel",
    "kernel:0",
    "Conv@0",
    "/0/Gemm",
    "_x",
    "-z",
    "größe",
    "a>b",
    "a>",
    "onnx::Pow_25",
    "^c",
)


def odd_graph() -> dt.Graph:
    """A graph in which a variable and an operation has each of the odd names."""
    variables = [
        dt.Variable(np.eye(2, dtype="float32") * (1 + number / 4), name=name) for number, name in enumerate(ODD)
    ]
    graph = dt.Graph("a graph")
    with graph.as_default():
        total: Any = graph.placeholder(dt.spec((None, 2)), "my input")
        total = total + graph.placeholder(dt.spec((None, 2)), "my_input")
        for name, variable in zip(ODD, variables, strict=True):
            total = ops.tanh(ops.matmul(total, variable))
            total.op.name = name
        graph.outputs = [ops.cond(ops.sum(total) > 0, lambda: total * 2.0, lambda: total)]
    return graph


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dt.Graph, np.ndarray]:
    folder = tmp_path_factory.mktemp("names")
    graph = odd_graph()
    dt.saved_model.save(graph, folder / "model", {"my signature": graph, "_ä": graph})
    dt.saved_model.save(graph, folder / "frozen.pb")
    dt.saved_model.save(graph, folder / "frozen.pbtxt")
    dt.onnx.save(graph, folder / "model.onnx")
    return folder, graph, dt.function(graph)(X, X + 1.0).numpy()


@pytest.mark.parametrize("name", ["a", "a/b_c.d-1", ".a", "0", "a>b", "Ab>.c"])
def test_names_that_tensorflow_takes_stay(name: str):
    assert node_name(name) == name


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("signature", ["my signature", "_ä"])
def test_tensorflow_opens_a_saved_model(written: Any, signature: str, old: bool):
    folder, _, expected = written
    given = {"my_input": X, "my_input_0": X + 1.0}
    (found,) = foreign.saved_model(folder / "model", given, signature=signature, old=old).values()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("ending", ["pb", "pbtxt"])
def test_tensorflow_opens_a_frozen_graph(written: Any, ending: str):
    folder, graph, expected = written
    given, fetch = {"my_input:0": X, "my_input_1:0": X + 1.0}, f"{node_name(graph.outputs[0].op.name)}:0"
    found = foreign.graph_def(folder / f"frozen.{ending}", given, fetches=[fetch, "0/Gemm:0", "my_kernel_1:0"])
    np.testing.assert_allclose(found[fetch], expected, rtol=1e-6)


def test_onnx_runtime_opens_a_model(written: Any):
    folder, _, expected = written
    (found,) = foreign.onnx(folder / "model.onnx", {"my_input": X, "my_input_0": X + 1.0}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_names_come_back(written: Any, tmp_path: Path):
    folder, _, expected = written
    loaded = dt.saved_model.load(folder / "model")
    assert sorted(one.name for one in loaded.variables) == sorted(ODD)
    assert {*ODD} <= {one.name for one in loaded.signatures["_ä"].graph.operations}
    frozen = dt.saved_model.load(folder / "frozen.pb")
    assert frozen.signatures["graph"].inputs == ["my input", "my_input"]
    assert {*ODD} <= {one.name for one in frozen.graph.operations}
    np.testing.assert_allclose(frozen(X, X + 1.0).numpy(), expected, rtol=1e-6)


def test_an_edited_file_has_names_that_tensorflow_takes(written: Any, tmp_path: Path):
    folder, _, _ = written
    for source, target in (("frozen.pb", "edited.pb"), ("model", "edited")):
        loaded = dt.saved_model.load(folder / source)
        signature = loaded.signatures["graph" if source == "frozen.pb" else "_ä"]
        for operation in signature.graph.find("Tanh"):
            operation.change("Sigmoid")
        expected = signature(X, X + 1.0)
        dt.saved_model.save(loaded, tmp_path / target)
        if target == "edited":
            found = foreign.saved_model(tmp_path / target, {"my_input": X, "my_input_0": X + 1.0}, signature="_ä")
        else:
            fetch = f"{node_name(signature.graph.outputs[0].op.name)}:0"
            found = foreign.graph_def(tmp_path / target, {"my_input:0": X, "my_input_1:0": X + 1.0}, fetches=[fetch])
        np.testing.assert_allclose(*found.values(), *(one.numpy() for one in expected.values()), rtol=1e-6)
        assert {*ODD} <= {one.name for one in dt.saved_model.load(tmp_path / target).signatures[signature.name].graph}


def named(*names: str) -> dt.Function:
    specs = [dt.spec((2,), name=name) for name in names]
    return dt.function(lambda x, y: {"y:0": x, "y_0": x + 2.0 * y}, input_signature=specs)


REFUSED = {
    ("a:0", "a_0"): "which TensorFlow also makes of 'a_0'",
    ("class", "x"): "which it refuses",
    ("self", "x"): "",
}


@pytest.mark.parametrize("names", REFUSED, ids=str)
def test_inputs_that_tensorflow_would_not_load_are_refused(names: tuple[str, str], tmp_path: Path):
    reason = rf"test_names\.py.*the input '{names[0]}'.*{REFUSED[names]}.*another name"
    with pytest.raises(ValueError, match=reason):
        dt.saved_model.save(named(*names), tmp_path / "model")
    dt.saved_model.save(named("p", "q"), tmp_path / "model")
    loaded = dt.saved_model.load(tmp_path / "model")
    loaded.rename(dict(zip("pq", names, strict=True)))
    with pytest.raises(ValueError, match=reason):
        loaded.save(tmp_path / "other")
    loaded.rename(dict(zip(names, ("a:0", "a:1"), strict=True)))
    loaded.save(tmp_path / "other")
    found = foreign.saved_model(tmp_path / "other", {"a:0": X[0], "a:1": X[1]})
    np.testing.assert_allclose(found["y_0"], X[0] + 2 * X[1])


def test_a_signature_that_tensorflow_runs_itself_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"runs the signature '__saved_model_init_op' .*another name"):
        dt.saved_model.save(named("x", "y"), tmp_path / "model", {"__saved_model_init_op": named("x", "y")})


def test_tensorflow_opens_a_meta_graph_and_its_checkpoint(tmp_path: Path):
    v1 = pytest.importorskip("dovetail.compat.tensorflow").compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", [None, 2], "my input")
        kernel = v1.get_variable("kernel", initializer=np.eye(2, dtype="float32"))
        y = v1.identity(v1.matmul(x, kernel), "scores ä")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "model"), {"my x": x}, {"y": y})
        v1.train.Saver().save(session, str(tmp_path / "checkpoint" / "net"), write_meta_graph=False)
    with v1.Graph().as_default():
        v1.add_to_collection("results", v1.identity(v1.placeholder("float32", [None, 2], "my input"), "scores ä"))
        v1.train.export_meta_graph(str(tmp_path / "net.meta"))
    np.testing.assert_allclose(foreign.saved_model(tmp_path / "model", {"my x": X}, old=True)["y"], X)
    assert [*foreign.checkpoint(tmp_path / "checkpoint" / "net")] == ["kernel"]
    found = foreign.meta_graph(tmp_path / "net.meta", {"my_input:0": X}, fetches=["scores__:0"])
    np.testing.assert_allclose(found["scores__:0"], X)
    with v1.Graph().as_default() as graph:
        v1.train.import_meta_graph(str(tmp_path / "net.meta"))
        assert [one.name for one in v1.get_collection("results")] == ["scores ä:0"]
        assert "my input" in [one.name for one in graph.get_operations()]
