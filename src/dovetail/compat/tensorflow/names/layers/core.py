"""The layers `dense`, `dropout` and `flatten`."""

from __future__ import annotations

import math
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.layers.rows import layer
from dovetail.compat.tensorflow.names.nn.basics import dropout_v1
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.values.value_kinds import is_tensor, static_shape

WEIGHTS = (
    "kernel_initializer=None bias_initializer='zeros' kernel_regularizer=None bias_regularizer=None "
    "activity_regularizer=None kernel_constraint=None bias_constraint=None trainable=True name=None"
)


def finished(layer: Any, x: Any) -> Any:
    """The outputs of a layer: a bias for each channel is added, and its activation applied."""
    if layer.bias is not None:
        x = ops.bias_add(x, layer.bias, getattr(layer, "data_format", "channels_last"))
    return x if layer.activation is None else layer.activation(x)


@layer(
    "Dense dense",
    f"units activation=None use_bias=True {WEIGHTS}",
    kernel=lambda layer, channels: [channels, int(layer.units)],
    bias=lambda layer, channels: [int(layer.units)],
)
def dense(layer: Any, x: Any) -> Any:
    """The product of inputs, (..., channels), and a matrix, plus a bias."""
    return finished(layer, ops.matmul(x, layer.kernel))


@layer("Dropout dropout", "rate=0.5 noise_shape=None seed=None name=None", training=True)
def dropout(layer: Any, x: Any, training: Any = False) -> Any:
    """Zeros for random elements, and the others scaled up, when it is for training."""

    def dropped() -> Any:
        shape = layer.noise_shape
        if shape is not None and not is_tensor(shape):
            sizes = ops.shape(x)
            shape = ops.stack([sizes[i] if size is None else size for i, size in enumerate(shape)])
        return in_v1(dropout_v1)(x, rate=layer.rate, noise_shape=shape, seed=layer.seed)

    return chosen(training, dropped, lambda: ops.identity(x))


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """The result of one of two functions; in the graph, if the condition is a tensor."""
    return in_v1(cond)(condition, yes, no) if is_tensor(condition) else yes() if condition else no()


@layer("Flatten flatten", "data_format='channels_last'", order="inputs name data_format")
def flatten(layer: Any, x: Any) -> Any:
    """Each sample as a vector, (batch, elements)."""
    if layer.data_format == "channels_first":
        x = ops.moveaxis(x, 1, -1)
    dims = static_shape(x)
    if None not in dims[1:]:
        return ops.reshape(x, (-1, math.prod(dims[1:])))
    return ops.reshape(x, ops.stack([ops.shape(x)[0], -1]))
