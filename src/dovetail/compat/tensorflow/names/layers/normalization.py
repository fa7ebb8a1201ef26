"""The layer `batch_normalization`, and moving averages."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.layers.core import chosen
from dovetail.compat.tensorflow.names.layers.rows import HALVES, channel_axis, layer
from dovetail.compat.tensorflow.names.variables.initializers import Zeros
from dovetail.compat.tensorflow.names.variables.variable_scope import get_variable, variable_scope
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import is_tensor, static_shape
from dovetail.core.values.variable import Variable as DovetailVariable

_PARAMETERS = (
    "axis=-1 momentum=0.99 epsilon=0.001 center=True scale=True beta_initializer='zeros' gamma_initializer='ones' "
    "moving_mean_initializer='zeros' moving_variance_initializer='ones' beta_regularizer=None gamma_regularizer=None "
    "beta_constraint=None gamma_constraint=None renorm=False renorm_clipping=None renorm_momentum=0.99 fused=None "
    "trainable=True virtual_batch_size=None adjustment=None name=None"
)
_ORDER = (
    "inputs axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint training "
    "trainable name reuse renorm renorm_clipping renorm_momentum fused virtual_batch_size adjustment"
)
_VECTORS = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), lambda layer, channels: [channels])


@layer("BatchNormalization batch_normalization", _PARAMETERS, order=_ORDER, training=True, **_VECTORS)
def batch_normalization(layer: Any, x: Any, training: Any = False) -> Any:
    """Normalization of each channel by the batch in training, and by moving averages else.

    The updates of the averages are in the collection `tf.GraphKeys.UPDATE_OPS`.
    """
    for setting in ("renorm", "virtual_batch_size", "adjustment"):
        if getattr(layer, setting):
            problem = f"{setting} is not offered: a batch is normalized as a whole, by its own mean and variance."
            raise op_error(NotImplementedError, f"the layer {layer.name!r}", problem)
    rank = len(static_shape(x))
    axis = channel_axis(layer, rank)
    mean, variance = layer.moving_mean, layer.moving_variance
    wide = ops.cast(x, mean.dtype) if layer.dtype in HALVES else x
    if is_tensor(training) or training:
        mean, variance, unbiased = _statistics(layer, wide, training)
        for moving, new in ((layer.moving_mean, mean), (layer.moving_variance, unbiased)):
            layer.add_update(_moved(layer, moving, new, training))
    name = "FusedBatchNormV3" if _is_fused(layer, rank) else "batchnorm/add_1"
    y = ops.batch_normalization(wide, mean, variance, axis, layer.beta, layer.gamma, layer.epsilon, name=name)
    return y if wide is x else ops.cast(y, x.dtype)


def _statistics(layer: Any, x: Any, training: Any) -> list[Any]:
    """The mean and the variance that normalize, and the variance that the moving one nears."""
    rank = len(static_shape(x))
    others = [i for i in range(rank) if i != channel_axis(layer, rank) % rank]
    mean, variance = ops.moments(x, others)
    unbiased = variance
    if _is_fused(layer, rank):  # as in TensorFlow's kernel
        count = ops.cast(ops.prod(ops.stack([ops.shape(x)[i] for i in others])), x.dtype)
        unbiased = ops.multiply(variance, ops.divide(count, ops.maximum(ops.subtract(count, 1), 1)))
    new = [mean, variance, unbiased]
    if not is_tensor(training):
        return new
    old = [layer.moving_mean, layer.moving_variance, layer.moving_variance]
    return [ops.where(training, *pair) for pair in zip(new, old, strict=True)]


def _moved(layer: Any, moving: Any, new: Any, training: Any) -> Any:
    """The update of an average."""
    if moving is layer.moving_mean and getattr(layer, "zero_debias", False):
        move = partial(assign_moving_average, moving, new, layer.momentum)
        return chosen(training, move, moving.read_value)
    return assign_moving_average(moving, new, layer.momentum, zero_debias=False)


@function("python.training.moving_averages.assign_moving_average", "v1", scope=True)
def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Move a variable a little towards a value: variable · decay + value · (1 - decay).

    Args:
        zero_debias: whether an average that began with 0 is scaled up, as in Adam; two more variables count for it.

    Source: `tensorflow.python.training.moving_averages.assign_moving_average`.
    """
    value, rest = ops.cast(value, variable.dtype), ops.subtract(1.0, decay)
    if not zero_debias:
        named = {"name": "AssignMovingAvg"} if isinstance(variable, DovetailVariable) else {}  # not Keras'
        return variable.assign_sub(ops.multiply(ops.subtract(variable, value), rest), **named)
    with variable_scope(variable.op_name):
        options = {"dtype": variable.dtype, "initializer": Zeros(), "trainable": False}
        biased, steps = get_variable("biased", variable.shape, **options), get_variable("local_step", (), **options)
    biased = biased.assign_sub(ops.multiply(ops.subtract(biased, value), rest))
    share = ops.subtract(1.0, ops.power(ops.subtract(1.0, rest), steps.assign_add(1.0)))
    return variable.assign(ops.divide(biased, share), name="AssignMovingAvg")


def _is_fused(layer: Any, rank: int) -> bool:
    """Whether TensorFlow uses its fused kernel."""
    return (
        rank in getattr(layer, "fused_ranks", (4, 5))
        and layer.fused is not False
        and channel_axis(layer, rank) % rank in (1, rank - 1)
    )
