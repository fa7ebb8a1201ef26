"""TensorFlow's names of neural networks: activations, convolutions, pooling, normalisation, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.compat.tensorflow.table import alike_values, function, row
from dovetail.core.errors import op_error
from dovetail.core.value_kinds import dtype_of, is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of

# -- activations ------------------------------------------------------------------------------------------------------

row("nn.relu", ops.relu, "features:x")
row("nn.relu6", ops.relu6, "features:x")
row("nn.elu", ops.elu, "features:x")
row("nn.selu", ops.selu, "features:x")
row("nn.softsign", ops.softsign, "features:x")
row("nn.leaky_relu", ops.leaky_relu, "features:x alpha:negative_slope")
row("nn.softmax", ops.softmax, "logits:x axis", v1="+dim:axis")
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
    """Zero for some elements, chosen at random, and more of the others.

    Source: `tf.nn.dropout`.
    """
    return ops.identity(x) if not is_tensor(rate) and rate == 0 else K.dropout(x, rate, noise_shape, seed)


@function("nn.dropout", "v1", scope=True)
def dropout_v1(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None = None, rate: Any = None
) -> Any:
    """Zero for some elements, chosen at random; the chance to stay may be given.

    Source: `tf.compat.v1.nn.dropout`.
    """
    if (keep_prob is None) == (rate is None):
        raise op_error(ValueError, "tf.nn.dropout", "it needs keep_prob or rate, and only one of them.")
    if rate is not None:
        return dropout(x, rate, noise_shape, seed)
    if not is_tensor(keep_prob):
        return dropout(x, 1 - keep_prob, noise_shape, seed)
    noise = K.random_uniform(ops.shape(x) if noise_shape is None else noise_shape, dtype=dtype_of(x), seed=seed)
    return ops.where(ops.less(noise, keep_prob), ops.divide(x, keep_prob), ops.zeros_like(x))


# -- windows ----------------------------------------------------------------------------------------------------------


def _per_axis(title: str, numbers: Any, rank: int, channels_first: bool) -> list[int]:
    """A number for each spatial axis, of one for all of them, of those, or of one for every axis."""
    numbers = [numbers] if not isinstance(numbers, (list, tuple)) and not hasattr(numbers, "__len__") else numbers
    numbers = [int(n) for n in numbers]
    if len(numbers) == 1:
        return numbers * rank
    if len(numbers) == rank + 2:
        around = (numbers[0], numbers[1] if channels_first else numbers[-1])
        if around != (1, 1):
            raise op_error(ValueError, f"tf.{title}", f"nothing moves along the batch and the channels: {numbers}.")
        return numbers[2:] if channels_first else numbers[1:-1]
    if len(numbers) != rank:
        raise op_error(ValueError, f"tf.{title}", f"it needs one number, {rank} or {rank + 2}, not {numbers}.")
    return numbers


def _layout(title: str, data_format: str | None) -> str:
    """Dovetail's word for TensorFlow's, "NHWC" or "NCHW"."""
    if data_format is None or (data_format.startswith("N") and data_format.endswith("C")):
        return "channels_last"
    if data_format.startswith("NC"):
        return "channels_first"
    raise op_error(ValueError, f"tf.{title}", f"a data_format is as NHWC or as NCHW, not {data_format!r}.")


def _window(
    title: str, rank: int, strides: Any, padding: Any, data_format: str | None, dilations: Any = None
) -> dict[str, Any]:
    """The window of a convolution in Dovetail's words."""
    layout = _layout(title, data_format)
    first = layout == "channels_first"
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise op_error(ValueError, f"tf.{title}", f"padding is SAME, VALID or a list of pairs, not {padding!r}.")
        pads: Any = padding.lower()
    else:
        pads = [tuple(pair) for pair in (padding[2:] if first else padding[1:-1])]
    found = {"strides": _per_axis(title, strides, rank, first), "padding": pads, "data_format": layout}
    return found if dilations is None else found | {"dilation_rate": _per_axis(title, dilations, rank, first)}


def _convolution(title: str, rank: int, x: Any, filters: Any, window: Any, name: str | None) -> Any:
    for tensor, wanted in ((x, rank + 2), (filters, rank + 2)):
        if len(static_shape(ops.convert(tensor))) != wanted:
            given = static_shape(ops.convert(tensor))
            raise op_error(ValueError, f"tf.{title}", f"input and filters have {wanted} axes, not {given}.")
    x, filters = alike_values([x, filters])
    return ops.conv(x, filters, name=name, **window)


@function("nn.conv1d", "v2")
def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over steps.

    Source: `tf.nn.conv1d`.
    """
    window = _window("nn.conv1d", 1, stride, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv1d", 1, input, filters, window, name)


@function("nn.conv1d", "v1")
def conv1d_v1(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: Any = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Any:
    """Convolution over steps.

    Source: `tf.compat.v1.nn.conv1d`.
    """
    layout = {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format or "", data_format)
    return conv1d(input if value is None else value, filters, stride, padding, layout, dilations, name)


@function("nn.conv2d", "v2")
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over images.

    Source: `tf.nn.conv2d`.
    """
    window = _window("nn.conv2d", 2, strides, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv2d", 2, input, filters, window, name)


@function("nn.conv2d", "v1")
def conv2d_v1(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Convolution over images.

    Source: `tf.compat.v1.nn.conv2d`.
    """
    return conv2d(input, filters if filter is None else filter, strides, padding, data_format, dilations, name)


@function("nn.conv3d", "v2")
def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolution over volumes.

    Source: `tf.nn.conv3d`.
    """
    window = _window("nn.conv3d", 3, strides, padding, data_format, 1 if dilations is None else dilations)
    return _convolution("nn.conv3d", 3, input, filters, window, name)


@function("nn.conv3d", "v1")
def conv3d_v1(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Convolution over volumes.

    Source: `tf.compat.v1.nn.conv3d`.
    """
    return conv3d(input, filters if filter is None else filter, strides, padding, data_format, dilations, name)


def _transposed(title: str, rank: int) -> Callable[..., Any]:
    def transposed(
        input: Any,
        filters: Any,
        output_shape: Any,
        strides: Any,
        padding: Any = "SAME",
        data_format: str | None = None,
        dilations: Any = None,
        name: str | None = None,
    ) -> Any:
        window = _window(title, rank, strides, padding, data_format, 1 if dilations is None else dilations)
        shape = output_shape if is_tensor(output_shape) else list(output_shape)
        return ops.conv_transpose(input, filters, output_shape=shape, name=name, **window)

    return transposed


_TRANSPOSED = "input filters output_shape strides padding data_format dilations"
for _rank in (2, 3):
    row(
        f"nn.conv{_rank}d_transpose",
        _transposed(f"nn.conv{_rank}d_transpose", _rank),
        _TRANSPOSED,
        v1="value:input filter:filters output_shape strides padding data_format name input filters dilations",
    )


def _depthwise(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    title = "nn.depthwise_conv2d"
    window = _window(title, 2, strides, padding, data_format, 1 if dilations is None else dilations)
    return ops.depthwise_conv(input, filter, name=name, **window)


row(
    "nn.depthwise_conv2d",
    _depthwise,
    "input filter strides padding data_format dilations",
    v1="input filter strides padding rate:dilations name data_format dilations",
)
row("nn.depthwise_conv2d_native", _depthwise, "input filter strides padding data_format dilations")


def _separable(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: Any = None,
) -> Any:
    title = "nn.separable_conv2d"
    window = _window(title, 2, strides, padding, data_format, 1 if dilations is None else dilations)
    return ops.separable_conv(input, depthwise_filter, pointwise_filter, name=name, **window)


row(
    "nn.separable_conv2d",
    _separable,
    "input depthwise_filter pointwise_filter strides padding data_format dilations",
    v1="input depthwise_filter pointwise_filter strides padding rate:dilations name data_format dilations",
)


@function("nn.atrous_conv2d")
def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Any:
    """Convolution with gaps between the elements of the window.

    Source: `tf.nn.atrous_conv2d`.
    """
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


def _pool(title: str, rank: int | None, pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
    ) -> Any:
        axes = len(static_shape(ops.convert(input))) - 2 if rank is None else rank
        window = _window(title, axes, strides, padding, data_format)
        size = _per_axis(title, ksize, axes, window["data_format"] == "channels_first")
        return pool(input, size, name=name, **window)

    return pooled


_POOL = "input ksize strides padding data_format"
for _name, _op in {"max_pool": ops.max_pool, "avg_pool": ops.average_pool}.items():
    row(f"nn.{_name}", _pool(f"nn.{_name}", None, _op), _POOL, v1=f"value:{_POOL} name input")
    for _rank in (1, 2, 3):
        title = f"nn.{_name}{_rank}d"
        row(title, _pool(title, _rank, _op), _POOL)

# -- biases, normalisation, embeddings --------------------------------------------------------------------------------


@function("nn.bias_add")
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """A number for each channel, added.

    Source: `tf.nn.bias_add`.
    """
    value, bias = alike_values([value, bias])
    return ops.bias_add(value, bias, _layout("nn.bias_add", data_format), name=name)


def _moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    return tuple(ops.moments(x, axes, bool(keepdims), name=name))


row("nn.moments", _moments, "x axes shift keepdims", v1="x axes shift name keep_dims:keepdims keepdims")


@function("nn.batch_normalization", scope=True)
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


@function("nn.lrn nn.local_response_normalization", scope=True)
def lrn(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Any:
    """Normalisation by the neighbouring channels.

    Source: `tf.nn.local_response_normalization`.
    """
    squares = ops.pad(ops.square(input), [(0, 0)] * 3 + [(depth_radius, depth_radius)])
    count = dims_of(ops.convert(input))[-1]
    windows = [squares[..., start : count + start] for start in range(2 * depth_radius + 1)]
    total = windows[0]
    for window in windows[1:]:
        total = ops.add(total, window)
    return ops.divide(input, ops.power(ops.add(bias, ops.multiply(alpha, total)), beta))


def _embedding(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Any:
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            problem = "a table in several parts is not offered; tf.concat makes one of them."
            raise op_error(NotImplementedError, "tf.nn.embedding_lookup", problem)
        params = params[0]
    found = ops.gather(params, ids)
    if max_norm is not None:
        axes = list(range(len(static_shape(ops.convert(ids))), len(static_shape(found))))
        norm = ops.sqrt(ops.sum(ops.square(found), axes, True))
        found = ops.multiply(found, ops.divide(max_norm, ops.maximum(norm, max_norm)))
    return found


row(
    "nn.embedding_lookup",
    _embedding,
    "params ids max_norm",
    v1="params ids partition_strategy:unused name validate_indices:unused max_norm",
)

# -- losses -----------------------------------------------------------------------------------------------------------


def _both(title: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise op_error(ValueError, f"tf.{title}", "it needs both labels and logits, by name.")


@function("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of independent classes.

    Source: `tf.nn.sigmoid_cross_entropy_with_logits`.
    """
    _both("nn.sigmoid_cross_entropy_with_logits", labels, logits)
    labels, logits = alike_values([labels, logits])
    if static_shape(ops.convert(labels)) != static_shape(ops.convert(logits)):
        known = [static_shape(ops.convert(v)) for v in (labels, logits)]
        if None not in (*known[0], *known[1]):
            problem = f"labels and logits must have one shape, not {known[0]} and {known[1]}."
            raise op_error(ValueError, "tf.nn.sigmoid_cross_entropy_with_logits", problem)
    return ops.sigmoid_cross_entropy_with_logits(labels, logits, name=name)


@function("nn.weighted_cross_entropy_with_logits", scope=True)
def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Any:
    """The cross-entropy of independent classes, of which what is there weighs more.

    Source: `tf.nn.weighted_cross_entropy_with_logits`.
    """
    labels = targets if labels is None else labels
    _both("nn.weighted_cross_entropy_with_logits", labels, logits)
    weight = ops.add(1.0, ops.multiply(ops.subtract(pos_weight, 1.0), labels))
    absent = ops.multiply(ops.subtract(1.0, labels), logits)
    small = ops.log1p(ops.exp(ops.negative(ops.absolute(logits))))
    return ops.add(absent, ops.multiply(weight, ops.add(small, ops.relu(ops.negative(logits)))))


@function("nn.softmax_cross_entropy_with_logits", "v2")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other.

    Source: `tf.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    return ops.softmax_cross_entropy_with_logits(*alike_values([labels, logits]), axis=int(axis), name=name)


@function("nn.softmax_cross_entropy_with_logits", "v1")
def softmax_cross_entropy_with_logits_v1(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Any:
    """The cross-entropy of classes that exclude each other; no gradient goes to the labels.

    Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`.
    """
    _both("nn.softmax_cross_entropy_with_logits", labels, logits)
    return softmax_cross_entropy_with_logits(ops.stop_gradient(labels), logits, dim if axis is None else axis, name)


@function("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Any:
    """The cross-entropy of classes that exclude each other.

    Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2`.
    """
    place = next((place for place in (axis, dim) if place is not None), -1)
    return softmax_cross_entropy_with_logits(labels, logits, place, name)


@function("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Any:
    """The cross-entropy of classes that exclude each other, by their numbers.

    Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`.
    """
    _both("nn.sparse_softmax_cross_entropy_with_logits", labels, logits)
    return ops.sparse_softmax_cross_entropy_with_logits(labels, logits, name=name)


@function("nn.l2_loss", scope=True)
def l2_loss(t: Any, name: str | None = None) -> Any:
    """Half the sum of the squares.

    Source: `tf.nn.l2_loss`.
    """
    return ops.divide(ops.sum(ops.square(t)), 2.0)


@function("nn.zero_fraction math.zero_fraction", scope=True)
def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Which part of the elements is zero.

    Source: `tf.math.zero_fraction`.
    """
    return ops.mean(ops.cast(ops.equal(value, 0), "float32"))


row("math.in_top_k nn.in_top_k", ops.in_top_k, "targets predictions k", v1="predictions targets k name")


@function("nn.ctc_loss", "v2", scope=True)
def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Any:
    """Minus the logarithm of the probability of labels, over all ways to align them; the labels are dense.

    Source: `tf.nn.ctc_loss`.
    """
    if label_length is None or hasattr(labels, "dense_shape"):
        problem = "sparse labels are not offered: give dense ones, and label_length."
        raise op_error(NotImplementedError, "tf.nn.ctc_loss", problem)
    scores = ops.swapaxes(logits, 0, 1) if logits_time_major else logits
    return ops.ctc_loss(labels, scores, label_length, logit_length, 0 if blank_index is None else int(blank_index))


@function("nn.xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """x · weights + biases.

    Source: `tf.compat.v1.nn.xw_plus_b`.
    """
    return ops.bias_add(ops.matmul(x, weights), biases, "channels_last", name=name)
