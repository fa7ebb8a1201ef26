"""TensorFlow 1's distributions of classes."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.distributions.numbers import logistic_log_prob, logistic_noise
from dovetail.compat.tensorflow.names.distributions.rows import distribution, event_size, everywhere, in_contrib
from dovetail.core.base.errors import op_error
from dovetail.ops.shapes.shape import dims_of


def _one_of_two(d: Any) -> None:
    if (d.logits is None) == (d.probs is None):
        raise op_error(ValueError, f"tf.distributions.{type(d).__name__}", "give either logits or probs.")


def _bernoulli(d: Any) -> None:
    _one_of_two(d)
    if d.logits is None:
        d.logits = ops.log(d.probs) - ops.log1p(-d.probs)
    else:
        d.probs = ops.sigmoid(d.logits)


def _bernoulli_kl(d: Any, other: Any) -> Any:
    yes = ops.softplus(-other.logits) - ops.softplus(-d.logits)
    no = ops.softplus(other.logits) - ops.softplus(d.logits)
    return d.probs * yes + (1.0 - d.probs) * no


distribution(
    everywhere("Bernoulli"),
    "logits=None probs=None dtype='int32'",
    "logits",
    _bernoulli,
    is_reparameterized=False,
    draw=lambda d, key, shape: ops.cast(ops.less(ops.random.uniform(key, shape), d.probs), d.dtype),
    log_prob=lambda d, x: ops.cast(x, d.logits.dtype) * d.logits - ops.softplus(d.logits),
    mean=lambda d: ops.identity(d.probs),
    mode=lambda d: ops.cast(ops.greater(d.probs, 0.5), d.dtype),
    variance=lambda d: d.probs * (1.0 - d.probs),
    entropy=lambda d: ops.softplus(d.logits) - d.probs * d.logits,
    kl=_bernoulli_kl,
)


def _relaxed_log_prob(d: Any, x: Any) -> Any:
    """The density of the sigmoid of a logistic number."""
    z = d.temperature * (ops.log(x) - ops.log1p(-x)) - d.logits
    return logistic_log_prob(z) + ops.log(d.temperature) - ops.log(x) - ops.log1p(-x)


distribution(
    in_contrib("RelaxedBernoulli"),
    "temperature logits=None probs=None",
    "temperature logits",
    _bernoulli,
    draw=lambda d, key, shape: ops.sigmoid((d.logits + logistic_noise(d, key, shape)) / d.temperature),
    log_prob=_relaxed_log_prob,
    cdf=lambda d, x: ops.sigmoid(d.temperature * (ops.log(x) - ops.log1p(-x)) - d.logits),
)


def _categorical(d: Any) -> None:
    _one_of_two(d)
    d.logits = ops.log(d.probs) if d.logits is None else d.logits
    d.probs = ops.softmax(d.logits) if d.probs is None else d.probs
    d.event_size = dims_of(d.logits)[-1]


def _gumbel(d: Any, key: Any, shape: Any) -> Any:
    return -ops.log(-ops.log(ops.random.uniform(key, shape, 1e-20, 1.0)))


def _categorical_log_prob(d: Any, x: Any) -> Any:
    is_it = ops.equal(ops.expand_dims(ops.cast(x, "int32"), -1), ops.arange(d.event_size))
    return ops.sum(ops.where(is_it, ops.log_softmax(d.logits), 0.0), -1)


def _expected(d: Any, numbers: Any) -> Any:
    return ops.sum(ops.softmax(d.logits) * numbers, -1)


def _categorical_kl(d: Any, other: Any) -> Any:
    return _expected(d, ops.log_softmax(d.logits) - ops.log_softmax(other.logits))


def _categorical_cdf(d: Any, x: Any) -> Any:
    is_below = ops.less(ops.arange(d.event_size), ops.expand_dims(ops.cast(x, "int32"), -1))
    return ops.sum(ops.where(is_below, d.probs, 0.0), -1)


CATEGORICAL: dict[str, Any] = {
    "entropy": lambda d: -_expected(d, ops.log_softmax(d.logits)),
    "kl": _categorical_kl,
}
distribution(
    everywhere("Categorical"),
    "logits=None probs=None dtype='int32'",
    "logits:1",
    _categorical,
    is_reparameterized=False,
    draw=lambda d, key, s: ops.cast(ops.argmax(d.logits + _gumbel(d, key, [*s, d.event_size]), -1), d.dtype),
    log_prob=_categorical_log_prob,
    cdf=_categorical_cdf,
    mode=lambda d: ops.cast(ops.argmax(d.logits, -1), d.dtype),
    **CATEGORICAL,
)


def _one_hot(d: Any, numbers: Any) -> Any:
    return ops.one_hot(ops.argmax(numbers, -1), d.event_size, dtype=d.dtype)


distribution(
    in_contrib("OneHotCategorical"),
    "logits=None probs=None dtype='int32'",
    "logits:1",
    _categorical,
    event_axes=1,
    is_reparameterized=False,
    draw=lambda d, key, shape: _one_hot(d, d.logits + _gumbel(d, key, shape)),
    log_prob=lambda d, x: ops.sum(ops.cast(x, d.logits.dtype) * ops.log_softmax(d.logits), -1),
    mean=lambda d: ops.identity(d.probs),
    mode=lambda d: _one_hot(d, d.logits),
    variance=lambda d: d.probs * (1.0 - d.probs),
    covariance=lambda d: ops.matrix_diag(d.probs) - ops.expand_dims(d.probs, -1) * ops.expand_dims(d.probs, -2),
    **CATEGORICAL,
)


def _relaxed_one_hot_log_prob(d: Any, x: Any) -> Any:
    size, temperature = event_size(d), d.temperature
    z = d.logits - ops.expand_dims(temperature, -1) * ops.log(x)
    norm = ops.lgamma(size) + (size - 1.0) * ops.log(temperature)
    return norm + ops.sum(z, -1) - size * ops.logsumexp(z, -1) - ops.sum(ops.log(x), -1)


def _relaxed_one_hot_draw(d: Any, key: Any, shape: Any) -> Any:
    return ops.softmax((d.logits + _gumbel(d, key, shape)) / ops.expand_dims(d.temperature, -1))


distribution(
    in_contrib("RelaxedOneHotCategorical"),
    "temperature logits=None probs=None",
    "temperature logits:1",
    _categorical,
    event_axes=1,
    draw=_relaxed_one_hot_draw,
    log_prob=_relaxed_one_hot_log_prob,
)
