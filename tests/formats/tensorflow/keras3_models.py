"""Make the models of `models/`, with inputs and results: python -m tests.formats.tensorflow.keras3_models

Stock TensorFlow and Keras make them; the tests read them without both.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_USE_LEGACY_KERAS": "0"}

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FOLDER = Path(__file__).parent / "models"
v1 = tf.compat.v1


def mlp() -> Any:
    return [keras.Input((6,)), layers.Dense(8, "relu"), layers.Dense(3)]


def cnn() -> Any:
    return [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.DepthwiseConv2D(2, padding="same"),
        layers.Dropout(0.3),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ]


def recurrent() -> Any:
    return [
        keras.Input((None,)),
        layers.Embedding(20, 4),
        layers.LSTM(5, return_sequences=True),
        layers.Bidirectional(layers.GRU(3)),
        layers.Dense(2),
    ]


class Loop(tf.Module):
    """A loop, a branch, a variable that counts, and a table that nothing calls."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(0.3 * np.eye(4, dtype="float32") + 0.1, name="w")
        self.calls = tf.Variable(0, name="calls", trainable=False)
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        self.table = tf.lookup.StaticHashTable(words, 0)

    @tf.function(input_signature=[tf.TensorSpec((None, 4)), tf.TensorSpec((), tf.int32)])
    def __call__(self, x: Any, n: Any) -> Any:
        self.calls.assign_add(1)
        i = tf.constant(0)
        while i < n:
            x = tf.tanh(x @ self.w)
            i += 1
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
    def look_up(self, words: Any) -> Any:
        return {"numbers": self.table.lookup(words)}


def values(name: str, *arrays: Any) -> None:
    inputs = {f"x{number}": array for number, array in enumerate(arrays[:-1])}
    np.savez(FOLDER / f"{name}.npz", y=np.asarray(arrays[-1]), **inputs)


def keras_models() -> None:
    random = np.random.RandomState(0)
    given = {
        mlp: random.randn(3, 6).astype("float32"),
        cnn: random.randn(2, 8, 8, 1).astype("float32"),
        recurrent: random.randint(0, 20, (2, 5)).astype("float32"),
    }
    for make, x in given.items():
        model = keras.Sequential(make())
        for weight in model.weights:  # also moments, which begin with zeros and ones
            weight.assign(random.uniform(0.1, 0.9, weight.shape))
        model.export(FOLDER / make.__name__, verbose=False)
        values(make.__name__, x, model(x))


def modules() -> None:
    module, x = Loop(), np.random.RandomState(1).randn(2, 4).astype("float32")
    signatures = {"serving_default": module.__call__, "look_up": module.look_up}
    tf.saved_model.save(module, str(FOLDER / "loop"), signatures=signatures)
    values("loop", x, np.int32(3), module(x, 3))


def frozen() -> None:
    random = np.random.RandomState(2)
    x, kernel = random.randn(2, 6, 6, 2).astype("float32"), random.randn(3, 3, 2, 3).astype("float32")
    with tf.Graph().as_default() as graph, v1.Session() as session:
        given = v1.placeholder(tf.float32, (None, 6, 6, 2), "image")
        y = tf.nn.relu(tf.nn.conv2d(given, kernel, 2, "SAME", name="conv/Conv2D"), name="conv/Relu")
        y = tf.reshape(y, [tf.shape(y)[0], -1], name="flat")
        y = tf.nn.softmax(tf.matmul(y, random.randn(27, 4).astype("float32"), name="dense_1/MatMul"), name="scores")
        tf.raw_ops.AudioSpectrogram(input=tf.zeros((4, 1)), window_size=2, stride=1, name="unknown")
        values("frozen", x, session.run(y, {given: x}))
    (FOLDER / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())


def simple_save() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        v1.disable_resource_variables()
        x = v1.placeholder(tf.float32, (None, 3), name="x")
        w = v1.get_variable("w", (3, 2))
        y = tf.nn.relu(x @ w, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(FOLDER / "simple"), {"x": x}, {"y": y})
        given = np.random.RandomState(3).randn(4, 3).astype("float32")
        values("simple", given, session.run(y, {x: given}))


def loops() -> None:
    """A loop with a branch inside, and a recurrence over arrays, as TensorFlow 1 writes them."""
    v1.disable_control_flow_v2()
    x = np.random.RandomState(4).randn(2, 5, 3).astype("float32")
    kernel = np.random.RandomState(5).randn(3, 3).astype("float32")
    with tf.Graph().as_default() as graph, v1.Session() as session:
        given, n = v1.placeholder(tf.float32, (None, 5, 3), name="x"), v1.placeholder(tf.int32, (), name="n")
        w = v1.get_variable("w", initializer=kernel)

        def step(i: Any, h: Any, y: Any) -> Any:
            y = tf.cond(tf.equal(i % 2, 0), lambda: y * 2, lambda: y - 1)
            return i + 1, tf.tanh(h @ w) + y[:, :1], y

        _, h, y = v1.while_loop(lambda i, h, y: i < n, step, [0, given[:, 0], given[:, 1]], name="loop")
        z = tf.identity(tf.cond(tf.reduce_sum(h) > 0, lambda: h + y, lambda: h * y), name="z")
        session.run(v1.global_variables_initializer())
        values("loop1", x, np.int32(3), session.run(z, {given: x, n: 3}))
        v1.train.Saver().save(session, str(FOLDER / "loop1"), write_state=False)
        write_frozen("loop1.pb", session, graph, "z")
    with tf.Graph().as_default() as graph, v1.Session() as session:
        given = v1.placeholder(tf.float32, (None, 5, 3), name="x")
        taken = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(given, [1, 0, 2]))

        def recur(i: Any, h: Any, out: Any) -> Any:
            h = tf.tanh(h @ kernel + taken.read(i))
            return i + 1, h, out.write(i, h)

        first = [0, tf.zeros_like(given[:, 0]), tf.TensorArray(tf.float32, 5)]
        _, _, out = v1.while_loop(lambda i, h, out: i < 5, recur, first)
        y = tf.identity(tf.transpose(out.stack(), [1, 0, 2]), name="y")
        values("arrays1", x, session.run(y, {given: x}))
        write_frozen("arrays1.pb", session, graph, "y")


def write_frozen(name: str, session: Any, graph: Any, output: str) -> None:
    definition = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), [output])
    (FOLDER / name).write_bytes(definition.SerializeToString())


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    keras_models()
    modules()
    frozen()
    simple_save()
    loops()
    for extra in FOLDER.glob("*/fingerprint.pb"):
        extra.unlink()
