"""Saved models, loaded by TensorFlow: signatures, functions, variables, gradients, structures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import StaleValueError
from tests.libraries import Library, require

require("tensorflow", "it loads the saved models")
tf = Library("tensorflow")
X = np.random.RandomState(0).randn(2, 4).astype("float32")


class Module:
    """A model with variables in lists, a counter, and arguments and results of a structure."""

    def __init__(self) -> None:
        random = np.random.RandomState(1)
        self.kernel = dt.Variable(random.randn(4, 3).astype("float32"), name="dense/kernel")
        self.others = [dt.Variable(np.zeros(3, "float32"), name="dense/bias")]
        self.calls = dt.Variable(np.int32(0), name="calls", trainable=False)

    @dt.function
    def __call__(self, x: Any, scale: float = 2.0) -> Any:
        self.calls.assign_add(1)
        hidden = ops.matmul(x, self.kernel) * scale + self.others[0]
        return {"y": ops.tanh(hidden), "parts": [x, ops.sum(x, axis=1)]}

    @dt.function
    def pair(self, values: Any) -> Any:
        return values["a"] - values["b"][0]


@pytest.fixture
def module() -> Module:
    made = Module()
    made.__call__.trace(dt.spec((None, 4)))
    made.pair.trace({"b": (dt.spec(()),), "a": dt.spec((None,))})
    return made


def test_tensorflow_calls_and_trains_a_saved_object(module: Module, tmp_path: Path):
    dt.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert [variable.name for variable in loaded.variables] == ["dense/kernel:0", "dense/bias:0", "calls:0"]
    assert len(loaded.trainable_variables) == 2
    with tf.GradientTape() as tape:
        found = loaded(tf.constant(X))
        loss = tf.reduce_sum(found["y"])
    expected = module(X)
    np.testing.assert_allclose(found["y"], expected["y"].numpy(), atol=1e-6)
    np.testing.assert_allclose(found["parts"][1], X.sum(1), atol=1e-6)
    with dt.GradientTape() as ours:
        total = ops.sum(module(X)["y"])
    pairs = zip(
        tape.gradient(loss, loaded.trainable_variables),
        ours.gradient(total, [module.kernel, *module.others]),
        strict=True,
    )
    assert all(np.allclose(theirs, gradient.numpy(), atol=1e-5) for theirs, gradient in pairs)
    assert int(loaded.calls) == 1
    assert float(loaded.pair({"b": (tf.constant(1.0),), "a": tf.constant([3.0])})[0]) == 2.0


def nested() -> Any:
    """A module of TensorFlow with variables in dicts, lists and tuples."""
    module = tf.Module()
    module.parts = {"a": tf.Variable(1.0, name="va"), "b": [tf.Variable([2.0, 3.0]), {"c": tf.Variable(4.0)}]}
    module.pair = (tf.Variable(5.0), {"z": tf.Variable(6.0)})
    module.empty, module.inner = [], {"m": tf.Module()}
    module.inner["m"].v = tf.Variable(7.0)
    return module


def values(module: Any) -> list[Any]:
    """The structure of a module's attributes, with the values of the variables."""

    def told(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [told(item) for item in value]
        return {key: told(item) for key, item in value.items()} if isinstance(value, dict) else value.numpy().tolist()

    return [told(part) for part in (module.parts, module.pair, module.inner["m"].v)]


def test_lists_and_dicts_of_a_model_are_pythons(tmp_path: Path):
    wanted = [{"a": 1.0, "b": [[2.0, 3.0], {"c": 4.0}]}, [5.0, {"z": 6.0}], 7.0]
    tf.saved_model.save(nested(), str(tmp_path / "theirs"))
    ours = dt.saved_model.load(tmp_path / "theirs")
    assert values(ours) == values(tf.saved_model.load(str(tmp_path / "theirs"))) == wanted
    assert ours.empty == [] and ours.parts["a"] is ours.parts["a"] and ours.parts.get("x") is None
    made = SimpleNamespace(parts=ours.parts, pair=tuple(ours.pair), inner={"m": SimpleNamespace(v=ours.inner["m"].v)})
    made.scaled = dt.function(lambda x: x * ours.parts["a"], input_signature=[dt.spec(())])
    dt.saved_model.save(made, tmp_path / "ours")
    assert values(tf.saved_model.load(str(tmp_path / "ours"))) == wanted
    assert values(dt.saved_model.load(tmp_path / "ours")) == wanted
    dt.saved_model.save({"scaled": made.scaled, "w": ours.parts}, tmp_path / "dict")
    loaded = tf.saved_model.load(str(tmp_path / "dict"))
    assert float(loaded.scaled(tf.constant(3.0))) == 3.0 and float(loaded.w["b"][1]["c"]) == 4.0


def test_signatures_keep_unknown_dimensions_in_both_versions(module: Module, tmp_path: Path):
    dt.saved_model.save(module, tmp_path / "model")
    expected = module(X)["y"].numpy()
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    assert signature.structured_input_signature[1]["x"].shape.as_list() == [None, 4]
    np.testing.assert_allclose(signature(x=tf.constant(X))["y"], expected, atol=1e-6)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        meta = v1.saved_model.loader.load(session, ["serve"], str(tmp_path / "model"))
        given = meta.signature_def["serving_default"]
        found = session.run(given.outputs["y"].name, {given.inputs["x"].name: X})
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_functions_and_graphs_are_saved_and_loaded_again(tmp_path: Path):
    scale = dt.Variable([1.0, 2.0, 3.0, 4.0], name="scale")
    scaled = dt.function(lambda x: x * scale, input_signature=[dt.spec((None, 4))], name="scaled")
    for number, model in enumerate([scaled, scaled.graph(dt.spec((None, 4)))]):
        dt.saved_model.save(model, tmp_path / str(number))
        loaded = dt.saved_model.load(tmp_path / str(number))
        assert [variable.name for variable in loaded.variables] == ["scale"]
        np.testing.assert_allclose(loaded(X).numpy(), X * [1, 2, 3, 4], atol=1e-6)
        theirs = tf.saved_model.load(str(tmp_path / str(number)))
        np.testing.assert_allclose(theirs(tf.constant(X)), X * [1, 2, 3, 4], atol=1e-6)


@pytest.mark.parametrize("is_called", [False, True])
def test_the_inputs_of_a_signature_have_the_names_of_specs(is_called: bool, tmp_path: Path):
    specs = [dt.spec((None, 4), name="pixels"), {"u": dt.spec((4,), name="scale"), "v": dt.spec((4,))}]
    function = dt.function(lambda x, by: x * by["u"] + by["v"], input_signature=specs)
    if is_called:
        function(X, {"u": X[0], "v": X[1]})
    dt.saved_model.save(function, tmp_path / "model")
    given = {"pixels": tf.constant(X), "scale": tf.constant(X[0]), "by_v": tf.constant(X[1])}
    (found,) = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](**given).values()
    np.testing.assert_allclose(found, X * X[0] + X[1], atol=1e-6)
    twice = dt.function(lambda x, y: x - y, input_signature=[dt.spec((None, 4), name="x")] * 2)
    dt.saved_model.save(twice, tmp_path / "twice")
    assert dt.saved_model.load(tmp_path / "twice").signatures["serving_default"].inputs == ["x", "y"]


def test_a_failed_save_harms_nothing(module: Module, tmp_path: Path):
    dt.saved_model.save(module, tmp_path / "model")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    module.kernel.delete()
    with pytest.raises(StaleValueError, match="dense/kernel"):
        dt.saved_model.save(module, tmp_path / "model")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_what_cannot_be_saved_is_refused_with_the_reason(tmp_path: Path):
    function = dt.function(lambda x: x, name="same")
    (tmp_path / "notes.txt").write_text("mine")
    signature = [dt.spec((2,))]
    for model, error, message in [
        (function, ValueError, "was not traced"),
        (3, TypeError, "3 is no model"),
        (dt.Variable(1.0), TypeError, "is no model"),
    ]:
        with pytest.raises(error, match=message):
            dt.saved_model.save(model, tmp_path / "model")
    with pytest.raises(FileExistsError, match="files that are no SavedModel"):
        dt.saved_model.save(dt.function(lambda x: x, input_signature=signature), tmp_path)
    with pytest.raises(TypeError, match="the signature 'a' is no compiled function"):
        dt.saved_model.save(dt.function(lambda x: x, input_signature=signature), tmp_path / "model", {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_tensorflow_leaves_whole_numbers_as_they_are_when_it_rounds(tmp_path: Path):
    for decimals in (0, 1):
        rounded = dt.function(lambda x, d=decimals: ops.round(x, d), input_signature=[dt.spec((2,), "int32")])
        dt.saved_model.save(rounded, tmp_path / "model")
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        assert loaded(tf.constant([3, -7])).numpy().tolist() == [3, -7]


def test_a_frozen_signature_has_its_keys_as_names(tmp_path: Path):
    signature = dt.saved_model.load("tests/formats/tensorflow/models/mlp").signatures["serving_default"]
    signature.rename(inputs={"keras_tensor": "features"}, outputs={"output_0": "scores"})
    dt.saved_model.save(signature, tmp_path / "frozen.pb")
    message = tf.compat.v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(message, name="")
    x = np.load("tests/formats/tensorflow/models/mlp.npz")
    with tf.compat.v1.Session(graph=graph) as session:
        found = session.run("scores:0", {"features:0": x["x0"]})
    np.testing.assert_allclose(found, x["y"], rtol=1e-5)
    dt.saved_model.save(signature, tmp_path / "alone")
    dt.saved_model.save(dt.saved_model.load(tmp_path / "alone"), tmp_path / "again.pb")
    again = tf.compat.v1.GraphDef.FromString((tmp_path / "again.pb").read_bytes())
    assert {"features", "scores"} <= {node.name for node in again.node}


def test_dicts_and_lists_of_an_object_are_those_of_tensorflow(tmp_path: Path):
    v = dt.Variable(4.0, name="v")
    inside = {"k": v, "deeper": {"m": dt.Variable([1.0, 2.0])}}
    f = dt.function(lambda x: x * v, input_signature=[dt.spec((2,))])
    dt.saved_model.save({"parts": [dt.Variable(3.0), inside], "f": f, "table": inside}, str(tmp_path / "m"))
    theirs = Library("tensorflow").saved_model.load(str(tmp_path / "m"))
    ours = dt.saved_model.load(str(tmp_path / "m"))
    for model in (theirs, ours):
        assert float(model.parts[1]["k"]) == 4.0 and float(model.parts[0]) == 3.0
        assert np.asarray(model.table["deeper"]["m"]).tolist() == [1.0, 2.0] and sorted(model.table) == ["deeper", "k"]
        assert np.asarray(model.f(np.float32([1, 2]))).tolist() == [4.0, 8.0]
        assert model.table["k"] is model.parts[1]["k"]
