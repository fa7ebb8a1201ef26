"""The normalizations of `tf.contrib.layers`: of batches, samples, channels, lengths, and softmax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail import ops
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, control_dependencies
from dovetail.compat.tensorflow.names.layers.contrib import ENDS, collect, contrib, made, size_of, variable
from dovetail.compat.tensorflow.names.layers.normalization import batch_normalization
from dovetail.compat.tensorflow.names.nn import basics as nn
from dovetail.compat.tensorflow.names.nn.convolution import layout_of
from dovetail.compat.tensorflow.names.variables.initializers import Constant
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.shapes.shape import dims_of

_BATCH_NORM = (
    "inputs decay=0.999 center=True scale=False epsilon=0.001 activation_fn=None param_initializers=None "
    f"param_regularizers=None updates_collections='{GraphKeys.UPDATE_OPS}' is_training=True {ENDS} batch_weights=None "
    "fused=None data_format='NHWC' zero_debias_moving_mean=False scope=None renorm=False renorm_clipping=None "
    "renorm_decay=0.99 adjustment=None"
)
_VARIABLES = ("beta", "gamma", "moving_mean", "moving_variance")
_BatchNormalization = batch_normalization.kind


class _OwnUpdates(_BatchNormalization):  # type: ignore[misc, valid-type]
    """Contrib's own normalization, for updates in other places and for matrices."""

    shapes: ClassVar[Mapping[str, Any]] = {name: _BatchNormalization.shapes[name] for name in _VARIABLES}
    fused_ranks = (2, 4)
    updates = property(lambda self: list(self._updates))


@contrib("batch_norm", "BatchNorm", _BATCH_NORM)
def batch_norm(x: Any, given: Any) -> Any:
    """Normalization of each channel by the batch in training, and by moving averages else.

    The updates of the averages go to `updates_collections`; if that is None, they come before the outputs.
    """
    if given.batch_weights is not None:
        problem = "batch_weights are not offered: all samples of a batch count alike."
        raise op_error(NotImplementedError, "tf.contrib.layers.batch_norm", problem)
    keys = given.updates_collections
    settings: dict[str, Any] = {}
    for kind in ("initializer", "regularizer"):
        settings |= {f"{name}_{kind}": own for name, own in (getattr(given, f"param_{kind}s") or {}).items()}
    is_common = keys == GraphKeys.UPDATE_OPS and not given.zero_debias_moving_mean
    is_common &= len(static_shape(x)) != 2 or given.fused is False
    axis = 1 if layout_of(given.data_format) == "channels_first" else -1
    layer = made(_BatchNormalization if is_common else _OwnUpdates, given, axis=axis, **settings)
    layer.zero_debias = given.zero_debias_moving_mean
    layer.update_keys = [keys] if isinstance(keys, str) else keys or ()
    y = layer(x, training=given.is_training)
    collect(layer, given)
    if keys is not None:
        return y
    with control_dependencies(layer.updates):
        return ops.identity(y)


def _affine(x: Any, given: Any, shape: Any) -> tuple[Any, Any]:
    """The variables `beta` and `gamma`, if they are wanted."""
    first = given.param_initializers or {}
    beta, gamma = (
        variable(name, shape, x, given, first.get(name, initial)) if wanted else None
        for name, initial, wanted in (("beta", "zeros", given.center), ("gamma", "ones", given.scale))
    )
    return beta, gamma


def _normal(x: Any, axes: Any, beta: Any, gamma: Any, epsilon: float, shape: Any = None) -> Any:
    """Inputs with mean 0 and variance 1 over axes, times `gamma`, plus `beta`; both get a shape that broadcasts."""
    mean, variance = ops.moments(x, axes, True)
    beta, gamma = (v if v is None or shape is None else ops.reshape(v, shape) for v in (beta, gamma))
    return in_v1(nn.batch_normalization)(x, mean, variance, beta, gamma, epsilon)


_NORM = f"param_initializers=None {ENDS}"


@contrib(
    "layer_norm",
    "LayerNorm",
    f"inputs center=True scale=True activation_fn=None {ENDS} begin_norm_axis=1 begin_params_axis=-1 scope=None",
)
def layer_norm(x: Any, given: Any) -> Any:
    """Normalization of each sample over its axes from `begin_norm_axis` on."""
    rank = len(static_shape(x))
    for name in ("begin_norm_axis", "begin_params_axis"):
        if getattr(given, name) >= rank:
            raise op_error(ValueError, "tf.contrib.layers.layer_norm", f"{name} must be below the rank {rank}.")
    shape = [size_of(x, axis) for axis in range(rank)[given.begin_params_axis :]]
    return _normal(x, tuple(range(rank))[given.begin_norm_axis :], *_affine(x, given, shape), 1e-12)


@contrib(
    "instance_norm",
    "InstanceNorm",
    f"inputs center=True scale=True epsilon=1e-06 activation_fn=None {_NORM} data_format='NHWC' scope=None",
)
def instance_norm(x: Any, given: Any) -> Any:
    """Normalization of each channel of each sample."""
    rank = len(static_shape(x))
    axis = 1 if layout_of(given.data_format) == "channels_first" else rank - 1
    shape = [1 if i != axis else -1 for i in range(rank)]
    axes = [i for i in range(1, rank) if i != axis]
    return _normal(x, axes, *_affine(x, given, [size_of(x, axis)]), given.epsilon, shape)


@contrib(
    "group_norm",
    "GroupNorm",
    "inputs groups=32 channels_axis=-1 reduction_axes=(-3,-2) center=True scale=True epsilon=1e-06 activation_fn=None "
    f"{_NORM} scope=None mean_close_to_zero=False",
)
def group_norm(x: Any, given: Any) -> Any:
    """Normalization of groups of channels of each sample."""
    rank = len(static_shape(x))
    axis, channels = given.channels_axis % rank, size_of(x, given.channels_axis)
    if channels % given.groups:
        problem = f"{channels} channels do not make {given.groups} groups of one size."
        raise op_error(ValueError, "tf.contrib.layers.group_norm", problem)
    groups, dims = [given.groups, channels // given.groups], dims_of(x)
    parts = ops.reshape(x, (*dims[:axis], *groups, *dims[axis + 1 :]))
    axes = [a + (a > axis) for a in (axis, *(a % rank for a in given.reduction_axes))]
    axes[0] = axis + 1
    shape = [*[1] * axis, *groups, *[1] * (rank - axis - 1)]
    return ops.reshape(_normal(parts, axes, *_affine(x, given, [channels]), given.epsilon, shape), dims)


@contrib("softmax", "softmax", "logits scope=None")
def softmax(x: Any, given: Any) -> Any:
    """Softmax over the last axis."""
    return ops.softmax(x)


@contrib(
    "spatial_softmax",
    "spatial_softmax",
    "features temperature=None name=None variables_collections=None trainable=True data_format='NHWC'",
)
def spatial_softmax(x: Any, given: Any) -> Any:
    """The mean place of each channel, (batch, channels · 2): the rows from -1 to 1, then the columns."""
    x = x if layout_of(given.data_format) == "channels_first" else ops.moveaxis(x, -1, 1)
    _, channels, height, width = dims_of(x)
    first = Constant(1.0 if given.temperature is None else given.temperature)
    temperature = variable("temperature", (), x, given, first)
    share = ops.softmax(ops.divide(ops.reshape(x, (-1, channels, height * width)), temperature))
    share = ops.reshape(share, (-1, channels, height, width))
    places = [_places(size) for size in (height, width)]
    means = [ops.sum(ops.multiply(ops.sum(share, axis), at), -1) for axis, at in zip((3, 2), places, strict=True)]
    return ops.reshape(ops.stack(means, -1), (-1, channels * 2))


def _places(size: Any) -> Any:
    """Numbers from -1 to 1, of a number that may be a tensor."""
    steps = ops.cast(ops.maximum(ops.subtract(size, 1), 1), "float32")
    return ops.subtract(ops.divide(ops.multiply(2.0, ops.cast(ops.arange(size), "float32")), steps), 1.0)


@contrib("unit_norm", "UnitNorm", "inputs dim epsilon=1e-07 scope=None")
def unit_norm(x: Any, given: Any) -> Any:
    """Inputs with the length 1 along an axis."""
    return ops.divide(x, ops.sqrt(ops.add(given.epsilon, ops.sum(ops.square(x), given.dim, True))))
