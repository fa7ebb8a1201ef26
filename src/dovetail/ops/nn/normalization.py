"""Normalization: statistics, and tensors brought to mean 0 and variance 1 by batch, layer or group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.domains import NotNegative
from dovetail.core.base.windows import DataFormat, data_format_of
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import Axes
from dovetail.core.kinds import Float, MaybeFloat, Number
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise, require_shape
from dovetail.core.values.shapes import normalize_axes, normalize_axis, reduced_shape
from dovetail.core.values.spec import RankedSpec, TensorSpec
from dovetail.core.values.value_kinds import static_shape
from dovetail.ops.math.arithmetic import square
from dovetail.ops.math.compare import maximum
from dovetail.ops.math.exponential import rsqrt
from dovetail.ops.math.reduce import count_along, mean, restore_axes, sum
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import cast, dims_of, narrow, reshape, shaped, wide


def _other_axes(x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(len(x.shape)) if i not in axes)


def _along(v: Any, x: Any, axes: Sequence[int]) -> Any:
    """A tensor with the named axes of `x`, reshaped to broadcast against `x`."""
    dims = dims_of(x)
    return reshape(v, [dims[i] if i in axes else 1 for i in range(len(dims))])


# -- bias -------------------------------------------------------------------------------------------------------------


def _bias_spec(x: RankedSpec, bias: RankedSpec, data_format: str) -> TensorSpec:
    if len(bias.shape) != 1:
        raise ValueError(f"the bias must have rank 1, a number for each channel, but its shape is {bias.shape}.")
    if len(x.shape) < 2:
        raise ValueError(f"x must have rank 2 or more, but its shape is {x.shape}.")
    channels = x.shape[-1 if data_format == "channels_last" else 1]
    if None not in (channels, bias.shape[0]) and channels != bias.shape[0]:
        raise ValueError(f"the bias has {bias.shape[0]} elements for {channels} channels.")
    return x


@composite(
    "BiasAdd",
    cost="reduction",
    infer=_bias_spec,
    samples=[
        sample(array(2, 3), array(3), "channels_last"),
        sample(array(2, 3, 2), array(3), "channels_first"),
        sample(array(0, 2, 3), array(3), "channels_last"),
    ],
)
def _bias_add(x: Number, bias: Number, data_format: DataFormat) -> Tensor:
    """Add a number for each channel; see `bias_add`, which fills in the default."""
    return x + (bias if data_format == "channels_last" else _along(bias, x, (1,)))


@_bias_add.gradient
def _(op: Any, g: Any) -> Any:
    channel = len(g.shape) - 1 if op.attr("data_format") == "channels_last" else 1
    return g, sum(g, _other_axes(g, (channel,)))


@checked
def bias_add(x: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Add a number for each channel to all its elements.

    Args:
        x: (batch, ..., channels), or (batch, channels, ...) if channels come first.
        bias: (channels,).
        data_format: "channels_last" or "channels_first"; `config.image_data_format()` if not given.
        name: the name of the node in a graph.

    Source: `tf.nn.bias_add`.

    Example:
        >>> bias_add([[1., 2.]], [10., 20.]).numpy()
        array([[11., 22.]], dtype=float32)
    """
    return _bias_add(x, bias, data_format_of(data_format), name=name)


# -- statistics -------------------------------------------------------------------------------------------------------


def _moments_spec(x: TensorSpec, axes: Any, keepdims: bool = False) -> list[TensorSpec]:
    return [TensorSpec(reduced_shape(x.shape, axes, keepdims), x.dtype)] * 2


@composite(
    "Moments",
    cost="reduction",
    infer=_moments_spec,
    samples=[sample(array(3, 4), None), sample(array(3, 2, 2), (0, -1), keepdims=True), sample(array(3, 4), 0)],
)
def moments(x: Float, axes: Axes, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes.

    Args:
        x: a tensor of floats.
        axes: an axis, several, or None for all.
        keepdims: whether the reduced axes stay, with size 1.

    Returns:
        The mean, and the mean of the squared distances from it.

    Source: `tf.nn.moments`.

    Example:
        >>> [float(t) for t in moments([1., 3.], 0)]
        [2.0, 1.0]
    """
    center = mean(x, axes, keepdims=True)
    variance = mean(square(x - center), axes, keepdims)
    return center if keepdims else reshape(center, dims_of(variance)), variance


@moments.gradient
def _(op: Any, g_mean: Any, g_variance: Any) -> Any:
    given, axes, keepdims = op.args
    x = wide(given)
    count = cast(count_along(x, axes), x.dtype)
    center, g_mean, g_variance = [restore_axes(wide(t), x, axes, keepdims) for t in (op.outputs[0], g_mean, g_variance)]
    return narrow(g_mean / count + (x - center) * (g_variance * 2 / count), given)


# -- batch ------------------------------------------------------------------------------------------------------------


def _batch_norm_spec(x: RankedSpec, mean: RankedSpec, variance: RankedSpec, *rest: Any) -> TensorSpec:
    offset, scale, axis, _ = rest
    channels = x.shape[normalize_axis(axis, len(x.shape))]
    for v in (mean, variance, offset, scale):
        if v is not None:
            require_shape(v, (channels,))
    return x


_STATISTICS = [array(3), array(3, low=0.5)]


@composite(
    "BatchNormalization",
    cost="reduction",
    infer=_batch_norm_spec,
    samples=[
        sample(array(4, 3), *_STATISTICS, array(3), array(3), -1, 0.001),
        sample(array(2, 3, 2), *_STATISTICS, None, array(3), 1, 0.1),
        sample(array(2, 3), *_STATISTICS, array(3), None, 1, 0.1),
        sample(array(2, 2, 2, 3), *_STATISTICS, None, None, 3, 0.001),
    ],
)
def _batch_norm(
    x: Float, mean: Float, variance: Float, offset: MaybeFloat, scale: MaybeFloat, axis: int, epsilon: float
) -> Tensor:
    """See `batch_normalization`."""
    channel = (normalize_axis(axis, len(x.shape)),)
    factor = rsqrt(variance + epsilon)
    factor = factor if scale is None else factor * scale
    y = (x - _along(mean, x, channel)) * _along(factor, x, channel)
    return y if offset is None else y + _along(offset, x, channel)


@_batch_norm.gradient
def _(op: Any, g: Any) -> Any:
    x, center, variance, offset, scale, axis, epsilon = op.args
    channel = (normalize_axis(axis, len(x.shape)),)
    inverse = rsqrt(variance + epsilon)
    factor = inverse if scale is None else inverse * scale
    total = sum(g, _other_axes(x, channel))
    projected = sum(g * (x - _along(center, x, channel)), _other_axes(x, channel))
    gradients = [g * _along(factor, x, channel), -(total * factor), projected * factor * inverse * inverse * -0.5]
    return gradients + [total] * (offset is not None) + [projected * inverse] * (scale is not None)


@checked
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: int = -1,
    offset: Any = None,
    scale: Any = None,
    epsilon: float = 1e-3,
    name: str | None = None,
) -> Any:
    """Normalization of each channel with a given mean and variance.

    Args:
        x: a tensor of floats.
        mean, variance: (channels,); the results of `moments` in training, and averages of them later.
        axis: the axis of the channels.
        offset, scale: (channels,); if given, `scale` multiplies the normalized values, and `offset` is added then.
        epsilon: added to the variance, so that it is not 0.
        name: the name of the node in a graph.

    Source: `keras.ops.batch_normalization`; Ioffe and Szegedy, "Batch normalization", 2015.

    Example:
        >>> batch_normalization([[1.], [3.]], [2.], [4.], epsilon=0.).numpy().reshape(-1)
        array([-0.5,  0.5], dtype=float32)
    """
    return _batch_norm(x, mean, variance, offset, scale, axis, epsilon, name=name)


# -- layer, group -----------------------------------------------------------------------------------------------------


def _layer_norm_spec(x: RankedSpec, gamma: Any, beta: Any, axis: Any = -1, epsilon: float = 1e-3) -> TensorSpec:
    wanted = tuple(x.shape[a] for a in normalize_axes(axis, len(x.shape)))
    for v in (gamma, beta):
        if v is not None:
            require_shape(v, wanted)
    return x


@composite(
    "LayerNormalization",
    cost="reduction",
    infer=_layer_norm_spec,
    samples=[
        sample(array(3, 4), array(4), array(4), tolerance=1e-4),
        sample(array(2, 3, 2), array(3, 2), None, (1, -1), tolerance=1e-4),
        sample(array(2, 3, 2), None, array(3), 1, 0.1, tolerance=1e-4),
        sample(array(2, 4), None, None, tolerance=1e-4),
    ],
)
def layer_normalization(
    x: Float, gamma: MaybeFloat = None, beta: MaybeFloat = None, axis: Axes = -1, epsilon: NotNegative = 1e-3
) -> Tensor:
    """Normalization of each sample over its own axes.

    Args:
        x: a tensor of floats.
        gamma, beta: if given, `gamma` multiplies the normalized values, and `beta` is added then; of the shape of the
            axes.
        axis: the axis, or several, over which mean and variance are taken.
        epsilon: added to the variance, so that it is not 0.

    Source: `keras.ops.layer_normalization`; Ba et al., "Layer normalization", 2016.

    Example:
        >>> layer_normalization([[1., 3.]], epsilon=0.).numpy()
        array([[-1.,  1.]], dtype=float32)
    """
    axes = normalize_axes(axis, len(x.shape))
    y, _ = _standardized(x, axes, epsilon)
    y = y if gamma is None else y * _along(gamma, x, axes)
    return y if beta is None else y + _along(beta, x, axes)


def _standardized(x: Any, axes: Sequence[int], epsilon: float) -> tuple[Any, Any]:
    """`x` with mean 0 and variance 1 over axes, and the factor that made the variance 1."""
    centered = x - mean(x, axes, keepdims=True)
    factor = rsqrt(mean(square(centered), axes, keepdims=True) + epsilon)
    return centered * factor, factor


@layer_normalization.gradient
def _(op: Any, g: Any) -> Any:
    x, gamma, beta, axis, epsilon = op.args
    axes = normalize_axes(axis, len(x.shape))
    dx, dgamma = layer_normalization_grad(g, x, gamma, axes, epsilon)
    return [dx] + [dgamma] * (gamma is not None) + [sum(g, _other_axes(x, axes))] * (beta is not None)


def _layer_norm_grad_spec(g: Any, x: RankedSpec, gamma: Any, axis: Any, epsilon: float) -> list[TensorSpec]:
    _layer_norm_spec(x, gamma, None, axis)
    shape = tuple(x.shape[a] for a in normalize_axes(axis, len(x.shape)))
    return [elementwise(g, x), TensorSpec(shape, x.dtype)]


@composite(
    "LayerNormalizationGrad",
    cost="reduction",
    infer=_layer_norm_grad_spec,
    samples=[
        sample(array(3, 4), array(3, 4), array(4), (1,), 0.001, tolerance=1e-4),
        sample(array(2, 3, 2), array(2, 3, 2), None, (1,), 0.1, tolerance=1e-4),
    ],
)
def layer_normalization_grad(g: Float, x: Float, gamma: MaybeFloat, axis: Axes, epsilon: float) -> tuple[Tensor, ...]:
    """The gradients of `layer_normalization` by `x` and by `gamma` where `g` arrives at its output.

    Source: Ba et al., 2016.

    Example:
        >>> dx, dgamma = layer_normalization_grad([[1., 3.]], [[1., 3.]], None, -1, 0.)
        >>> dx.numpy(), dgamma.numpy()
        (array([[0., 0.]], dtype=float32), array([-1.,  3.], dtype=float32))
    """
    axes = normalize_axes(axis, len(x.shape))
    y, factor = _standardized(x, axes, epsilon)
    arriving = g if gamma is None else g * _along(gamma, x, axes)
    along_y = y * mean(arriving * y, axes, keepdims=True)
    dx = (arriving - mean(arriving, axes, keepdims=True) - along_y) * factor
    return dx, sum(g * y, _other_axes(x, axes))


@checked
def group_normalization(
    x: Any, groups: int, gamma: Any = None, beta: Any = None, axis: int = -1, epsilon: NotNegative = 1e-3
) -> Any:
    """Normalization of each sample over groups of channels and all other axes except the batch.

    Args:
        x: (batch, ...), a tensor of floats.
        groups: the number of groups into which the channels are split.
        gamma, beta: (channels,); if given, `gamma` multiplies the normalized values, and `beta` is added then.
        axis: the axis of the channels.
        epsilon: added to the variance, so that it is not 0.

    Raises:
        ValueError: the number of groups does not divide the number of channels.

    Source: Wu and He, "Group normalization", 2018.

    Example:
        >>> group_normalization([[1., 3., 10., 30.]], 2, epsilon=0.).numpy()
        array([[-1.,  1., -1.,  1.]], dtype=float32)
    """
    x = shaped(x)
    channel = normalize_axis(axis, len(static_shape(x)))
    dims = dims_of(x)
    if isinstance(dims[channel], int) and dims[channel] % groups:
        raise ValueError(f"{dims[channel]} channels cannot be split into {groups} groups.")
    grouped = reshape(x, (*dims[:channel], groups, -1, *dims[channel + 1 :]))
    axes = tuple(i for i in range(1, len(dims) + 1) if i != channel)
    y = reshape(layer_normalization(grouped, None, None, axes, epsilon), dims)
    y = y if gamma is None else y * _along(gamma, x, (channel,))
    return y if beta is None else y + _along(beta, x, (channel,))


# -- length -----------------------------------------------------------------------------------------------------------


@composite(
    "RmsNormalization",
    cost="reduction",
    samples=[sample(array(3, 4), array(4)), sample(array(2, 3, 2), array(3, 2), (1, 2)), sample(array(2, 3))],
)
def rms_normalization(x: Float, scale: MaybeFloat = None, axis: Axes = -1, epsilon: NotNegative = 1e-7) -> Tensor:
    """Division by the root of the mean square over axes.

    Args:
        x: a tensor of floats.
        scale: the factor of the normalized values, if given; of the shape of the axes, or a scalar.
        axis: the axis, or several, over which the mean is taken.
        epsilon: added to the mean square, so that it is not 0.

    Source: `keras.ops.rms_normalization`; Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Example:
        >>> rms_normalization([[3., -3.]]).numpy()
        array([[ 1., -1.]], dtype=float32)
    """
    axes = normalize_axes(axis, len(x.shape))
    y = x * rsqrt(mean(square(x), axes, keepdims=True) + epsilon)
    return y if scale is None else y * (_along(scale, x, axes) if scale.shape else scale)


@composite(
    "L2Normalize",
    cost="reduction",
    samples=[sample(array(3, 4)), sample(array(2, 3, 2), (0, -1)), sample(array(2, 3), None)],
)
def l2_normalize(x: Float, axis: Axes = -1, epsilon: NotNegative = 1e-12) -> Tensor:
    """Division by the Euclidean length along axes; zeros stay zeros.

    Args:
        x: a tensor of floats.
        axis: the axis, several, or None for all.
        epsilon: the least square of a length that is divided by.

    Source: `tf.math.l2_normalize`.

    Example:
        >>> l2_normalize([3., 4.]).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    return x * rsqrt(maximum(sum(square(x), axis, keepdims=True), epsilon))
