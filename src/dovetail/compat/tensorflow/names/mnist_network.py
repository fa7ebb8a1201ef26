"""TensorFlow 1's network for MNIST, `tensorflow.examples.tutorials.mnist.mnist`: two hidden layers and a linear one."""

from __future__ import annotations

import math
from typing import Any

from dovetail.compat.tensorflow.table import V1

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """The scores of the classes.

    Args:
        images: (batch, IMAGE_PIXELS).
        hidden1_units, hidden2_units: the sizes of the hidden layers.
    """
    x, size = images, IMAGE_PIXELS
    for name, units in {"hidden1": hidden1_units, "hidden2": hidden2_units, "softmax_linear": NUM_CLASSES}.items():
        with V1["name_scope"](name):
            first = V1["truncated_normal"]([size, units], stddev=1 / math.sqrt(size))
            weights = V1["Variable"](first, name="weights")
            x = V1["matmul"](x, weights) + V1["Variable"](V1["zeros"]([units]), name="biases")
            x, size = x if name == "softmax_linear" else V1["nn.relu"](x), units
    return x


def loss(logits: Any, labels: Any) -> Any:
    """The mean cross-entropy of scores, (batch, NUM_CLASSES), and the numbers of classes, (batch,)."""
    return V1["losses.sparse_softmax_cross_entropy"](labels=V1["to_int64"](labels), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """The operation of a step of gradient descent, which is counted; the loss gets a summary."""
    V1["summary.scalar"]("loss", loss)
    step = V1["Variable"](0, name="global_step", trainable=False)
    return V1["train.GradientDescentOptimizer"](learning_rate).minimize(loss, global_step=step)


def evaluation(logits: Any, labels: Any) -> Any:
    """How many labels, (batch,), have the highest score of their row, int32."""
    return V1["reduce_sum"](V1["cast"](V1["nn.in_top_k"](logits, labels, 1), "int32"))
