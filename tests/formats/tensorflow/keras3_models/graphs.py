"""Graphs of TensorFlow 1: placeholders, references of variables, and control flow of single nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.formats.tensorflow.keras3_models.ways import array, numbers, of_graph, v1

KERNEL = np.random.RandomState(5).randn(3, 3).astype("float32")


@of_graph("pb", image=array(2, 6, 6, 2))
def frozen(image: Any) -> Any:
    """A network of constants, and a node that Dovetail does not know."""
    y = tf.nn.relu(tf.nn.conv2d(image, array(3, 3, 2, 3), 2, "SAME", name="conv/Conv2D"), name="conv/Relu")
    y = tf.reshape(y, [tf.shape(y)[0], -1], name="flat")
    tf.raw_ops.AudioSpectrogram(input=tf.zeros((4, 1)), window_size=2, stride=1, name="unknown")
    return tf.nn.softmax(tf.matmul(y, array(27, 4), name="dense_1/MatMul"), name="scores")


@of_graph("", x=array(4, 3))
def simple(x: Any) -> Any:
    return tf.nn.relu(x @ v1.get_variable("w", (3, 2)), name="y")


def loop(x: Any, n: Any) -> Any:
    """A loop with a branch inside."""
    w = v1.get_variable("w", initializer=KERNEL)

    def step(i: Any, h: Any, y: Any) -> Any:
        y = tf.cond(tf.equal(i % 2, 0), lambda: y * 2, lambda: y - 1)
        return i + 1, tf.tanh(h @ w) + y[:, :1], y

    _, h, y = v1.while_loop(lambda i, h, y: i < n, step, [0, x[:, 0], x[:, 1]], name="loop")
    return tf.identity(tf.cond(tf.reduce_sum(h) > 0, lambda: h + y, lambda: h * y), name="z")


@of_graph("meta", x=array(2, 5, 3), n=np.int32(3))
def loop1(x: Any, n: Any) -> Any:
    return loop(x, n)


@of_graph("pb", x=array(2, 5, 3), n=np.int32(3))
def loop2(x: Any, n: Any) -> Any:
    return loop(x, n)


@of_graph("pb", x=array(2, 5, 3))
def arrays1(x: Any) -> Any:
    """A recurrence over arrays."""
    taken = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

    def recur(i: Any, h: Any, out: Any) -> Any:
        h = tf.tanh(h @ KERNEL + taken.read(i))
        return i + 1, h, out.write(i, h)

    first = [0, tf.zeros_like(x[:, 0]), tf.TensorArray(tf.float32, 5)]
    _, _, out = v1.while_loop(lambda i, h, out: i < 5, recur, first)
    return tf.identity(tf.transpose(out.stack(), [1, 0, 2]), name="y")


@of_graph("pb", x=array(2, 4, 3), lengths=np.array([4, 2], "int32"))
def rnn1(x: Any, lengths: Any) -> Any:
    """An LSTM over sequences of several lengths."""
    from tf_keras.src.layers.rnn.legacy_cells import LSTMCell

    with v1.variable_scope("rnn"):
        outputs, state = v1.nn.dynamic_rnn(LSTMCell(3), x, lengths, dtype=tf.float32)
    return tf.add(tf.reduce_sum(outputs, 1), state.h, name="y")


@of_graph("pb", x=array(3, 2), training=np.array(False))
def branches1(x: Any, training: Any) -> Any:
    """Branches in branches, as batch normalization and dropout of TensorFlow 1 have them."""
    mean = tf.cond(training, lambda: tf.reduce_mean(x, 0), lambda: tf.constant([0.1, 0.2]))

    def drop() -> Any:
        return tf.cond(tf.reduce_max(x) > 100, lambda: tf.zeros_like(x), lambda: tf.nn.dropout(x, rate=0.5))

    return tf.identity(tf.cond(training, drop, lambda: x * 2) - mean, name="y")


@of_graph("pbtxt", x=array(2, 8), ids=numbers(2, 3, below=5))
def text(x: Any, ids: Any) -> Any:
    """A graph in a file of text."""
    rows = tf.nn.embedding_lookup(v1.get_variable("table", (5, 8)), ids, name="rows")
    both = tf.concat([x, tf.reduce_sum(rows, 1)], 1)
    return tf.nn.log_softmax(
        tf.split(both, 2, 1)[0] * tf.math.rsqrt(tf.reduce_sum(both**2, 1, keepdims=True)), name="y"
    )


@of_graph("meta", x=array(4, 6, 6, 1))
def trained1(x: Any) -> Any:
    """A graph of training with its results: gradients, an optimizer with slots, and a count of steps."""
    kernel, bias = v1.get_variable("conv/kernel", (3, 3, 1, 2)), v1.get_variable("conv/bias", (2,))
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "VALID"), bias), name="conv/Relu")
    flat = tf.reshape(tf.nn.max_pool2d(y, 2, 2, "VALID"), (-1, 8))
    logits = tf.matmul(flat, v1.get_variable("dense/kernel", (8, 3)), name="dense/BiasAdd")
    labels = v1.placeholder(tf.int32, (None,), "labels")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    v1.train.AdamOptimizer(0.01).minimize(loss, v1.train.get_or_create_global_step(), name="train")
    return tf.nn.softmax(logits, name="probabilities")


@of_graph("pb", x=array(1, 5, 6, 2))
def detector1(x: Any) -> Any:
    """Boxes and scores, resized as TensorFlow 1 did, with the best of them."""
    big = v1.image.resize_bilinear(x, [10, 12], align_corners=True)
    near = v1.image.resize_nearest_neighbor(x, [10, 12])
    y = tf.nn.lrn(big + near, 2)
    y = tf.nn.depthwise_conv2d(y, array(3, 3, 2, 2), [1, 1, 1, 1], "SAME")
    scores = tf.sigmoid(tf.reshape(y, [-1, 4])[:, 0])
    boxes = tf.abs(tf.reshape(y, [-1, 4]))
    best = tf.image.non_max_suppression(boxes + np.float32([0, 0, 2, 2]), scores, 5, 0.5)
    return tf.concat([tf.gather(boxes, best), tf.gather(scores, best)[:, tf.newaxis]], 1, name="y")
