"""Models of TensorFlow, read without it: values on all engines, names, variables, nodes that nothing calls."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import saved_model
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import TENSORFLOW
from tests import foreign
from tests.conftest import ENGINES
from tests.formats.tensorflow.calls import FOLDER, read_calls
from tests.libraries import Library, require

COARSE = dict.fromkeys(["halves", "mixed"], 8e-3)  # a unit of bfloat16, as engines round at other places


def known(name: str) -> list[Any]:
    """The inputs and the results of a model's first call."""
    call = read_calls(FOLDER / f"{name}.npz").calls[0]
    return [*(call.inputs.values() if isinstance(call.inputs, dict) else call.inputs), *call.results.values()]


def checked(folder: Path, *engines: str) -> dict[str, Any]:
    """The findings of `running_checks`, from a process that can import no other library of models."""
    command = [sys.executable, "-m", "tests.formats.tensorflow.running_checks", str(folder), *engines]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def wrong(found: dict[str, Any]) -> dict[str, Any]:
    """The findings that are errors, or differences that are too large."""
    limits = {"opened": float("inf"), "calls": 1e-5, "gradients": 1e-4}
    kept = {}
    for name, value in found.items():
        model, check, *_ = name.split()
        limit = max(limits[check], COARSE.get(model, 0))
        if isinstance(value, str) or not value < limit:
            kept[name] = value
    return kept


def test_models_run_where_tensorflow_cannot_be_imported():
    engines = [name for name in ENGINES if name in ("numpy", "torch", "jax")]
    found = checked(FOLDER, *engines)
    assert wrong(found) == {}
    assert sum("opened" in name for name in found) >= 40
    assert sum("calls" in name for name in found) >= 40 * len(engines)


@pytest.mark.parametrize("name", ["recurrent", "bidirectional", "masked"])
def test_loops_over_lists_are_scans(name):
    """Check that no step copies a list, and that no step computes a condition."""
    call = read_calls(FOLDER / f"{name}.npz").calls[0]
    signature = saved_model.load(FOLDER / name).signature
    given = call.inputs if isinstance(call.inputs, dict) else dict(zip(signature.inputs, call.inputs, strict=True))
    with dt.engine("numpy"):
        found = signature(**given)
        graph = signature._run.plan(*given.values()).segments[0].graph
    types = {operation.type for part in graph.everywhere() for operation in part}
    assert "Scan" in types and not types & {"While", "XlaDynamicUpdateSlice", "Assert"}
    for value, expected in zip(found.values(), call.results.values(), strict=True):
        np.testing.assert_allclose(value.numpy(), expected, atol=1e-5)


@pytest.mark.long("it makes the models again")
def test_models_that_are_made_again_run(tmp_path):
    require("tensorflow", "it makes the models")
    require("keras", "it makes the models")
    command = [sys.executable, "-m", "tests.formats.tensorflow.keras3_models", str(tmp_path)]
    subprocess.run(command, capture_output=True, check=True)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in FOLDER.iterdir()}
    assert wrong(checked(tmp_path, "numpy")) == {}


def test_the_files_of_the_models_are_small():
    sizes = {path: path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 2_800_000 and max(sizes.values()) < 200_000


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


def changed_model(tmp_path: Path, name: str, change: Callable[[Any], None]) -> Path:
    """A copy of a SavedModel with a change in its message."""
    shutil.copytree(FOLDER / name, tmp_path / name)
    file = tmp_path / name / "saved_model.pb"
    model = TENSORFLOW.SavedModel.FromString(file.read_bytes())
    change(model.meta_graphs[0])
    file.write_bytes(model.SerializeToString())
    return tmp_path / name


def test_a_run_names_the_opaque_operation_that_changes_a_variable(tmp_path):
    def rename(meta: Any) -> None:
        nodes = [node for function in meta.graph_def.library.function for node in function.node_def]
        for node in nodes:
            node.op = node.op.replace("ResourceScatterNdUpdate", "ResourceScatterNdWhirl")

    model = saved_model.load(changed_model(tmp_path, "counter", rename))
    assert [text.split()[0] for text in model.signatures["serving_default"].opaque.values()] == [
        "ResourceScatterNdWhirl"
    ]
    with pytest.raises(NotImplementedError, match=r"ResourceScatterNdWhirl .* is an opaque operation"):
        model(*known("counter")[:1])
    assert int(model.count) == 0


def test_objects_of_a_model_are_attributes():
    model = saved_model.load(FOLDER / "loop")
    x, n, expected = known("loop")
    np.testing.assert_allclose(model(x, n).numpy(), expected, atol=1e-6)
    assert (int(model.calls), model.w.shape) == (1, (4, 4))
    assert {variable.name for variable in model.variables} == {"w", "calls"}
    assert [variable.name for variable in model.trainable_variables] == ["w"]
    assert model.trainable_variables[0] is model.w
    assert {"w", "calls", "look_up", "table"} <= {*dir(model)}
    with pytest.raises(TypeError, match="it was saved for"):
        model(x[:, :3], n)
    with pytest.raises(AttributeError, match=r"it has .*look_up"):
        _ = model.lookup


def test_lists_of_a_model_have_items():
    model = saved_model.load(FOLDER / "mlp")
    x, expected = known("mlp")
    shapes = [model._all_variables[number].shape for number in range(len(model._all_variables))]
    assert sorted(shapes) == [(3,), (6, 8), (8,), (8, 3)]
    np.testing.assert_allclose(model.serve(x).numpy(), expected, atol=1e-4)
    items = model._all_variables
    assert [item is items[number] for number, item in enumerate(items)] == [True] * 4
    assert items[-1] is items[3] and [item is items[1] for item in items[1:2]] == [True]
    with pytest.raises(IndexError):
        items[4]


@pytest.mark.parametrize(("producer", "shape"), [(21, None), (22, ())])
def test_a_placeholder_without_axes_of_an_old_graph_has_any_shape(producer, shape, tmp_path):
    graph = TENSORFLOW.GraphDef()
    graph.versions.producer = producer
    node = graph.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.SetInParent()
    node = graph.node.add(name="y", op="Neg", input=["x"])
    node.attr["T"].type = 1
    (tmp_path / "x.pb").write_bytes(graph.SerializeToString())
    model = saved_model.load(tmp_path / "x.pb")
    assert model.signatures["graph"].input_specs["x"].shape == shape
    if shape is None:
        assert model(np.float32([1, 2])).numpy().tolist() == [-1, -2]


def test_a_model_is_trained():
    model = saved_model.load(FOLDER / "mlp")
    x, _ = known("mlp")
    losses = []
    for _ in range(3):
        with dt.GradientTape() as tape:
            losses.append(dt.ops.mean(dt.ops.square(model(x) - 1.0)))
        gradients = tape.gradient(losses[-1], model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(0.001 * gradient)
    assert float(losses[0]) > float(losses[1]) > float(losses[2])


def test_a_missing_name_lists_those_that_end_alike():
    model = saved_model.load(FOLDER / "loop1.meta")
    with pytest.raises(KeyError, match="did you mean loop/Merge or"):
        model.results("while/Merge:0")
    with pytest.raises(KeyError, match="did you mean conv/Relu"):
        saved_model.load(FOLDER / "frozen.pb").graph.get_tensor("block/Relu:0")


def damaged(tmp_path: Path, edit: str) -> Path:
    """The frozen graph with a change in its nodes."""
    definition = TENSORFLOW.GraphDef.FromString((FOLDER / "frozen.pb").read_bytes())
    node = next(node for node in definition.node if node.name == "conv/Relu")
    if edit == "another input":
        node.input[0] = "nobody"
    elif edit == "a circle":
        node.input[0] = "scores"
    else:
        node.input[0] = "conv/Conv2D:7"
    path = tmp_path / "damaged.pb"
    path.write_bytes(definition.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("another input", "an input 'nobody'; needed: the name of a node"),
        ("a circle", "among its own inputs"),
        ("a result", "'conv/Conv2D:7' of a node with 1 results"),
    ],
)
def test_damaged_graphs_are_refused_with_the_place(tmp_path, edit, message):
    with pytest.raises(FormatError, match=message):
        saved_model.load(damaged(tmp_path, edit)).signatures["graph"]


def test_files_that_are_no_models_are_refused(tmp_path):
    (tmp_path / "x.pb").write_bytes(b"\xff no graph")
    with pytest.raises(FormatError, match="no GraphDef"):
        saved_model.load(tmp_path / "x.pb")
    with pytest.raises(FormatError, match="a graph with"):
        saved_model.load(FOLDER / "mlp", tags=["train"])
    with pytest.raises(FileNotFoundError):
        saved_model.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        saved_model.load(tmp_path)


def test_a_checkpoint_without_a_variable_is_refused(tmp_path):
    (tmp_path / "loop1.meta").write_bytes((FOLDER / "loop1.meta").read_bytes())
    with pytest.raises(FormatError, match="the variable 'w': found no value of it"):
        saved_model.load(tmp_path / "loop1.meta").results("z")


@pytest.mark.parametrize("name", ["frozen.pb", "loop2.pb", "arrays1.pb"])
def test_damaged_bytes_are_refused_or_read(tmp_path, name):
    """Read mutated files: each is read, or refused with one class of errors."""
    data, random = (FOLDER / name).read_bytes(), np.random.RandomState(0)
    refused = 0
    for number in range(60):
        changed = bytearray(data)
        for place in random.randint(0, len(data), 1 + number % 4):
            changed[place] = random.randint(256)
        path = tmp_path / f"{number}.pb"
        path.write_bytes(bytes(changed))
        try:
            dict(saved_model.load(path).signatures)
        except FormatError:
            refused += 1
    assert 0 < refused < 60


def test_a_signature_keeps_tensors_and_has_other_keys():
    signature = saved_model.load(FOLDER / "mlp").signatures["serving_default"]
    x, expected = known("mlp")
    hidden = signature.graph.find("Relu")[0].outputs[0].name
    signature.keep(hidden, "output_0")
    signature.rename({"keras_tensor": "features"}, {hidden: "hidden", "output_0": "scores"})
    found = signature(features=x)
    assert found["hidden"].shape == (3, 8) and "(features) -> hidden, scores" in str(signature)
    np.testing.assert_allclose(found["scores"].numpy(), expected, atol=1e-4)
    with pytest.raises(KeyError, match=r"no such result: .*Relu"):
        signature.keep("dense/Relu:0")
    with pytest.raises(KeyError, match="no key 'x' among its inputs, features"):
        signature.rename({"x": "y"})
    with pytest.raises(ValueError, match="one key twice among its results, scores, scores"):
        signature.rename(outputs={"hidden": "scores"})


def test_a_checkpoint_may_have_an_empty_base_name(tmp_path):
    for file in FOLDER.glob("loop1.*"):
        shutil.copy(file, tmp_path / file.name.removeprefix("loop1"))
    x, n, expected = known("loop1")
    found = saved_model.load(tmp_path / ".meta").results("z")(x=x, n=n)["z"]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_placeholders_with_a_default_of_a_frozen_graph_can_be_fed(tmp_path, engine):
    real = Library("tensorflow")
    v1, raw = real.compat.v1, real.raw_ops
    with v1.Graph().as_default() as graph:
        x, p = v1.placeholder("float32", [None, 2], name="x"), v1.placeholder_with_default(False, [], name="p")
        rate = v1.placeholder_with_default(2.0, [], name="rate")
        v1.identity(raw.Switch(data=p, pred=p).output_true, name="pivot")  # as tf.cond of TensorFlow 1 leaves behind
        (low, high), (_, by) = (raw.Switch(data=data, pred=p) for data in (x, rate))
        raw.Merge(inputs=[low - 1.0, high * by], name="y")
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    given = np.float32([[1, 2]])
    model = saved_model.load(tmp_path / "graph.pb")
    assert model.signature.inputs == ["x"] and "pivot" not in model.signature.outputs
    fed = model.results("y", feeds=["p", "rate:0"])
    for values in ({"p": True, "rate": 5.0}, {"p": False, "rate": 5.0}):
        feeds = {"x:0": given, **{f"{key}:0": np.asarray(value) for key, value in values.items()}}
        (expected,) = foreign.graph_def(tmp_path / "graph.pb", feeds, fetches=["y:0"]).values()
        np.testing.assert_allclose(fed(x=given, **values)["y"].numpy(), expected)
    np.testing.assert_allclose(model.results("y", feeds=["p"])(x=given, p=True)["y"].numpy(), 2 * given)
    np.testing.assert_allclose(model.results("y")(given)["y"].numpy(), given - 1)
    with pytest.raises(KeyError, match=r"no placeholder 'rates', but x, p, rate; did you mean rate"):
        model.results("y", feeds=["rates"])
