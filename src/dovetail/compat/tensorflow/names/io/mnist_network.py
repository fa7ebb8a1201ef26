"""TensorFlow 1's network for MNIST, `tensorflow.examples.tutorials.mnist.mnist`: two hidden layers and a linear one."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.array.creation import zeros
from dovetail.compat.tensorflow.names.array.shapes import cast
from dovetail.compat.tensorflow.names.graph.graph import name_scope_v1
from dovetail.compat.tensorflow.names.math.arithmetic import matmul
from dovetail.compat.tensorflow.names.nn.loss_functions import sparse_softmax_cross_entropy
from dovetail.compat.tensorflow.names.nn.losses import in_top_k
from dovetail.compat.tensorflow.names.optimizers.rows import GradientDescentOptimizer
from dovetail.compat.tensorflow.names.random.draws import truncated_normal
from dovetail.compat.tensorflow.names.summary.summary import scalar_v1
from dovetail.compat.tensorflow.names.variables.variables import AnyVariableV1
from dovetail.compat.tensorflow.table import in_v1

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
        with name_scope_v1(name):
            first = truncated_normal([size, units], stddev=1 / math.sqrt(size))
            weights = AnyVariableV1(first, name="weights")
            x = matmul(x, weights) + AnyVariableV1(in_v1(zeros)([units]), name="biases")
            x, size = x if name == "softmax_linear" else ops.relu(x), units
    return x


def loss(logits: Any, labels: Any) -> Any:
    """The mean cross-entropy of scores, (batch, NUM_CLASSES), and the numbers of classes, (batch,)."""
    return in_v1(sparse_softmax_cross_entropy)(labels=cast(labels, "int64"), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """The operation of a step of gradient descent, which is counted; the loss gets a summary."""
    in_v1(scalar_v1)("loss", loss)
    step = AnyVariableV1(0, name="global_step", trainable=False)
    return GradientDescentOptimizer(learning_rate).minimize(loss, global_step=step)


def evaluation(logits: Any, labels: Any) -> Any:
    """How many labels, (batch,), have the highest score of their row, int32."""
    return ops.sum(cast(in_top_k(logits, labels, 1), "int32"))
