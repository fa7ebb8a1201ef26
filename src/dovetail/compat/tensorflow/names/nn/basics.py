"""TensorFlow's names for layers of neural networks: activations, dropout, biases, normalisation, embeddings."""

from __future__ import annotations

from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.compat.tensorflow.names.nn.convolution import layout_of
from dovetail.compat.tensorflow.names.random.draws import key_of_draw
from dovetail.compat.tensorflow.table import alike_values, function, of_rank, row
from dovetail.core.base.errors import op_error
from dovetail.core.values.value_kinds import dtype_of, is_tensor
from dovetail.formats.tensorflow.ops import normalization
from dovetail.ops.shapes.shape import shape_of, shaped

# -- activations ------------------------------------------------------------------------------------------------------

row("nn.relu", ops.relu, "features:x")
row("nn.relu6", ops.relu6, "features:x")
row("nn.elu", ops.elu, "features:x")
row("nn.selu", ops.selu, "features:x")
row("nn.softsign", ops.softsign, "features:x")
row("nn.leaky_relu", ops.leaky_relu, "features:x alpha:negative_slope")
softmax = row("nn.softmax", ops.softmax, "logits:x axis", v1="+dim:axis")
row("nn.log_softmax", ops.log_softmax, "logits:x axis", v1="+dim:axis")


@function("nn.gelu")
def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """The Gaussian error linear unit.

    Source: `tf.nn.gelu`.
    """
    return ops.gelu(features, approximate, name=name)


@function("nn.silu nn.swish", scope=True)
def silu(features: Any, beta: Any = 1.0, name: str | None = None) -> Any:
    """x · sigmoid(beta · x).

    Source: `tf.nn.silu`.
    """
    if not is_tensor(beta) and beta == 1.0:
        return ops.silu(features)
    return ops.multiply(features, ops.sigmoid(ops.multiply(beta, features)))


def _crelu(features: Any, axis: int = -1, name: str | None = None) -> Any:
    return ops.relu(ops.concatenate([features, ops.negative(features)], int(axis)), name=name)


row("nn.crelu", _crelu, "features axis", v1="features name axis")


@function("nn.dropout", "v2", scope=True)
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """A tensor with zeros for random elements, and with the other elements scaled up.

    Source: `tf.nn.dropout`.
    """
    if not is_tensor(rate) and rate == 0:
        return ops.identity(x)
    return K.dropout(x, rate, noise_shape, _key_of_dropout(x, rate, noise_shape, seed))


@function("nn.dropout", "v1", scope=True)
def dropout_v1(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None = None, rate: Any = None
) -> Any:
    """A tensor with zeros for random elements; `keep_prob` is the chance of the others.

    Source: `tf.compat.v1.nn.dropout`.
    """
    if (keep_prob is None) == (rate is None):
        raise op_error(ValueError, "tf.nn.dropout", "it needs keep_prob or rate, and only one of them.")
    if rate is not None:
        return dropout(x, rate, noise_shape, seed)
    if not is_tensor(keep_prob):
        return dropout(x, 1 - keep_prob, noise_shape, seed)
    x, keep_prob = shaped(x), ops.reshape(keep_prob, ())
    key = _key_of_dropout(x, keep_prob, noise_shape, seed)
    noise = ops.random.uniform(key, shape_of(x) if noise_shape is None else noise_shape, dtype=dtype_of(x))
    return ops.where(ops.less(noise, 1 - keep_prob), ops.zeros_like(x), ops.divide(x, keep_prob))


def _key_of_dropout(x: Any, rate: Any, noise_shape: Any, seed: Any) -> Any:
    return key_of_draw("nn.dropout", seed, dtype_of(x), x, rate, () if noise_shape is None else noise_shape)


# -- biases, normalisation, embeddings --------------------------------------------------------------------------------


@function("nn.bias_add")
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """A tensor, with a number added for each channel.

    Source: `tf.nn.bias_add`.
    """
    value, bias = alike_values([value, bias])
    return ops.bias_add(value, bias, layout_of(data_format), name=name)


def _moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    return tuple(ops.moments(x, axes, bool(keepdims), name=name))


row("nn.moments", _moments, "x axes shift keepdims", v1="x axes shift name keep_dims:keepdims keepdims")


@function("nn.batch_normalization", scope="batchnorm")
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Any:
    """Normalisation with a mean and a variance that broadcast.

    Source: `tf.nn.batch_normalization`.
    """
    factor = ops.rsqrt(ops.add(variance, variance_epsilon))
    if scale is not None:
        factor = ops.multiply(factor, scale)
    shift = ops.negative(ops.multiply(mean, factor))
    return ops.add(ops.multiply(x, factor), shift if offset is None else ops.add(offset, shift))


@function("nn.fused_batch_norm", "v1", scope=True)
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Images, normalised by a mean and a variance: their own in training, else the given ones.

    Returns:
        The images; the mean and the unbiased variance, which in training are averages with the given ones, by a factor.

    Source: `tf.compat.v1.nn.fused_batch_norm`.
    """
    x, scale = of_rank(x, 4), shaped(scale)
    layout = layout_of(data_format)
    result, *own = normalization.batch_norm(x, scale, offset, mean, variance, layout, epsilon, is_training)[:3]
    if is_training and exponential_avg_factor != 1.0:
        pairs = zip((mean, variance), own, strict=True)
        own = [old * (1.0 - exponential_avg_factor) + new * exponential_avg_factor for old, new in pairs]
    return result, own[0], own[1]


def _weighted_moments(x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False) -> tuple[Any, Any]:
    axes = tuple(axes) if isinstance(axes, (list, tuple)) else axes
    x, weights = alike_values([x, frequency_weights])
    weights = ops.multiply(weights, ops.ones_like(x))
    total = ops.sum(weights, axes, True)
    mean = ops.sum(weights * x, axes, True) / total
    variance = ops.sum(weights * ops.square(x - mean), axes, True) / total
    return (mean, variance) if keepdims else (ops.squeeze(mean, axes), ops.squeeze(variance, axes))


row(
    "nn.weighted_moments",
    _weighted_moments,
    "x axes frequency_weights keepdims",
    v1="x axes frequency_weights name keep_dims:keepdims keepdims",
)


@function("nn.lrn nn.local_response_normalization", scope=True)
def lrn(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Any:
    """Normalisation by the neighbouring channels.

    Source: `tf.nn.local_response_normalization`.
    """
    return normalization.local_response(of_rank(input, 4), depth_radius, bias, alpha, beta)
