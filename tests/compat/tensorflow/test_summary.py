"""Summaries: event files that TensorFlow's own reader reads."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from tests.libraries import Library, require

require("tensorflow", "it reads the files")
require("google_crc32c", "files have its checksums")

real, v1 = Library("tensorflow"), tf.compat.v1


def events(folder: Path) -> list[tuple[int, str, object]]:
    """Step, tag and value of each summary in a folder."""
    found = []
    for path in sorted(folder.glob("events*")):
        for event in real.compat.v1.train.summary_iterator(str(path)):
            found += [(event.step, value.tag, value) for value in event.summary.value]
    return found


def test_what_sessions_make_of_summaries_is_written(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [None])
        with v1.name_scope("net"):
            v1.summary.scalar("loss", v1.reduce_sum(x))
        v1.summary.histogram("spread", x)
        image = v1.summary.image("picture", v1.reshape(x, [1, 2, 2, 1]), collections=["other"])
        merged = v1.summary.merge_all()
        with v1.summary.FileWriter(str(tmp_path)) as writer:
            for step in range(2):
                total, summary = session.run([v1.reduce_sum(x), merged], {x: [1.0, 2.0, 3.0, 4.0 + step]})
                assert total == 10.0 + step
                writer.add_summary(summary, step)
            writer.add_summary(image.eval({x: np.ones(4)}, session))
            writer.add_summary(v1.Summary(value=[v1.Summary.Value(tag="own", simple_value=0.5)]), 7)
    found = events(tmp_path)
    tags = [(step, tag) for step, tag, _ in found]
    assert tags == [(0, "net/loss"), (0, "spread"), (1, "net/loss"), (1, "spread"), (0, "picture/image/0"), (7, "own")]
    assert [value.simple_value for _, tag, value in found if tag == "net/loss"] == [10.0, 11.0]
    assert (found[1][2].histo.num, found[1][2].histo.sum, sum(found[1][2].histo.bucket)) == (4.0, 10.0, 4.0)
    assert real.io.decode_png(found[4][2].image.encoded_image_string).shape == (2, 2, 1)


def test_a_summary_has_its_operation_and_is_printed_with(tmp_path, capsys):
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(v1.float32, [], "x")
        made = [v1.summary.scalar("net/loss", x), v1.summary.histogram("spread", x)]
        merged = v1.summary.merge(made, name="all")
        printed = v1.Print(made[0], [x], "loss: ")
        graph.add_to_collection("printed", printed)
        assert [(one.op.type, one.op.name) for one in [*made, merged]] == [
            ("ScalarSummary", "net/loss"),
            ("HistogramSummary", "spread"),
            ("MergeSummary", "all/all"),
        ]
        assert made[0].op.inputs == (x,) and made[0].get_shape() == () and made[0].dtype == v1.string
        assert session.run(v1.summary.merge_all("printed"), {x: 3.0}) == made[0].eval({x: 3.0})
        assert capsys.readouterr().err == "loss: [3]\n"
        with pytest.raises(TypeError, match="summaries"):
            v1.reduce_sum(made[0])


def graphs(folder: Path) -> list[object]:
    """The graphs in a folder."""
    paths = sorted(folder.glob("events*"))
    found = [event.graph_def for p in paths for event in real.compat.v1.train.summary_iterator(str(p))]
    return [real.compat.v1.GraphDef.FromString(text) for text in found if text]


def test_a_graph_is_written(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(v1.float32, [None, 2], name="x")
        with v1.variable_scope("net"), v1.device("/gpu:1"):
            w = v1.get_variable("w", [2, 2], initializer=v1.ones_initializer())
            y = v1.matmul(x, w, name="y")
        v1.identity(y, name="w_of_no_scope")
        large = v1.constant(np.zeros(5000, "float32"), name="large")
        with v1.control_dependencies([large.op]):
            v1.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, v1.matmul(z, w)), [0, y], name="loop")
        with v1.summary.FileWriter(str(tmp_path / "whole"), graph, filename_suffix=".suffix") as writer:
            assert writer.get_logdir() == str(tmp_path / "whole")
        with v1.summary.FileWriter(str(tmp_path / "part")) as writer:
            writer.add_graph(None, graph_def=v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["net/y"]))
        with pytest.raises(TypeError, match=r"add_graph.*a tf.Graph.*not 'graph'"):
            writer.add_graph("graph")
    assert [path.suffix for path in (tmp_path / "whole").iterdir()] == [".suffix"]
    (whole,), (part,) = graphs(tmp_path / "whole"), graphs(tmp_path / "part")
    nodes = {node.name: node for node in whole.node}
    assert len(nodes) == len(whole.node) and set(nodes) == {"net/w"} | {op.name for op in graph.get_operations()}
    assert not {name.strip("^").partition(":")[0] for node in whole.node for name in node.input} - set(nodes)
    product = nodes["net/y"]
    assert (product.op, product.device, len(product.input), product.input[0]) == ("MatMul", "/device:GPU:1", 2, "x")
    (shape,) = product.attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [-1, 2] and product.attr["T"].type == real.float32.as_datatype_enum
    assert nodes[product.input[1]].input == ["net/w"] and nodes["net/w"].op == "VarHandleOp"
    assert [dim.size for dim in nodes["large"].attr["value"].tensor.tensor_shape.dim] == [5000]
    loop = next(node for node in whole.node if node.op == "While")
    functions = {function.signature.name: function for function in whole.library.function}
    body = functions[loop.attr["body"].func.name]
    assert "^large" in loop.input and {node.op for node in body.node_def} >= {"MatMul", "AddV2"}
    assert len(body.signature.input_arg) == len(loop.input) - 1 and len(body.ret) == 2
    assert {node.name for node in part.node} >= {"x", "net/w", "net/y"} and len(part.node) < len(whole.node)


def test_a_meta_graph_is_written_and_a_message_of_a_graph(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        v1.get_variable("w", [2], initializer=v1.ones_initializer())
        meta = v1.train.export_meta_graph(graph=graph)
    with v1.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_meta_graph(meta, global_step=3)
        writer.add_graph(meta.graph_def)
        with pytest.raises(TypeError, match=r"add_meta_graph.*a tf.MetaGraphDef.*not <graph"):
            writer.add_meta_graph(graph)
    (path,) = tmp_path.iterdir()
    event = next(e for e in real.compat.v1.train.summary_iterator(str(path)) if e.meta_graph_def)
    found = real.compat.v1.MetaGraphDef.FromString(event.meta_graph_def)
    assert event.step == 3 and [node.name for node in found.graph_def.node] == [n.name for n in meta.graph_def.node]
    assert "variables" in found.collection_def
    assert [node.name for node in graphs(tmp_path)[0].node] == [node.name for node in meta.graph_def.node]


def test_a_graph_is_written_without_a_session(tmp_path):
    doubled = dt.function(lambda x: x * 2.0).graph(dt.spec((2,)))
    doubled.get_operation("Mul").engine = "numpy"
    assert tf.summary.graph(doubled) is False
    with tf.summary.create_file_writer(str(tmp_path), flush_millis=10, filename_suffix=".x").as_default():
        assert tf.summary.graph(doubled)
    (proto,) = graphs(tmp_path)
    assert [node.op for node in proto.node] == [op.type for op in doubled]
    assert [node.attr["_engine"].s for node in proto.node if "_engine" in node.attr] == [b"numpy"]


def test_what_is_computed_is_written_at_once(tmp_path, engine):
    assert tf.summary.scalar("nowhere", 1.0, step=0) is False
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        assert tf.summary.scalar("loss", tf.constant(0.5), step=3)
        tf.summary.image("picture", np.ones((1, 2, 2, 3)), step=3, max_outputs=1)
        with pytest.raises(ValueError, match="needs a step"):
            tf.summary.histogram("spread", [1.0, 2.0])
    writer.close()
    assert [(step, tag) for step, tag, _ in events(tmp_path)] == [(3, "loss"), (3, "picture")]


def merged(tf, scope):
    """The tags of the summaries whose names begin with a scope."""
    with tf.Graph().as_default(), tf.Session() as session:
        for place in ("net", "net/inner", "other"):
            with tf.name_scope(place):
                tf.summary.scalar("loss", tf.constant(1.0))
        tf.summary.scalar("loss", tf.constant(2.0), family="kind")
        node = tf.summary.merge_all(scope=scope)
        written = None if node is None else session.run(node)
    if not isinstance(written, bytes):
        return None if written is None else [value.tag for value in written.value]
    return [value.tag for value in real.compat.v1.Summary.FromString(written).value]


@pytest.mark.parametrize("scope", [None, "net", "net/inner", "other", "kind", "nothing", ".*inner"])
def test_summaries_of_a_scope_are_merged(scope, engine):
    assert merged(tf.compat.v1, scope) == merged(real.compat.v1, scope)


def test_names_of_summaries():
    def named(tf):
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            first = [tf.summary.scalar("a loss", x), tf.summary.scalar("loss", x), tf.summary.scalar("loss", x)]
            return [one.name for one in (*first, tf.summary.merge(first), tf.summary.merge(first, name="all"))]

    assert named(tf.compat.v1) == named(real.compat.v1)


def values_of(tf, folder):
    """The values that a program writes by the names of TensorFlow 2."""
    summary = tf.summary
    writer = summary.create_file_writer(str(folder))
    with writer.as_default(step=5):
        summary.scalar("loss", 1.5, step=0, description="how bad")
        summary.scalar("loss", 2, step=1, description="how bad")
        summary.histogram("spread", [1.0, 2.0, 5.0], step=0, buckets=4, description="how wide")
        summary.histogram("flat", [1.0, 2.0])
        summary.text("words", "some", step=1)
        summary.image("picture", np.linspace(0, 1, 24).reshape(2, 2, 2, 3), max_outputs=1)
        summary.audio(
            "sound", np.linspace(-1.1, 1.1, 60, dtype="float32").reshape(2, 15, 2), 8000, description="how loud"
        )
        summary.audio("sounds", np.linspace(-1, 1, 45, dtype="float32").reshape(3, 15, 1), 44100, max_outputs=1)
        summary.write("own", np.arange(3), metadata=None)
        summary.write("lazy", lambda: tf.constant([1.0]), step=2)
        with summary.record_if(lambda: False):
            summary.scalar("never", 1.0)
            never = summary.should_record_summaries()
        with summary.experimental.summary_scope("a (b)", "c") as (tag, _):
            summary.write(tag, 1.0)
        summary.experimental.set_step(9)
        summary.scalar("last", 3.0)
        steps = summary.experimental.get_step()
        summary.flush()
    writer.close()
    found = []
    for step, tag, value in events(folder):
        array = real.make_ndarray(value.tensor)
        pictures = (
            [real.io.decode_png(one).numpy().tolist() for one in array[2:]] if tag == "picture" else array.tolist()
        )
        found.append((step, tag, value.metadata.plugin_data, value.metadata.summary_description, pictures))
    return found, int(steps), bool(never)


def test_what_is_written_is_what_tensorflow_writes(tmp_path, engine):
    assert values_of(tf, tmp_path / "ours") == values_of(real, tmp_path / "theirs")


@pytest.mark.parametrize(("shape", "most"), [((2, 9), 3), ((4, 9, 2), 3), ((2, 9, 1), 1), ((0, 9), 3)])
def test_sounds_of_graphs_are_those_of_tensorflow(shape, most, engine):
    def made(v1):
        with v1.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(v1.float32, [None] * len(shape))
            node = v1.summary.audio("sound", x, v1.constant(8000.0), max_outputs=most, family="kind")
            written = session.run(node, {x: np.linspace(-1.1, 1.1, math.prod(shape)).reshape(shape)})
        return real.compat.v1.Summary.FromString(written)

    assert made(tf.compat.v1) == made(real.compat.v1)


def test_sounds_have_a_known_rate_and_frames(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), pytest.raises(TypeError, match=r"sample_rate.*give a Python number"):
        v1.summary.audio("sound", v1.zeros([1, 9]), v1.placeholder(v1.float32, []))
    with tf.summary.create_file_writer(str(tmp_path)).as_default(step=0):
        with pytest.raises(ValueError, match=r"\(batch, frames, channels\), not \(3,\)"):
            tf.summary.audio("sound", np.zeros(3), 8000)
        with pytest.raises(ValueError, match="the encoding is 'wav'"):
            tf.summary.audio("sound", np.zeros((1, 3, 1)), 8000, encoding="mp3")


def test_a_writer_writes_again(tmp_path):
    v1 = tf.compat.v1
    writer = v1.summary.FileWriter(str(tmp_path))
    writer.add_session_log(v1.SessionLog(status=1), 3)
    writer.close()
    writer.reopen()
    writer.add_summary(real.compat.v1.Summary(value=[{"tag": "theirs", "simple_value": 0.5}]), 7)
    writer.add_event(v1.Event(step=8, summary={"value": [{"tag": "own", "simple_value": 0.5}]}))
    writer.close()
    paths = sorted(tmp_path.iterdir(), key=lambda path: int(path.name.rpartition(".")[2]))
    found = [[(one.step, one.WhichOneof("what")) for one in v1.train.summary_iterator(str(p))] for p in paths]
    start = (0, "file_version")
    assert found == [[start, (3, "session_log")], [start, (7, "summary"), (8, "summary")]]


WITHOUT = """
import sys
sys.modules["tensorflow"] = None  # importing it fails from here on
from dovetail.compat import tensorflow as tf
v1 = tf.compat.v1
with v1.Graph().as_default() as graph, v1.Session() as session:
    x = v1.placeholder(v1.float32, [None], name="x")
    v1.summary.scalar("loss", v1.reduce_sum(x)), v1.summary.histogram("spread", x)
    with v1.summary.FileWriter(sys.argv[1], graph) as writer:
        writer.add_summary(session.run(v1.summary.merge_all(), {x: [1.0, 2.0]}), 3)
with tf.summary.create_file_writer(sys.argv[1]).as_default(step=4):
    tf.summary.scalar("late", 2.5)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = EventAccumulator(sys.argv[1]).Reload()
(loss,), (spread,) = found.Scalars("loss"), found.Histograms("spread")
assert (loss.step, loss.value, spread.histogram_value.num) == (3, 3.0, 2.0)
assert "x" in [node.name for node in found.Graph().node]
assert found.Tensors("late")[0].step == 4
"""


def test_tensorboard_reads_the_files_without_tensorflow(tmp_path):
    require("tensorboard", "it reads the files")
    run = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_the_times_of_runs_and_the_settings_of_the_projector(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session, v1.summary.FileWriter(tmp_path) as writer:
        x, times = v1.constant([1.0], name="x"), v1.RunMetadata()
        session.run(x + 1.0, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=times)
        writer.add_run_metadata(times, "step1", 1)
        with pytest.raises(ValueError, match="the tag 'step1' already"):
            writer.add_run_metadata(times, "step1", 2)
        projector = v1.contrib.tensorboard.plugins.projector
        config = projector.ProjectorConfig()
        words = config.embeddings.add()
        words.tensor_name, words.metadata_path = "words:0", "words.tsv"
        words.sprite.single_image_dim.extend([28, 28])
        projector.visualize_embeddings(writer, config)
    (path,) = tmp_path.glob("events*")
    (tagged,) = [e for e in real.compat.v1.train.summary_iterator(str(path)) if e.HasField("tagged_run_metadata")]
    read = real.compat.v1.RunMetadata.FromString(tagged.tagged_run_metadata.run_metadata)
    names = [node.node_name for device in read.step_stats.dev_stats for node in device.node_stats]
    assert (tagged.step, tagged.tagged_run_metadata.tag) == (1, "step1") and names
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words:0"' in text and text.count("single_image_dim: 28") == 2


def _written(folder):
    """The step, the tag and the kind of each summary, and the number of scalars, in the files of a folder."""
    return [
        (event.step, one.tag, one.WhichOneof("value"), one.simple_value)
        for path in sorted(folder.glob("*tfevents*"))
        for event in v1.train.summary_iterator(str(path))
        for one in event.summary.value
    ]


def test_contrib_summaries_are_written_by_runs_that_ask_for_them(engine, tmp_path):
    contrib = v1.contrib.summary
    with v1.Graph().as_default() as graph, v1.Session() as session:
        writer, step = contrib.create_file_writer(str(tmp_path), flush_millis=1000), v1.train.create_global_step()
        x = v1.placeholder("float32", [3])
        with writer.as_default(), contrib.record_summaries_every_n_global_steps(2):
            contrib.scalar("sum", v1.reduce_sum(x))
            contrib.histogram("all", x, family="layer")
            contrib.initialize(graph=graph, session=session)
            with contrib.never_record_summaries():
                assert not contrib.should_record_summaries()
                contrib.scalar("never", x[0])
        session.run([v1.global_variables_initializer(), contrib.summary_writer_initializer_op()])
        add = v1.assign_add(step, 1)
        for number in range(4):
            session.run(contrib.all_summary_ops(), {x: [number, 1, 2]})
            session.run(add)
        session.run(contrib.flush(writer))
    found = _written(tmp_path)
    assert found[::2] == [(0, "sum", "simple_value", 3.0), (2, "sum", "simple_value", 5.0)]
    assert found[1::2] == [(step, "layer/all", "histo", 0.0) for step in (0, 2)]


def test_contrib_summaries_are_written_at_once_where_there_is_no_graph(tmp_path):
    contrib = v1.contrib.summary
    writer = contrib.create_file_writer(str(tmp_path))
    with writer.as_default():
        contrib.scalar("before", 1.0, step=1)
        with contrib.always_record_summaries():
            contrib.scalar("loss", tf.constant(2.5), step=7)
            contrib.image("picture", np.zeros((1, 2, 2, 3), "float32"), step=8)
    assert [row[:3] for row in _written(tmp_path)] == [(7, "loss", "simple_value"), (8, "picture/image/0", "image")]
    assert contrib.eval_dir("runs", "test") == os.path.join("runs", "eval_test")
