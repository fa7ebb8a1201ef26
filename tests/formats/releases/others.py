"""The formats of other libraries, with what those compute: ONNX, TensorFlow's files, and archives of Keras."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.compat import tensorflow as tf
from dovetail.core.engines.engine_registry import current_engine
from tests import foreign, keras_backends
from tests.formats.releases import KERNEL, Results, X, Y, released

v1 = tf.compat.v1
KERAS = "tests.formats.releases.keras_checks"


class Dense:
    """A model with a list of variables, a counter, a loop and a branch."""

    def __init__(self) -> None:
        self.kernel, self.others = dt.Variable(KERNEL, name="kernel"), [dt.Variable([0.5, -0.5], name="bias")]
        self.calls = dt.Variable(np.int32(0), name="calls", trainable=False)

    @dt.function
    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(1)
        return {"y": turned(x @ self.kernel + self.others[0])}


def turned(y: Any) -> Any:
    """A loop and a branch on some scores."""
    _, y = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.tanh(v) * 2.0), (0, y))
    return ops.cond(ops.sum(y) > 100.0, lambda: y, lambda: ops.softmax(y))


@released("model.onnx", lambda path: {"y": dt.onnx.load(path)(X)}, needs="google_crc32c")
def onnx_model(path: Path) -> Results:
    """A model of ONNX with weights, a loop and a branch."""
    w = dt.Variable(KERNEL, name="w")
    function = dt.function(lambda x: turned(x @ w), input_signature=[dt.spec((2, 3), name="x")])
    dt.onnx.save(function, path)
    return {"y": foreign.onnx(path, {"x": X})["output_0"]}


def run_step(path: Path) -> Results:
    found = dt.onnx.load(path)(X, Y)
    return {name: found[name] for name in ("output_0", "w.new")}


@released("step.onnx", run_step, needs="google_crc32c")
def onnx_step(path: Path) -> Results:
    """A training step as a model of ONNX, with the names of its state."""
    w = dt.Variable(KERNEL[:, :1], name="w")

    def step(x: Any, y: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = ops.mean(ops.square(x @ w - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    dt.onnx.save(dt.function(step, input_signature=[dt.spec((2, 3), name="x"), dt.spec((2, 1), name="y")]), path)
    return foreign.onnx(path, {"x": X, "y": Y})


def run_saved_model(path: Path) -> Results:
    found = dt.saved_model.load(path)
    y = found.signatures["serving_default"](x=X)["y"]
    return {"y": y, "called": found(X)["y"], "calls": found.calls, "bias": found.others[0]}


@released("saved_model", run_saved_model, needs="google_crc32c")
def saved_model(path: Path) -> Results:
    """An object with variables, a signature, a loop and a branch, as a SavedModel."""
    model = Dense()
    model.__call__.trace(dt.spec((None, 3), name="x"))
    dt.saved_model.save(model, path)
    y = foreign.saved_model(path, {"x": X})["y"]
    return {"y": y, "called": y, "calls": 2, "bias": [0.5, -0.5]}


@released("graph.pb", lambda path: {"y": dt.saved_model.load(path)(X)}, needs="google_crc32c")
def graph_def(path: Path) -> Results:
    """A frozen graph of TensorFlow."""
    w = dt.Variable(KERNEL, name="w")
    spec = dt.spec((None, 3), name="x")
    dt.saved_model.save(dt.function(lambda x: ops.identity(turned(x @ w), name="out"), input_signature=[spec]), path)
    return {"y": foreign.graph_def(path, {"x:0": X}, fetches=["out:0"])["out:0"]}


def kinds() -> list[str]:
    """The types of the operations with parts, which Dovetail's document alone says."""
    types = (operation.type for operation in v1.get_default_graph().get_operations())
    return [name for name in types if name in ("If", "While", "WhileGrad")]


def run_meta_graph(path: Path) -> Results:
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(path / "model.meta")).restore(session, str(path / "model"))
        out = session.run("out:0", {"x:0": X})
        session.run(v1.get_collection("train"), {"x:0": X})
        return {"out:0": out, "trained": session.run(v1.trainable_variables()[0]), "kinds": kinds()}


@released("meta_graph", run_meta_graph, needs="google_crc32c")
def meta_graph(path: Path) -> Results:
    """A graph of sessions with Dovetail's document, and its checkpoint, by the words of TensorFlow 1."""
    path.mkdir()
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [None, 3], name="x")
        w = v1.get_variable("net/w", initializer=KERNEL)
        _, y = v1.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, v1.tanh(z) * 2.0), [0, v1.matmul(x, w)])
        y = v1.cond(v1.reduce_sum(y) > 100.0, lambda: y, lambda: y + 1.0)
        out = v1.identity(y, name="out")
        train = v1.assign_sub(w, 0.1 * v1.gradients(v1.reduce_sum(out), w)[0])
        v1.add_to_collection("train", train.op)
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(path / "model"))
        results = foreign.meta_graph(path / "model.meta", {"x:0": X}, fetches=["out:0"])
        session.run(train, {"x:0": X})
        return {**results, "trained": session.run(w), "kinds": kinds()}


def named(found: Iterable[Any]) -> Results:
    return dict(zip(("last", "total", "sums", "halves", "slope", "phase"), found, strict=True))


def run_keras(path: Path, backend: str = "dovetail") -> Results:
    engine = current_engine().name if backend == "dovetail" else ""
    return named(keras_backends.result(KERAS, "results", backend, str(path), engine=engine))


@released("control.keras", run_keras, needs="keras")
def control(path: Path) -> Results:
    """A functional model with control flow, gradients, random numbers and a learning phase, on Keras' own backend."""
    keras_backends.check(KERAS, "write", "tensorflow", str(path))
    return named(foreign.keras(path, {"x": X}, imports="dovetail").values())


def run_old_layers(path: Path) -> Results:
    found = keras_backends.result(KERAS, "results_of_old", "dovetail", str(path), engine=current_engine().name)
    return dict(zip(("old", "slices"), found, strict=True))


@released("old_layers.keras", run_old_layers, needs="keras")
def old_layers(path: Path) -> Results:
    """A model of layers that Keras 2 had, and of TensorFlow's functions as layers, on Dovetail."""
    found = keras_backends.result(KERAS, "write_old", "dovetail", str(path))
    return dict(zip(("old", "slices"), found, strict=True))
