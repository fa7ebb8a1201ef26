"""TensorFlow's names for morphology, for places of maxima, and for normalization by given moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.math.by_type import of_type
from dovetail.compat.tensorflow.names.nn.basics import batch_normalization
from dovetail.compat.tensorflow.table import function, of_rank
from dovetail.core.base.errors import op_error
from dovetail.core.base.windows import spatial
from dovetail.ops.shapes.shape import dims_of, shaped

_argmax, _dilation = of_type("MaxPoolWithArgmax"), of_type("Dilation2D")


@function("nn.max_pool_with_argmax", scope=True)
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = "int64",
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """The largest number of each window, and its place among the numbers of its image.

    Source: `tf.nn.max_pool_with_argmax`.
    """
    if data_format != "NHWC":
        raise op_error(ValueError, "tf.nn.max_pool_with_argmax", f"data_format must be NHWC, not {data_format}.")
    size, steps = (spatial(one, 2, "channels_last") for one in (ksize, strides))
    return tuple(_argmax(of_rank(input, 4), size, steps, padding.lower(), output_dtype, include_batch_in_index))


def _dilated(input: Any, filter: Any, strides: Any, padding: str, data_format: str, rates: Any) -> Any:
    if data_format != "NHWC":
        raise ValueError(f"data_format must be NHWC, not {data_format}.")
    steps, gaps = (spatial(one, 2, "channels_last") for one in (strides, rates))
    return _dilation(of_rank(input, 4), shaped(filter), steps, gaps, padding.lower())


@function("nn.dilation2d", v1="input filter:filters strides rates:dilations padding name filters dilations", scope=True)
def dilation2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The largest sum of each window and a kernel, for each channel.

    Source: `tf.nn.dilation2d`.
    """
    return _dilated(input, filters, strides, padding, data_format, dilations)


@function("nn.erosion2d", v1="value kernel:filters strides rates:dilations padding name", scope=True)
def erosion2d(
    value: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """The smallest difference of each window and a kernel, for each channel.

    Source: `tf.nn.erosion2d`.
    """
    kernel = ops.flip(shaped(filters), (0, 1))
    return ops.negative(_dilated(ops.negative(value), kernel, strides, padding, data_format, dilations))


# -- moments ----------------------------------------------------------------------------------------------------------


@function("nn.sufficient_statistics", v1="x axes shift keep_dims:keepdims name keepdims", scope=True)
def sufficient_statistics(
    x: Any, axes: Sequence[int], shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """How many elements there are along axes, the sums of them and of their squares less a shift, and the shift.

    Source: `tf.nn.sufficient_statistics`.
    """
    x = shaped(x)
    count = ops.prod(ops.stack([ops.cast(dims_of(x)[axis], x.dtype) for axis in axes]))
    moved = x if shift is None else x - shift
    return count, ops.sum(moved, axes, keepdims), ops.sum(ops.square(moved), axes, keepdims), shift


@function("nn.normalize_moments", scope=True)
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance of sufficient statistics.

    Source: `tf.nn.normalize_moments`.
    """
    moved, squares = ops.divide(mean_ss, counts), ops.divide(variance_ss, counts)
    return moved if shift is None else moved + shift, squares - ops.square(moved)


@function("nn.batch_norm_with_global_normalization", "v1")
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Any:
    """Images, normalized by a given mean and variance of each channel.

    Source: `tf.compat.v1.nn.batch_norm_with_global_normalization`.
    """
    x, mean, variance = (old if old is not None else new for old, new in ((t, input), (m, mean), (v, variance)))
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, mean, variance, beta, scale, variance_epsilon, name=name)


# -- losses and layers in one -----------------------------------------------------------------------------------------


@function("nn.log_poisson_loss", v1="targets log_input compute_full_loss name", scope=True)
def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Any:
    """The loss of the logarithm of a Poisson distribution's mean.

    Args:
        compute_full_loss: whether Stirling's approximation of the constant term is added, for targets above 1.

    Source: `tf.nn.log_poisson_loss`.
    """
    targets, log_input = shaped(targets), shaped(log_input)
    loss = ops.exp(log_input) - log_input * targets
    if not compute_full_loss:
        return loss
    safe = ops.where(targets > 1, targets, ops.ones_like(targets))
    stirling = safe * ops.log(safe) - safe + 0.5 * ops.log(6.283185307179586 * safe)
    return loss + ops.where(targets > 1, stirling, ops.zeros_like(targets))


@function("nn.relu_layer", "v1", scope=True)
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """The rectified product of inputs and weights, plus a bias.

    Source: `tf.compat.v1.nn.relu_layer`.
    """
    return ops.relu(ops.bias_add(ops.matmul(x, weights), biases))
