"""Definitions and meta graphs as bytes and text: read again they compute the same; TensorFlow parses the messages."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from dovetail.core.base.errors import FormatError
from tests import foreign
from tests.libraries import Library, require

require("google_crc32c", "the files need the extra")

real = Library("tensorflow")
v1 = tf.compat.v1
X = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")


def build():
    """A graph of a variable, a constant, a loop and a branch, in the graph that is open."""
    x = v1.placeholder(v1.float32, [None, 2], name="x")
    with v1.variable_scope("net"):
        w = v1.get_variable("w", [2, 2], initializer=v1.constant_initializer(0.5))
    v1.get_variable("unused", initializer=np.float32(7.0), trainable=False)
    half = v1.cast(v1.constant(np.arange(2), name="numbers"), v1.bfloat16)
    y = v1.matmul(x, w, name="product") + v1.cast(half, v1.float32)
    _, y = v1.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, v1.matmul(z, w)), [0, y], name="loop")
    y = v1.cond(v1.reduce_sum(y) > 0, lambda: y + 1.0, lambda: y * 2.0)
    out = v1.identity(y, name="out")
    v1.add_to_collection("outputs", out)
    v1.add_to_collection("words", "some")
    v1.add_to_collection("numbers", 3)
    v1.add_to_collection("train", v1.assign_sub(w, 0.1 * v1.gradients(v1.reduce_sum(out), w)[0]).op)
    return out


def test_a_definition_is_read_from_its_bytes(engine):
    with v1.Graph().as_default() as graph:
        build()
        definition = graph.as_graph_def()
        data = definition.SerializeToString()
    again = v1.GraphDef()
    assert again.ParseFromString(data) == len(data)
    assert [str(node) for node in again.node] == [str(node) for node in definition.node]
    assert again == definition
    theirs = real.compat.v1.GraphDef.FromString(data)
    assert {"x", "product", "out"} <= {node.name for node in theirs.node}
    copy = v1.GraphDef()
    copy.CopyFrom(again)
    assert [node.name for node in copy.node] == [node.name for node in again.node]


def test_a_definition_that_is_read_computes(engine):
    with v1.Graph().as_default() as graph:
        v1.reshape(v1.placeholder(v1.float32, [2, 2], name="x") @ np.float32([[1, 2], [3, 4]]), [4], name="y")
        data = graph.as_graph_def().SerializeToString()
    with v1.Graph().as_default(), v1.Session() as session:
        (y,) = tf.import_graph_def(v1.GraphDef.FromString(data), return_elements=["y:0"], name="")
        np.testing.assert_allclose(session.run(y, {"x:0": X}), (X @ [[1, 2], [3, 4]]).reshape(4))


@pytest.mark.parametrize("as_text", [True, False])
def test_a_graph_is_written_as_bytes_and_as_text(tmp_path, as_text):
    with v1.Graph().as_default() as graph:
        build()
        path = tf.io.write_graph(graph, str(tmp_path / "new"), "graph", as_text)
    theirs = real.compat.v1.GraphDef()
    if as_text:
        Library("google.protobuf.text_format").Parse((tmp_path / "new" / "graph").read_text(), theirs)
    else:
        theirs.ParseFromString((tmp_path / "new" / "graph").read_bytes())
    assert path == str(tmp_path / "new" / "graph") and "out" in {node.name for node in theirs.node}
    again = v1.GraphDef.FromString(theirs.SerializeToString())
    made = graph.as_graph_def()
    for node in made.node:
        node.attr.pop("_dovetail", None)  # the mark of a variable of this process
    assert [str(node) for node in again.node] == [str(node) for node in made.node]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_saved_program_goes_on_in_another_graph(tmp_path, as_text, engine):
    prefix = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        out = build()
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        (step,) = v1.get_collection("train")
        session.run(step, {"x:0": X})
        wanted = session.run(out, {"x:0": X})
        path = saver.save(session, prefix, global_step=3)
        session.run(step, {"x:0": X})
        later = session.run(out, {"x:0": X})
    if as_text:
        with out.graph.as_default():
            saver.export_meta_graph(f"{path}.meta", as_text=True)
    else:
        theirs = real.compat.v1.MetaGraphDef.FromString((tmp_path / "model-3.meta").read_bytes())
        assert list(theirs.collection_def["outputs"].node_list.value) == ["out:0"] and theirs.saver_def.version == 2
    with v1.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(f"{path}.meta")
        saver.restore(session, path)
        (out,) = v1.get_collection("outputs")
        np.testing.assert_allclose(session.run(out, {"x:0": X}), wanted, rtol=1e-6)
        session.run(v1.get_collection("train"), {"x:0": X})
        np.testing.assert_allclose(session.run("out:0", {"x:0": X}), later, rtol=1e-5)
        assert [v.name for v in v1.global_variables()] == ["net/w:0", "unused:0"]
        assert [v.name for v in v1.trainable_variables()] == ["net/w:0"]
        assert (graph.get_collection("words"), graph.get_collection("numbers")) == (["some"], [3])


def test_tensorflow_imports_a_meta_graph_and_goes_on(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        out = build()
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        wanted = session.run(out, {"x:0": X})
        session.run(v1.get_collection("train"), {"x:0": X})
        later = session.run(out, {"x:0": X})
    theirs = real.compat.v1
    with theirs.Graph().as_default() as graph, theirs.Session() as session:
        saver = theirs.train.import_meta_graph(f"{path}.meta")
        saver.restore(session, path)
        (out,) = graph.get_collection("outputs")
        np.testing.assert_allclose(session.run(out, {"x:0": X}), wanted, rtol=1e-6)
        assert [variable.name for variable in theirs.global_variables()] == ["net/w:0", "unused:0"]
        assert [variable.name for variable in theirs.trainable_variables()] == ["net/w:0"]
        session.run(graph.get_collection("train"), {"x:0": X})
        np.testing.assert_allclose(session.run(out, {"x:0": X}), later, rtol=1e-5)
        again = saver.save(session, str(tmp_path / "again"), write_meta_graph=False)
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, again)
        np.testing.assert_allclose(session.run("out:0", {"x:0": X}), later, rtol=1e-5)


def test_tensorflow_reads_a_variable_before_a_step_assigns_it(tmp_path):
    feeds = {"x:0": X, "y:0": X[:, :1]}
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x, y = v1.placeholder("float32", [None, 2], name="x"), v1.placeholder("float32", [None, 1], name="y")
        w, copy = v1.get_variable("w", [2, 1]), v1.get_variable("copy", [2, 1], trainable=False)
        loss = v1.reduce_mean(v1.squared_difference(v1.matmul(x, w) + v1.matmul(x, copy), y), name="loss")
        step = v1.train.AdamOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
        v1.group(step, v1.assign_add(copy, 0.1 * (w.read_value() - copy)), name="all")
        saver, losses = v1.train.Saver(), []
        session.run(v1.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        losses = [session.run(["loss:0", "all"], feeds)[0] for _ in range(5)]
        one = {node.name: node for node in graph.as_graph_def().node}["beta1_power/Assign"]
        assert not any(text.startswith("^") for text in one.input)  # the first value waits for nothing
    theirs = real.compat.v1
    with theirs.Graph().as_default(), theirs.Session() as session:
        saver = theirs.train.import_meta_graph(f"{path}.meta")
        for _ in range(20):
            saver.restore(session, path)
            found = [session.run(["loss:0", "all"], feeds)[0] for _ in range(5)]
            np.testing.assert_allclose(found, losses, rtol=1e-5)


def first_values(names, path, makes_initializer):
    """Write a graph whose variables begin with numbers, random numbers, and what another one begins with."""
    with names.Graph().as_default() as graph:
        v = names.get_variable("v", initializer=3.0)
        u = names.get_variable("u", [500], initializer=names.random_normal_initializer(1.0, 0.1))
        w = names.get_variable("w", initializer=v.initial_value * 2.0, trainable=False)
        x = names.placeholder("float32", [None], name="x")
        kept = names.reduce_mean(names.nn.dropout(u, rate=0.5), name="kept")
        loss = names.reduce_sum(names.square(x * v - w), name="loss")
        names.train.GradientDescentOptimizer(0.1).minimize(loss + 0.0 * kept, name="step")
        if makes_initializer:
            names.global_variables_initializer()
        names.train.export_meta_graph(f"{path}.meta")
        Path(f"{path}.pb").write_bytes(graph.as_graph_def().SerializeToString())


def begun(names, path, begins):
    """What runs of the graph in a file give, before and after its variables begin."""
    feed, step = {"x:0": [1.0]}, ["step", "loss:0"]
    with names.Graph().as_default() as graph, names.Session() as session:
        if begins == "init":
            names.import_graph_def(names.GraphDef.FromString(Path(f"{path}.pb").read_bytes()), name="")
        else:
            names.train.import_meta_graph(f"{path}.meta")
        variables = names.global_variables()
        with pytest.raises(names.errors.FailedPreconditionError):
            session.run("loss:0", feed)
        first = [v.initializer for v in variables] if begins == "each" else begins
        session.run(names.global_variables_initializer() if begins == "all" else first)
        kept = [float(session.run("kept:0")) for _ in range(3)]
        assert len({*kept}) == 3 and abs(np.mean(kept) - 1.0) < 0.2
        losses = [float(session.run("loss:0", feed)), float(session.run(step, feed)[1] > 0.0)]
        names_of = [(v.name, v.initializer.name, v.initial_value is not None) for v in variables]
        return [*losses, float(session.run("loss:0", feed)), names_of, graph.get_operation_by_name("v/Assign").name]


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("begins", ["all", "each", "init"])
def test_variables_begin_as_the_graph_says(tmp_path, is_ours, begins, engine):
    first_values(v1 if is_ours else real.compat.v1, tmp_path / "one", begins == "init")
    found = begun(v1, tmp_path / "one", begins)
    assert found == begun(real.compat.v1, tmp_path / "one", begins)
    np.testing.assert_allclose(found[:3], [9.0, 1.0, 5.76], rtol=1e-6)


def test_an_initializer_of_this_process_runs_in_another_graph():
    with v1.Graph().as_default() as graph:
        v1.identity(v1.get_variable("v", initializer=3.0) * 2.0, name="y")
        init, definition = v1.global_variables_initializer(), graph.as_graph_def()
    definition.node.add(name="more", op="NoOp")
    with v1.Graph().as_default(), v1.Session() as session:
        v1.import_graph_def(definition, name="")
        session.run(init.name)
        assert session.run("y:0") == 6.0


def nested(x, w):
    def outer(i, a):
        return i + 1, v1.while_loop(lambda j, b: j < i + 1, lambda j, b: (j + 1, b * 1.5), [0, a])[1] + x

    return v1.while_loop(lambda i, a: i < 3, outer, [0, x])[1] + w


def assigned(x, w):
    """A loop that assigns in rounds of an inner one, and in a branch; what waits for it reads the last value."""

    def changed(factor, value):
        with v1.control_dependencies([w.assign_add(value)]):
            return factor * value

    def outer(i, a):
        a = v1.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, changed(1.5, b)), [0, a])[1]
        return i + 1, v1.cond(i % 2 > 0, lambda: changed(2.0, a), lambda: a + 1.0)

    last = v1.while_loop(lambda i, a: i < 3, outer, [0, x])[1]
    with v1.control_dependencies([last]):
        return last + w.read_value()


def in_a_branch(x, w):
    def loop():
        return v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), [0, x])[1]

    return v1.cond(v1.reduce_sum(x) > 0, loop, lambda: -x)


def differentiated(x, w):
    """Gradients of nested loops, which keep values on stacks."""

    def outer(i, a):
        return i + 1, v1.while_loop(lambda j, b: j < i + 1, lambda j, b: (j + 1, v1.sin(b) * w), [0, a])[1] * a

    last = v1.while_loop(lambda i, a: i < 3, outer, [0, x])[1]
    return v1.add_n(v1.gradients(v1.reduce_sum(last), [x, w]))


def of_branches(x, w):
    """Gradients of branches, and of nested ones."""
    y, p, q = x * w, v1.reduce_sum(x) > 0, v1.reduce_max(x) > 1
    inner = lambda: v1.cond(q, lambda: y * y * x, lambda: v1.sin(y))  # noqa: E731
    found = [
        v1.cond(p, lambda: v1.square(y), lambda: y),
        v1.cond(p, lambda: v1.square(x * w), lambda: v1.zeros_like(x)),
        v1.cond(p, inner, lambda: y),
    ]
    return v1.add_n([one for y in found for one in v1.gradients(y, [x, w])])


@pytest.mark.parametrize("of", [nested, assigned, in_a_branch, differentiated, of_branches])
@pytest.mark.parametrize("use_resource", [True, False])
def test_loops_in_loops_of_tensorflow_are_imported(tmp_path, monkeypatch, of, use_resource, engine):
    theirs, found = real.compat.v1, []
    monkeypatch.setitem(globals(), "v1", theirs)
    with theirs.Graph().as_default(), theirs.Session() as session:
        x = theirs.placeholder("float32", [2], name="x")
        w = theirs.get_variable("w", [2], initializer=theirs.ones_initializer(), use_resource=use_resource)
        theirs.disable_control_flow_v2()
        try:
            theirs.identity(of(x, w), name="y")
        finally:
            theirs.enable_control_flow_v2()
        session.run(theirs.global_variables_initializer())
        path = theirs.train.Saver().save(session, str(tmp_path / "model"))
    for names in (theirs, tf.compat.v1):
        with names.Graph().as_default(), names.Session() as session:
            names.train.import_meta_graph(f"{path}.meta").restore(session, path)
            found.append([session.run("y:0", {"x:0": value}) for value in (X[0], X[1], X[0])])
            found[-1].append(session.run(names.global_variables()[0]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_a_meta_graph_in_a_scope(tmp_path):
    with v1.Graph().as_default():
        build()
        meta = v1.train.export_meta_graph()
    with v1.Graph().as_default() as graph:
        assert v1.train.import_meta_graph(meta, import_scope="inner") is not None
        assert graph.get_collection("outputs")[0].name == "inner/out:0"
        assert [v.name for v in v1.global_variables()] == ["inner/net/w:0", "inner/unused:0"]
    with v1.Graph().as_default():
        v1.constant(1.0)
        assert v1.train.import_meta_graph(v1.train.export_meta_graph()) is None


def test_a_frozen_graph_of_tensorflow_is_imported_and_run(engine):
    with real.Graph().as_default() as graph:
        x = real.compat.v1.placeholder(real.float32, (None, 3), name="x")
        w = real.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
        y = real.nn.relu(real.matmul(x, w, name="dense/MatMul"), name="dense/Relu")
        real.reduce_sum(real.transpose(y, [1, 0]), 0, name="sums")
    definition = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    assert {"x", "dense/MatMul", "dense/Relu", "sums"} <= {node.name for node in definition.node}
    with v1.Graph().as_default() as graph, v1.Session() as session:
        given = v1.placeholder(v1.float32, (2, 3))
        (sums,) = v1.import_graph_def(definition, {"x": given}, ["sums:0"], name="net")
        relu = graph.get_tensor_by_name("net/dense/Relu:0")
        found = session.run([sums, relu], {given: [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]})
    assert [value.tolist() for value in found] == [[3.0, 0.0], [[1.0, 2.0], [0.0, 0.0]]]


def test_a_graph_that_calls_python_is_saved_without_its_meta_graph(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=1.0)
        v1.py_func(lambda x: x, [v], v1.float32)
        session.run(v.initializer)
        with pytest.warns(UserWarning, match=r"tf.train.Saver.save .* no meta graph"):
            path = v1.train.Saver().save(session, str(tmp_path / "model"))
    assert sorted(p.name for p in tmp_path.iterdir() if "meta" in p.name) == [] and path == str(tmp_path / "model")


def test_damage_is_refused(tmp_path):
    with v1.Graph().as_default() as graph:
        build()
        data, meta = graph.as_graph_def().SerializeToString(), v1.train.export_meta_graph().SerializeToString()
    definition = v1.GraphDef()
    for end in range(1, len(data), 97):
        with contextlib.suppress(Library("google.protobuf.message").DecodeError), v1.Graph().as_default():
            definition.ParseFromString(data[:end])
            tf.import_graph_def(definition, name="")
    (tmp_path / "x.meta").write_bytes(meta[: len(meta) // 2])
    with v1.Graph().as_default() as graph:
        with pytest.raises(FormatError, match=r"x\.meta' cannot be read"):
            v1.train.import_meta_graph(str(tmp_path / "x.meta"))
        with pytest.raises(TypeError, match="the path of a file, or a MetaGraphDef"):
            v1.train.import_meta_graph(3)
        with pytest.raises(FileNotFoundError):
            v1.train.import_meta_graph(str(tmp_path / "gone.meta"))


@pytest.mark.parametrize("clears", [True, False])
def test_devices_are_left_out_if_the_program_says_so(clears):
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        tf.tanh(tf.placeholder(tf.float32, ()), name="y")
        whole, bare = (tf.train.export_meta_graph(clear_devices=clear) for clear in (False, clears))
    with tf.Graph().as_default() as read:
        tf.train.import_meta_graph(whole, clear_devices=clears)
    devices = [node.device for node in bare.graph_def.node if node.name == "y"]
    assert devices == [read.get_operation_by_name("y").device] == ["" if clears else "/device:GPU:1"]


def test_a_part_of_a_graph_is_refused():
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="leave export_scope out"):
        tf.train.export_meta_graph(export_scope="part")


def test_a_saver_restores_what_was_saved_of_a_graph_that_draws(tmp_path):
    path = str(tmp_path / "model")
    with v1.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=np.float32([2.0]))
        v1.add(w, 0.0 * v1.random_uniform([1]), name="y")
        session.run(v1.global_variables_initializer())
        v1.train.Saver(v1.global_variables()).save(session, path)
    with v1.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(f"{path}.meta")
        assert [variable.name for variable in v1.global_variables()] == ["w:0"]
        saver.restore(session, path)
        assert session.run("y:0").tolist() == [2.0]


BRANCHES = {  # (module, reference variable of 1, predicate) → the tensor "y"
    "assign": lambda v1, w, p: v1.cond(p, lambda: v1.assign(w, 5.0), lambda: v1.assign(w, 7.0)),
    "assign and read": lambda v1, w, p: v1.cond(p, lambda: v1.assign(w, 5.0) + 1.0, lambda: w + 10.0),
    "add": lambda v1, w, p: v1.cond(p, lambda: v1.assign_add(w, 5.0) * 2, lambda: v1.assign_sub(w, 1.0) * 2),
    "wait": lambda v1, w, p: v1.cond(p, lambda: _behind(v1, v1.assign_add(w, 2.0)), lambda: v1.constant(0.0)),
    "inside": lambda v1, w, p: v1.cond(p, lambda: v1.cond(w > 0, lambda: v1.assign(w, 3.0), lambda: w), lambda: w),
    "outside": lambda v1, w, p: (lambda a: v1.cond(p, lambda: a * 2, lambda: v1.constant(0.0)))(v1.assign_add(w, 2.0)),
}


def _behind(v1, operation):
    with v1.control_dependencies([operation]):
        return v1.constant(1.0)


@pytest.mark.parametrize("case", BRANCHES)
def test_only_the_taken_branch_of_tensorflow_1_assigns(tmp_path, case):
    there, file = real.compat.v1, str(tmp_path / "m.meta")

    def run(module, graph, p):
        with module.Session(graph=graph) as session:
            session.run("init")
            return [session.run("y:0", {"p:0": p}).tolist(), session.run("w:0").tolist()]

    there.disable_control_flow_v2()
    try:
        with there.Graph().as_default() as graph:
            w = there.Variable(1.0, use_resource=False, name="w")
            there.group(w.initializer, name="init")
            there.identity(BRANCHES[case](there, w, there.placeholder("bool", [], name="p")), name="y")
            there.train.export_meta_graph(file)
            wanted = [run(there, graph, p) for p in (True, False)]
    finally:
        there.enable_control_flow_v2()
    with v1.Graph().as_default() as graph:
        v1.train.import_meta_graph(file)
        assert [run(v1, graph, p) for p in (True, False)] == wanted


def test_a_meta_graph_has_its_gradients_where_no_name_of_a_loss_was_asked_for(tmp_path):
    """Graphs name the gradient of the cross-entropy; a process that reads one need not import the module of losses."""
    file = str(tmp_path / "graph.meta")
    with v1.Graph().as_default():
        logits = v1.placeholder(v1.float32, [None, 3], name="logits")
        v1.nn.softmax_cross_entropy_with_logits_v2(labels=[[2.0, 0.0, 1.0]], logits=logits, name="loss")
        v1.train.export_meta_graph(file)
    program = (
        "import sys, dovetail.compat.tensorflow.compat.v1 as tf\n"
        f"tf.train.import_meta_graph({file!r})\n"
        "graph = tf.get_default_graph()\n"
        "loss, logits = graph.get_tensor_by_name('loss:0'), graph.get_tensor_by_name('logits:0')\n"
        "found = tf.Session().run(tf.gradients(loss, logits), {logits: [[0.0, 0.0, 0.0]]})\n"
        "assert 'dovetail.compat.tensorflow.names.nn.losses' not in sys.modules\n"
        "print(*found[0][0].round(3))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["-1.667", "0.333", "-0.667"], done.stderr


LOSSES = {  # functions of a tensor of unknown rank and a variable, whose gradients need the rank
    "mean": lambda x, w: v1.reduce_mean(v1.square(w * x + 1.0)),
    "largest": lambda x, w: v1.reduce_sum(v1.reduce_max(w * x, [0, 1])),
    "bias": lambda x, w: v1.reduce_sum(v1.tanh(v1.nn.bias_add(x, w))),
    "join": lambda x, w: v1.reduce_sum(v1.square(v1.concat([w * x, x], -1))),
    "override": lambda x, w: v1.reduce_mean(overridden(w * x)),
}


@v1.RegisterGradient("HalfOfMeanOfUnknownRank")
def half(op, g):
    return v1.expand_dims(g, len(op.inputs[0].shape) - 1) * v1.ones_like(op.inputs[0]) * 0.5


def overridden(x):
    with v1.get_default_graph().gradient_override_map({"Max": "HalfOfMeanOfUnknownRank"}):
        return v1.reduce_max(x, -1)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_train_step_of_unknown_rank_is_written_beside_checkpoints(engine, loss, tmp_path):
    path, given, steps = str(tmp_path / "m"), np.float32([[1, -2, 3], [4, 5, -6]]), []
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(v1.float32, name="x")
        w = v1.get_variable("w", initializer=[0.5, -0.25, 2.0])
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(LOSSES[loss](x, w), name="train")
        assert {"DeferredCall", "SymbolicGradient"} & {op.type for op in graph.operations}
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, path)
        session.run("train", {x: given})
        steps.append(session.run(w))
    with v1.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
        session.run("train", {"x:0": given})
        steps.append(session.run("w:0"))
    there = real.compat.v1
    with there.Graph().as_default(), there.Session() as session:
        there.train.import_meta_graph(f"{path}.meta").restore(session, path)
        session.run("train", {"x:0": given})
        theirs = session.run(there.global_variables()[0])
    np.testing.assert_array_equal(*steps)
    np.testing.assert_allclose(theirs, steps[0], rtol=1e-5)
    assert not np.array_equal(steps[0], [0.5, -0.25, 2.0])


OF_ANY_RANK = {  # functions of a tensor of unknown rank
    "sum": v1.reduce_sum,
    "mean": v1.reduce_mean,
    "last mean": lambda x: v1.reduce_mean(x, -1),
    "transpose": v1.transpose,
    "softmax": lambda x: v1.nn.softmax(x),
    "first softmax": lambda x: v1.nn.softmax(x, 0),
    "squeeze": lambda x: v1.squeeze(v1.expand_dims(x, -1), -1),
    "flip": lambda x: v1.reverse(x, [-1]),
    "slice": lambda x: x[..., :2],
    "stack": lambda x: v1.stack([x, x], -1),
    "norm": lambda x: v1.nn.l2_normalize(x, -1),
    "moments": lambda x: v1.nn.moments(x, [-1])[1],
    "join": lambda x: v1.concat([x, x * 2.0], -1),
    "gather": lambda x: v1.gather(x, [1, 0], axis=-1),
    "flatten": lambda x: v1.reshape(x, [-1]),
    "position": lambda x: v1.argmax(x, -1),
}


@pytest.mark.parametrize("name", OF_ANY_RANK)
def test_calls_that_wait_for_a_rank_are_written_for_tensorflow(tmp_path, name):
    """Check each call and its gradient at two ranks, in a file of `write_graph`."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(v1.float32, name="x")
        y = v1.identity(OF_ANY_RANK[name](x), "y")
        gradients = v1.gradients(y, x) if y.dtype == v1.float32 else []
        results = [v1.identity(one, f"result_{number}").name for number, one in enumerate([y, *gradients])]
        file = v1.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
        for given in (X, np.stack([X, X * 2 - 1])):
            theirs = foreign.graph_def(file, {"x:0": given}, fetches=results)
            for one in results:
                np.testing.assert_allclose(theirs[one], session.run(one, {x: given}), rtol=1e-5, atol=1e-6)
