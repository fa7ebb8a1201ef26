"""Files that TensorFlow writes, for tests of summaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.libraries import Library

tf, v1 = Library("tensorflow"), Library("tensorflow.compat.v1")
LARGE = 2**20  # elements of the constant of a frozen graph


def write(folder: Path) -> None:
    """Write a file of each kind into a folder."""
    _write_saved_model(folder)
    _write_graph(folder)
    _write_records(folder)
    _write_events(folder)


def _write_saved_model(folder: Path) -> None:
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.kernel = tf.Variable(np.ones((300, 200), "float32"), name="kernel")
            self.bias = tf.Variable(np.zeros(200, "float32"), name="bias")
            self.steps = tf.Variable(0, dtype="int64")

        @tf.function(input_signature=[tf.TensorSpec([None, 300], "float32", name="rows")])
        def predict(self, rows):
            return {"scores": tf.nn.relu(rows @ self.kernel + self.bias), "steps": self.steps + 1}

    model = Model()
    tf.saved_model.save(model, str(folder / "saved"), signatures={"predict": model.predict})
    tf.train.Checkpoint(model=model).write(str(folder / "objects"))


def _write_graph(folder: Path) -> None:
    """Write graphs of TensorFlow 1 as bytes and as text, their checkpoints, and the state of these."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder("float32", [None, LARGE], name="x")
        w = v1.get_variable("w", initializer=np.ones((4, 3), "float32"), use_resource=True)
        v1.get_variable("names", initializer=np.array([b"a", b"bc"]), use_resource=True)
        y = tf.tanh(x * tf.constant(np.arange(LARGE, dtype="float32"), name="large"))
        tf.identity(tf.reduce_sum(y) + tf.reduce_sum(w), name="y")
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(max_to_keep=2)
        for step in range(3):
            saver.save(session, str(folder / "tf1" / "model"), global_step=step)
        definition = graph.as_graph_def()
        (folder / "graph.pb").write_bytes(definition.SerializeToString())
        del definition.node[[node.name for node in definition.node].index("large")].attr["value"]
        (folder / "graph.pbtxt").write_text(str(definition))


def examples() -> list:
    train = tf.train
    return [
        train.Example(
            features=train.Features(
                feature={
                    "image": train.Feature(bytes_list=train.BytesList(value=[b"\x01" * 10_000])),
                    "label": train.Feature(int64_list=train.Int64List(value=[number])),
                    **({"boxes": train.Feature(float_list=train.FloatList(value=[0.5] * number))} if number else {}),
                }
            )
        )
        for number in range(5)
    ]


def _write_records(folder: Path) -> None:
    for compression in ("", "GZIP", "ZLIB"):
        with tf.io.TFRecordWriter(str(folder / f"examples{compression}.tfrecord"), compression) as writer:
            for example in examples():
                writer.write(example.SerializeToString())
    with tf.io.TFRecordWriter(str(folder / "texts")) as writer:
        for text in (b"one", b"", b"\xff\xff"):
            writer.write(text)
    words = [tf.train.Feature(int64_list=tf.train.Int64List(value=[word])) for word in (3, 1, 4)]
    lists = tf.train.FeatureLists(feature_list={"words": tf.train.FeatureList(feature=words)})
    with tf.io.TFRecordWriter(str(folder / "sequences")) as writer:
        writer.write(tf.train.SequenceExample(feature_lists=lists).SerializeToString())


def _write_events(folder: Path) -> None:
    with tf.summary.create_file_writer(str(folder / "events2")).as_default():
        for step in (3, 1, 2):
            tf.summary.scalar("loss", 0.5 * step, step=step)
            tf.summary.histogram("weights", np.arange(10.0), step=step)
        tf.summary.image("digits", np.zeros((1, 64, 64, 3), "float32"), step=7)
        tf.summary.text("note", "hello", step=0)
    with v1.Graph().as_default() as graph:
        x = v1.placeholder("float32", [])
        found = v1.summary.merge([v1.summary.scalar("loss", x), v1.summary.histogram("h", tf.ones(3))])
        writer = v1.summary.FileWriter(str(folder / "events1"), graph)
        with v1.Session() as session:
            for step in range(4):
                writer.add_summary(session.run(found, {x: step}), step)
        writer.close()
