"""SavedModels, meta graphs, definitions and checkpoints that TensorFlow writes, in programs of TensorFlow 1 and 2."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from dovetail import saved_model
from dovetail.compat import tensorflow as tf
from dovetail.core.base.errors import FormatError
from tests.libraries import Library, require

require("google_crc32c", "the files need the extra")

real = Library("tensorflow")
v1 = tf.compat.v1
MODELS = Path(__file__).parents[2] / "formats/tensorflow/models"
X = np.random.RandomState(0).normal(size=(3, 4)).astype("float32")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files of a model that TensorFlow trained for a step, and its result."""
    folder, names = tmp_path_factory.mktemp("made"), real.compat.v1
    with names.Graph().as_default() as graph, names.Session() as session:
        names.set_random_seed(3)  # weights of which no relu is dead
        x = names.placeholder("float32", [None, 4], name="x")
        doubles = names.placeholder_with_default(False, [], name="doubles")
        with names.variable_scope("net"):
            w = names.get_variable("w", [4, 3], use_resource=False)
            b = names.get_variable("b", [3], use_resource=True, trainable=False)
        hidden = names.nn.relu(names.matmul(x, w) + b, name="hidden")
        hidden = names.cond(doubles, lambda: hidden * 2.0, lambda: hidden + 1.0)
        out = names.nn.softmax(hidden @ names.get_variable("v", [3, 2]), name="out")
        step = names.train.get_or_create_global_step()
        loss = names.reduce_mean(names.square(out), name="loss")
        train = names.train.AdamOptimizer(0.1).minimize(loss, step, name="train")
        for key, item in (("outputs", out), ("words", "some"), ("train", train)):
            names.add_to_collection(key, item)
        session.run(names.global_variables_initializer())
        session.run(train, {x: X})
        saver = names.train.Saver()
        for path in ("tf1/model", "empty/"):
            saver.save(session, os.path.join(folder, path))
        names.saved_model.simple_save(session, str(folder / "simple"), {"x": x}, {"y": out})
        (folder / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
        definition = names.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["out"])
        (folder / "frozen.pb").write_bytes(definition.SerializeToString())
        return folder, session.run(out, {x: X}), session.run(b)


def test_a_meta_graph_is_imported_and_its_variables_restored(made, engine):
    folder, y, b = made
    with v1.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(str(folder / "tf1/model.meta"))
        saver.restore(session, tf.train.latest_checkpoint(str(folder / "tf1")))
        np.testing.assert_allclose(session.run("out:0", {"x:0": X}), y, atol=1e-6)
        np.testing.assert_array_equal(session.run("net/b:0"), b)
        assert [v.name for v in v1.trainable_variables()] == ["net/w:0", "v:0"]
        assert {"net/b:0", "global_step:0", "net/w/Adam:0"} < {v.name for v in v1.global_variables()}
        assert int(session.run(v1.train.get_global_step())) == 1
        assert (v1.get_collection("outputs")[0].name, v1.get_collection("words")) == ("out:0", ["some"])
        grown = v1.gradients(graph.get_tensor_by_name("loss:0"), v1.trainable_variables())
        assert all(np.abs(g).max() > 0 for g in session.run(grown, {"x:0": X}))
        with pytest.raises(KeyError, match="did you mean hidden"):
            session.run("block/hidden:0", {"x:0": X})


@pytest.mark.parametrize("scope", ["", "inner"])
def test_a_saved_model_is_loaded_into_a_session(made, scope):
    folder, y, _ = made
    path, front = str(folder / "simple"), f"{scope}/" if scope else ""
    assert tf.saved_model.contains_saved_model(path) and v1.saved_model.loader.maybe_saved_model_directory(path)
    assert not tf.saved_model.contains_saved_model(str(folder / "tf1"))
    with v1.Graph().as_default() as graph, v1.Session() as session:
        meta = v1.saved_model.loader.load(session, [v1.saved_model.tag_constants.SERVING], path, scope or None)
        signature = meta.signature_def[v1.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        assert v1.saved_model.signature_def_utils.is_valid_signature(signature)
        output = v1.saved_model.get_tensor_from_tensor_info(signature.outputs["y"], graph, scope or None)
        found = session.run(output, {front + signature.inputs["x"].name: X})
        np.testing.assert_allclose(found, y, atol=1e-6)
        with pytest.raises(FormatError, match=r"needed: a graph with \['train'\]"):
            v1.saved_model.load(session, ["train"], path)
    with v1.Session(graph=graph) as other:
        np.testing.assert_allclose(other.run(output, {f"{front}x:0": X}), y, atol=1e-6)


def test_a_saved_model_is_loaded_as_an_object(made):
    folder, y, _ = made
    loaded = tf.saved_model.load(str(folder / "simple"))
    np.testing.assert_allclose(loaded.signatures["serving_default"](X)["y"].numpy(), y, atol=1e-6)
    assert {v.name for v in loaded.variables} >= {"net/w", "net/b", "v"}


def test_an_output_of_a_loaded_model_is_normalized(engine):
    """Check claim 0.32: a tensor is found by name, its consumers are rewired, and a session runs the graph."""
    infer = tf.saved_model.load(MODELS / "mlp").signatures["serving_default"]
    x = np.random.RandomState(1).normal(size=(4, 6)).astype("float32")
    before = infer(x)["output_0"].numpy()
    found = infer.graph.get_tensor_by_name("sequential_1/dense_1_2/BiasAdd:0")
    with infer.graph.as_default():
        mean = tf.reduce_mean(found, axis=1, keepdims=True)
        normalized = (found - mean) / (tf.math.reduce_std(found, axis=1, keepdims=True) + 1e-8)
        refused = []
        for consumer in found.op.outputs[0].consumers():
            try:
                consumer._update_input(0, normalized)
            except ValueError:  # it would need its own result
                refused.append(consumer.type)
    expected = (before - before.mean(1, keepdims=True)) / before.std(1, keepdims=True)
    with v1.Session(graph=infer.graph) as session:
        for fetch in (normalized, infer.outputs[0]):
            np.testing.assert_allclose(session.run(fetch, {infer.inputs[0]: x}), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(infer(x)["output_0"].numpy(), expected, rtol=1e-4, atol=1e-5)
    assert "Identity" not in refused and refused
    assert infer.structured_outputs["output_0"].shape == (None, 3) and infer.structured_input_signature[0] == ()
    with pytest.raises(KeyError, match="did you mean sequential_1/dense_1/BiasAdd or sequential_1/dense_1_2/BiasAdd"):
        infer.graph.get_tensor_by_name("dense_1/BiasAdd:0")


def test_signatures_are_messages(made):
    with v1.Graph().as_default():
        x = v1.placeholder("float32", [None, 2], name="x")
        ours = v1.saved_model.predict_signature_def({"x": x}, {"y": v1.tanh(x, name="y")})
    with real.Graph().as_default():
        x = real.compat.v1.placeholder("float32", [None, 2], name="x")
        wanted = real.compat.v1.saved_model.predict_signature_def({"x": x}, {"y": real.tanh(x, name="y")})
    assert str(ours) == str(wanted)
    for module in ("signature_constants", "tag_constants", "constants"):
        theirs = getattr(real.compat.v1.saved_model, module)
        names = [name for name in dir(theirs) if name.isupper()]
        mine = getattr(v1.saved_model, module)
        assert {name: getattr(mine, name) for name in names} == {name: getattr(theirs, name) for name in names}


@pytest.mark.parametrize("name", ["frozen.pb", "graph.pb"])
def test_a_definition_of_tensorflow_is_imported(made, name):
    folder, y, _ = made
    definition = v1.GraphDef()
    with tf.io.gfile.GFile(str(folder / name), "rb") as file:
        definition.ParseFromString(file.read())
    with v1.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(definition, name="")
        if name == "frozen.pb":
            np.testing.assert_allclose(session.run("out:0", {"x:0": X}), y, atol=1e-6)
        else:
            with pytest.raises(v1.errors.FailedPreconditionError, match="uninitialized"):
                session.run("out:0", {"x:0": X})
        with pytest.raises(KeyError, match="did you mean out"):
            graph.get_tensor_by_name("model/out:0")


RUNS = re.findall(r"\w+", "out mean rows out mean after rows both rows late rows loss train loss train loss mean start")


@pytest.mark.parametrize("is_resource", [False, True])
def test_results_of_a_meta_graph_wait_for_its_assignments(is_resource, tmp_path, engine):
    names, given = real.compat.v1, np.float32([[1, 2], [3, 5]])
    with names.Graph().as_default(), names.Session() as session:
        x = names.placeholder("float32", [None, 2], name="x")
        with names.variable_scope("net", use_resource=is_resource):
            w = names.get_variable("w", [2, 2], initializer=names.ones_initializer())
            mean = names.get_variable("mean", [2], initializer=names.zeros_initializer(), trainable=False)
            rows = names.get_variable("rows", [], initializer=names.zeros_initializer(), trainable=False)
        names.identity(mean, name="mean")
        names.identity(rows, name="rows")
        update = names.assign(mean, 0.9 * mean + 0.1 * names.reduce_mean(x, 0))
        with names.control_dependencies([update]):  # as the updates of batch normalization
            names.identity(x @ w, name="out")
            count = names.assign_add(rows, 1.0)
        names.add(count, 10.0, name="after")
        with names.control_dependencies([names.assign_sub(rows, 100.0)]):
            names.add(x, 1.0, name="late")
        names.group(update, count, name="both")
        names.train.AdamOptimizer(0.1).minimize(names.reduce_mean(names.square(x @ w), name="loss"), name="train")
        start = names.group(names.global_variables_initializer(), name="start")

        def results(session):
            fetches = [run if run in ("both", "train", "start") else f"{run}:0" for run in RUNS]
            return [session.run(fetch, {"x:0": given}) for fetch in fetches]

        session.run(start)
        path = names.train.Saver().save(session, str(tmp_path / "model"))
        wanted = results(session)
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
        for run, found, right in zip(RUNS, results(session), wanted, strict=True):
            assert (found is None) == (right is None), run
            if right is not None:
                np.testing.assert_allclose(found, right, rtol=1e-5, err_msg=run)


FED = {  # graphs of x and of a number with a default
    "branch": lambda names, x, p: names.cond(p > 1.5, lambda: x * 2.0, lambda: x + 1.0),
    "flag": lambda names, x, p: names.cond(names.equal(p, 2.0), lambda: x * 2.0, lambda: x + 1.0),
    "rows": lambda names, x, p: names.tile(x, [names.cast(p, "int32"), 1]),
    "shape": lambda names, x, p: names.reshape(x, [names.cast(p, "int32") * 2, -1]),
    "count": lambda names, x, p: x * names.cast(names.reduce_sum(names.range(names.cast(p, "int32"))), "float32"),
    "steps": lambda names, x, p: names.while_loop(lambda i, s: i < p, lambda i, s: (i + 1.0, s * 3.0), (0.0, x))[1],
    "axis": lambda names, x, p: names.reduce_sum(x, names.cast(p, "int32") - 1),
    "last axis": lambda names, x, p: names.cumsum(x, -names.cast(p, "int32")),
    "of an input": lambda names, x, p: p * names.placeholder_with_default(x + 1.0, [None, 2], "q"),
}


@pytest.mark.parametrize("kind", ["meta graph", "frozen graph"])
def test_placeholders_with_defaults_are_fed(kind, tmp_path, engine):
    names, given = real.compat.v1, np.float32([[1, 5], [2, 3]])
    with names.Graph().as_default() as graph, names.Session() as session:
        x = names.placeholder("float32", [None, 2], name="x")
        p = names.placeholder_with_default(1.0, [], name="p")
        for key, build in FED.items():
            names.identity(build(names, x, p), name=key.replace(" ", "_"))
        feeds = [{"x:0": given}, {"x:0": given, "p:0": 2.0}, {"x:0": given, "p:0": 2.0, "q:0": given}]
        wanted = [{key: session.run(f"{key.replace(' ', '_')}:0", feed) for key in FED} for feed in feeds]
        meta = names.train.export_meta_graph().SerializeToString()
        data = graph.as_graph_def().SerializeToString()
    (tmp_path / "x.meta").write_bytes(meta)
    with v1.Graph().as_default() as graph, v1.Session() as session:
        if kind == "meta graph":
            v1.train.import_meta_graph(str(tmp_path / "x.meta"))
        else:
            v1.import_graph_def(v1.GraphDef.FromString(data), name="")
        for feed, right in zip(feeds, wanted, strict=True):
            for key in FED:
                found = session.run(f"{key.replace(' ', '_')}:0", feed)
                np.testing.assert_allclose(found, right[key], rtol=1e-6, err_msg=key)
        with pytest.raises(ValueError, match=r"the axis must be in \[-2, 2\)"):
            session.run("axis:0", {"x:0": given, "p:0": 4.0})
        again = graph.as_graph_def().SerializeToString()
    with names.Graph().as_default(), names.Session() as session:
        names.import_graph_def(names.GraphDef.FromString(again), name="")
        np.testing.assert_allclose(session.run("rows:0", feeds[1]), wanted[1]["rows"])


CHECKED = {  # a graph of x, what fits, what does not, and TensorFlow's error
    "finite": (
        lambda names, x: names.debugging.check_numerics(x, "the loss"),
        [1.0, 2.0],
        [1.0, np.nan],
        " : Tensor had NaN values",
    ),
    "infinite": (lambda names, x: names.debugging.check_numerics(x, "m"), [1.0], [np.inf], "m : Tensor had Inf values"),
    "both": (
        lambda names, x: names.debugging.check_numerics(x, "m"),
        [1.0],
        [np.inf, np.nan],
        "Tensor had Inf and NaN values",
    ),
    "size": (lambda names, x: names.ensure_shape(x, [2]), [1.0, 2.0], [1.0], "expected shape [2]"),
    "sizes": (
        lambda names, x: names.ensure_shape(names.stack([x, x]), [None, 2]),
        [1.0, 2.0],
        [1.0],
        "expected shape [?,2]",
    ),
}


@pytest.mark.parametrize("key", CHECKED)
def test_checks_of_a_file_are_made(key, engine, tmp_path):
    build, fits, fails, words = CHECKED[key]
    names = real.compat.v1
    with names.Graph().as_default() as graph, names.Session() as session:
        x = names.placeholder("float32", [None], name="x")
        names.add(build(names, x), 1.0, name="y")
        right = session.run("y:0", {"x:0": fits})
        with pytest.raises(real.errors.InvalidArgumentError, match=re.escape(words)):
            session.run("y:0", {"x:0": fails})
        data = graph.as_graph_def().SerializeToString()
    (tmp_path / "x.pb").write_bytes(data)
    model = saved_model.load(tmp_path / "x.pb")
    np.testing.assert_allclose(model(np.float32(fits)).numpy(), right)
    with pytest.raises(ValueError, match=re.escape(words)):
        model(np.float32(fails))
    with v1.Graph().as_default() as graph, v1.Session() as session:
        v1.import_graph_def(v1.GraphDef.FromString(data), name="")
        np.testing.assert_allclose(session.run("y:0", {"x:0": fits}), right)
        with pytest.raises(ValueError, match=re.escape(words)):
            session.run("y:0", {"x:0": fails})
        again = graph.as_graph_def().SerializeToString()
    with names.Graph().as_default(), names.Session() as session:
        names.import_graph_def(names.GraphDef.FromString(again), name="")
        np.testing.assert_allclose(session.run("y:0", {"x:0": fits}), right)
        with pytest.raises(real.errors.InvalidArgumentError, match=re.escape(words)):
            session.run("y:0", {"x:0": fails})


def test_a_prevented_gradient_is_an_error():
    names = real.compat.v1
    with names.Graph().as_default() as graph:
        x = names.placeholder("float32", [2], name="x")
        names.identity(names.raw_ops.PreventGradient(input=x * x, message="nobody knows it"), name="y")
        data = graph.as_graph_def().SerializeToString()
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x, y = v1.import_graph_def(v1.GraphDef.FromString(data), name="", return_elements=["x:0", "y:0"])
        np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), [1.0, 4.0])
        with pytest.raises(LookupError, match=r"Gradient explicitly disabled\. Reason: nobody knows it"):
            v1.gradients(y, x)


def test_checkpoints_have_an_empty_name_or_were_moved(made, tmp_path):
    folder, _, b = made
    shutil.copytree(folder / "empty", tmp_path / "empty")
    shutil.copytree(folder / "tf1", tmp_path / "tf1")
    shutil.copytree(folder / "empty", tmp_path / "relative")
    (tmp_path / "relative" / "checkpoint").write_text('model_checkpoint_path: "."')
    shutil.copytree(folder / "empty", tmp_path / "no state")
    (tmp_path / "no state" / "checkpoint").unlink()
    states = [tmp_path / "empty" / "checkpoint", tmp_path / "tf1" / "checkpoint"]
    for state in states:
        state.write_text(state.read_text().replace(str(folder), "/nowhere/of/another/machine"))
    for name in ("empty", "relative"):
        path = str(tmp_path / name)
        assert tf.train.latest_checkpoint(path) == os.path.join(path, "")
    assert tf.train.latest_checkpoint(str(tmp_path / "tf1")) == str(tmp_path / "tf1" / "model")
    assert tf.train.get_checkpoint_state(str(tmp_path / "tf1")).model_checkpoint_path == str(tmp_path / "tf1/model")
    for name in ("empty", "relative", "no state", "tf1", "empty/"):
        path = f"{tmp_path}/{name}"
        np.testing.assert_array_equal(tf.train.load_variable(path, "net/b"), b)
        np.testing.assert_array_equal(tf.train.load_checkpoint(path).get_tensor("net/b"), b)
        assert ("net/w", [4, 3]) in tf.train.list_variables(path)


def test_a_module_is_saved_and_loaded(tmp_path):
    class Scorer(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.ones((4, 2), "float32"), name="w")

        @tf.function(input_signature=[tf.TensorSpec((None, 4), "float32")])
        def __call__(self, x):
            return x @ self.w

    tf.saved_model.save(Scorer(), tmp_path / "scorer")
    theirs = real.saved_model.load(str(tmp_path / "scorer"))
    np.testing.assert_allclose(theirs(real.constant(X)), X @ np.ones((4, 2)), atol=1e-6)
    assert tf.saved_model.load(tmp_path / "scorer").w.shape == (4, 2)


@pytest.fixture
def trained():
    """A session of Dovetail with a network that was trained for some steps, and its result."""
    with v1.Graph().as_default() as graph:
        hidden = x = v1.placeholder("float32", [None, 4], name="x")
        for name, size in (("hidden", (4, 5)), ("dense", (5, 2))):
            with v1.variable_scope(name):
                kernel, bias = v1.get_variable("kernel", size), v1.get_variable("bias", size[1:])
            hidden = tf.tanh(tf.nn.bias_add(v1.matmul(hidden, kernel), bias, name=f"{name}/BiasAdd"))
        loss = v1.reduce_mean(v1.square(hidden), name="loss")
        train = v1.train.AdamOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step(), name="train")
        tf.identity(bias, name="late")  # a read after the assignments, which must not run them
        start = v1.global_variables_initializer()
    with contextlib.closing(v1.Session(graph=graph)) as session:
        session.run(start)
        for _ in range(3):
            session.run(train, {x: X})
        yield session, session.run(["dense/BiasAdd:0", "late:0"], {x: X})


def test_a_session_is_saved(trained, tmp_path, engine):
    session, wanted = trained
    path, tensor = str(tmp_path / "simple"), session.graph.get_tensor_by_name
    v1.saved_model.simple_save(session, path, {"x": tensor("x:0")}, {"y": tensor("dense/BiasAdd:0")})
    found = [saved_model.load(path)(X).numpy()]
    for names in (v1, real.compat.v1):
        with names.Graph().as_default(), names.Session() as other:
            meta = names.saved_model.loader.load(other, ["serve"], path)
            assert meta.signature_def["serving_default"].outputs["y"].name == "dense/BiasAdd:0"
            trainable = ["hidden/kernel:0", "hidden/bias:0", "dense/kernel:0", "dense/bias:0"]
            assert [one.name for one in names.trainable_variables()] == trainable
            y, late = other.run(["dense/BiasAdd:0", "late:0"], {"x:0": X})
            np.testing.assert_allclose(late, wanted[1], atol=1e-5)
            found.append(y)
    with names.Session(graph=names.Graph()) as other:  # TensorFlow trains on, with the optimizer's variables
        names.saved_model.loader.load(other, ["serve"], path)
        before, _, after = (other.run(one, {"x:0": X}) for one in ("loss:0", "train", "loss:0"))
        assert after != before
    found.append(real.saved_model.load(path).signatures["serving_default"](x=real.constant(X))["y"].numpy())
    for y in found:
        np.testing.assert_allclose(y, wanted[0], atol=1e-5)
    with pytest.raises(FileExistsError, match="name a new one"):
        v1.saved_model.Builder(path)


@pytest.mark.parametrize("as_text", [False, True])
def test_a_builder_saves_graphs_with_signatures_and_tags(trained, tmp_path, as_text):
    session, (y, bias) = trained
    path, tensor = str(tmp_path / "two"), session.graph.get_tensor_by_name
    signatures = {
        key: v1.saved_model.predict_signature_def({"x": tensor("x:0")}, {"y": tensor(name)})
        for key, name in (("scores", "dense/BiasAdd:0"), ("inner", "hidden/BiasAdd:0"))
    }
    with session.graph.as_default():
        step = v1.assign_add(v1.train.get_global_step(), 10).op
        v1.add_to_collection("some", "text")
    builder = v1.saved_model.builder.SavedModelBuilder(path)
    with pytest.raises(RuntimeError, match="add_meta_graph_and_variables first"):
        builder.add_meta_graph(["serve"])
    builder.add_meta_graph_and_variables(session, ["train", "gpu"], signatures, main_op=step)
    with pytest.raises(RuntimeError, match="add more graphs with add_meta_graph"):
        builder.add_meta_graph_and_variables(session, ["serve"])
    with v1.Graph().as_default():
        tf.multiply(v1.get_variable("dense/bias", [2]), 2.0, name="double")
        builder.add_meta_graph(["serve"])
    with v1.Graph().as_default():
        tf.multiply(v1.get_variable("other", [2]), 2.0)
        with pytest.raises(ValueError, match="no values were added for other"):
            builder.add_meta_graph(["other"])
        with pytest.raises(KeyError, match="no operation 'x'"):
            builder.add_meta_graph(["other"], signatures)
    file = builder.save(as_text)
    assert file.decode() == str(tmp_path / "two" / ("saved_model.pbtxt" if as_text else "saved_model.pb"))
    for names in (v1, real.compat.v1):
        with names.Session(graph=names.Graph()) as other:
            assert {*names.saved_model.load(other, ["train", "gpu"], path).signature_def} >= {"scores", "inner"}
            np.testing.assert_allclose(other.run("dense/BiasAdd:0", {"x:0": X}), y, atol=1e-5)
            if names is not v1:  # TensorFlow runs the operation of loading
                assert other.run(names.train.get_global_step()) == 13
        with names.Session(graph=names.Graph()) as other:
            names.saved_model.load(other, ["serve"], path)
            np.testing.assert_allclose(other.run("double:0"), 2 * bias, atol=1e-5)


def test_a_file_of_tensorflow_1_says_which_variables_are_trainable(tmp_path):
    for number, names in enumerate((v1, real.compat.v1)):
        path = str(tmp_path / str(number))
        with names.Graph().as_default(), names.Session() as session:
            w = names.get_variable("w", [3])
            mean = names.get_variable("mean", [3], trainable=False)
            x = names.placeholder("float32", [3], name="x")
            y = names.identity(x * w + mean + names.random_normal([3]), name="y")
            session.run(names.global_variables_initializer())
            names.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        model = saved_model.load(path)
        assert [variable.name for variable in model.trainable_variables] == ["w"]
        assert {"w", "mean"} <= {variable.name for variable in model.variables}


def test_a_concrete_function_is_a_signature(tmp_path, engine):
    module, path = tf.Module(), str(tmp_path / "model")
    module.w = tf.Variable([2.0, 3.0])
    scaled = tf.function(lambda x, y=1.0: {"out": x * module.w + y})
    concrete = scaled.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, name="given"))
    (spec, y), named = concrete.structured_input_signature
    assert ((spec.shape, spec.dtype), y, named) == (((None, 2), "float32"), 1.0, {})
    assert [*concrete.structured_outputs] == ["out"] and concrete.trainable_variables == [module.w]
    tf.saved_model.save(module, path, signatures=concrete)
    for names in (tf, real):
        served = names.saved_model.load(path).signatures["serving_default"]
        assert [*served.structured_input_signature[1]] == ["given"] and [*served.structured_outputs] == ["out"]
        np.testing.assert_allclose(served(given=names.constant([[1.0, 2.0]]))["out"], [[3.0, 7.0]])


def test_operations_that_no_file_can_hold_are_refused(trained, tmp_path):
    session, _ = trained
    with session.graph.as_default():
        z = v1.py_func(np.sin, [session.graph.get_tensor_by_name("late:0")], tf.float32)
    with pytest.raises(NotImplementedError, match="a file cannot hold its Python function"):
        v1.saved_model.simple_save(session, str(tmp_path / "python"), {}, {"z": z})
    assert not (tmp_path / "python").exists()
