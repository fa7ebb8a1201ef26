"""TensorFlow 1's distributions: a row says the parameters of one, and computes its numbers from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.random import key_of_draw
from dovetail.compat.tensorflow.table import function, signature_of, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.ops.shapes.shape import dims_of


class Distribution:
    """The base of distributions, whose parameters are attributes.

    Attributes:
        name: its name.
        dtype: of its samples.

    Source: `tf.compat.v1.distributions.Distribution`.
    """

    name: str
    dtype: Any
    kind: str
    rules: dict[str, Callable[..., Any]]

    def _by(self, rule: str, *given: Any) -> Any:
        if rule not in self.rules:
            raise op_error(NotImplementedError, f"tf.distributions.{self.kind}", f"it has no {rule}.")
        return self.rules[rule](self, *given)

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Any:
        """Draw samples: a tensor of this shape of each distribution."""
        shape = [*sample_shape] if hasattr(sample_shape, "__iter__") else [sample_shape]
        key = key_of_draw(f"distributions.{self.kind}", seed, "float32", shape)
        return self._by("draw", key, [*shape, *dims_of(self._by("mode"))])

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the probability, or of its density."""
        return self._by("log_prob", value)

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The probability, or its density."""
        return ops.exp(self.log_prob(value))

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """The probability of no more than a value."""
        return self._by("cdf", value)

    def mean(self, name: str = "mean") -> Any:
        """The mean."""
        return self._by("mean")

    def variance(self, name: str = "variance") -> Any:
        """The variance."""
        return self._by("variance")

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation."""
        return ops.sqrt(self.variance())

    def mode(self, name: str = "mode") -> Any:
        """The most probable value."""
        return self._by("mode")

    def entropy(self, name: str = "entropy") -> Any:
        """The entropy, in nats."""
        return self._by("entropy")

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Any:
        """The cross-entropy with another distribution of its kind."""
        return self.entropy() + self.kl_divergence(other)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Any:
        """The divergence of Kullback and Leibler from another distribution of its kind.

        Raises:
            NotImplementedError: the other one is of another kind.
        """
        if self.kind != other.kind:
            problem = f"there is no divergence between {self.kind} and {other.kind}."
            raise op_error(NotImplementedError, "tf.distributions.kl_divergence", problem)
        return self._by("kl", other)


@function("distributions.kl_divergence contrib.distributions.kl_divergence", "v1", scope=True)
def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """The divergence of Kullback and Leibler between two distributions of one kind.

    Source: `tf.compat.v1.distributions.kl_divergence`.
    """
    return distribution_a.kl_divergence(distribution_b)


def distribution(
    names: str, words: str, ready: Callable[[Any], None] | None = None, **rules: Callable[..., Any]
) -> None:
    """Add a distribution.

    Args:
        names: with spaces between.
        words: its parameters in TensorFlow's order, and their defaults.
        ready: computes the parameters that are not given from the others.
        rules: what it computes: (the distribution, the method's argument) → the number; `draw` gets a key and a shape.
    """
    kind = names.split()[0].rpartition(".")[2]
    signature = signature_of(f"{words} validate_args=False allow_nan_stats=True name='{kind}'")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        own = given.arguments
        self.name, self.dtype = own["name"], as_dtype(own.get("dtype") or "float32")
        for key in own.keys() - {"validate_args", "allow_nan_stats", "name", "dtype"}:
            setattr(self, key, None if own[key] is None else ops.convert(own[key]))
        if ready is not None:
            ready(self)

    doc = f"A distribution.\n\n    Source: `tf.{names.split()[0]}` of TensorFlow 1.15.\n    "
    made = type(kind, (Distribution,), {"__init__": __init__, "__doc__": doc, "kind": kind, "rules": rules})
    value(names, made, "v1")


def _names(name: str) -> str:
    return f"distributions.{name} contrib.distributions.{name}"


def _like(value: Any, *others: Any) -> Any:
    """A value in the shape that all have together."""
    return ops.add(value, sum((ops.zeros_like(other) for other in others), start=ops.zeros_like(value)))


# -- rows -------------------------------------------------------------------------------------------------------------


def _normal_log_prob(d: Any, x: Any) -> Any:
    return -0.5 * ops.square((x - d.loc) / d.scale) - (0.5 * math.log(2 * math.pi) + ops.log(d.scale))


def _normal_kl(d: Any, other: Any) -> Any:
    ratio = ops.square(d.scale / other.scale)
    return ops.square(d.loc - other.loc) / (2.0 * ops.square(other.scale)) + 0.5 * (ratio - 1.0 - ops.log(ratio))


NORMAL: dict[str, Callable[..., Any]] = {
    "draw": lambda d, key, shape: d.loc + d.scale * ops.random.normal(key, shape),
    "log_prob": _normal_log_prob,
    "cdf": lambda d, x: 0.5 * (1.0 + ops.erf((x - d.loc) / (d.scale * math.sqrt(2)))),
    "mean": lambda d: _like(d.loc, d.scale),
    "mode": lambda d: _like(d.loc, d.scale),
    "variance": lambda d: _like(ops.square(d.scale), d.loc),
    "entropy": lambda d: _like(0.5 * math.log(2 * math.pi * math.e) + ops.log(d.scale), d.loc),
    "kl": _normal_kl,
}
SUMMED = ("log_prob", "entropy", "kl")  # of independent numbers: the sums over the last axis


def _summed(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: ops.sum(rule(*given), -1)


def _diagonal(d: Any) -> None:
    d.scale = ops.ones_like(d.loc) if d.scale_diag is None else d.scale_diag
    d.loc = ops.zeros_like(d.scale) if d.loc is None else d.loc


distribution(_names("Normal"), "loc scale", **NORMAL)
distribution(
    "contrib.distributions.MultivariateNormalDiag",
    "loc=None scale_diag=None",
    _diagonal,
    **{key: _summed(rule) if key in SUMMED else rule for key, rule in NORMAL.items() if key != "cdf"},
)
distribution(
    _names("Uniform"),
    "low=0.0 high=1.0",
    draw=lambda d, key, shape: d.low + (d.high - d.low) * ops.random.uniform(key, shape),
    log_prob=lambda d, x: ops.where(
        ops.logical_and(ops.greater_equal(x, d.low), ops.less(x, d.high)), -ops.log(d.high - d.low), -math.inf
    ),
    cdf=lambda d, x: ops.clip((x - d.low) / (d.high - d.low), 0.0, 1.0),
    mean=lambda d: (d.low + d.high) / 2.0,
    mode=lambda d: (d.low + d.high) / 2.0,
    variance=lambda d: ops.square(d.high - d.low) / 12.0,
    entropy=lambda d: ops.log(d.high - d.low),
)


def _bernoulli(d: Any) -> None:
    if (d.logits is None) == (d.probs is None):
        raise op_error(ValueError, f"tf.distributions.{d.kind}", "give either logits or probs.")
    if d.logits is None:
        d.logits = ops.log(d.probs) - ops.log1p(-d.probs)
    else:
        d.probs = ops.sigmoid(d.logits)


def _bernoulli_kl(d: Any, other: Any) -> Any:
    yes = ops.softplus(-other.logits) - ops.softplus(-d.logits)
    no = ops.softplus(other.logits) - ops.softplus(d.logits)
    return d.probs * yes + (1.0 - d.probs) * no


distribution(
    _names("Bernoulli"),
    "logits=None probs=None dtype='int32'",
    _bernoulli,
    draw=lambda d, key, shape: ops.cast(ops.less(ops.random.uniform(key, shape), d.probs), d.dtype),
    log_prob=lambda d, x: ops.cast(x, d.logits.dtype) * d.logits - ops.softplus(d.logits),
    mean=lambda d: d.probs,
    mode=lambda d: ops.cast(ops.greater(d.probs, 0.5), d.dtype),
    variance=lambda d: d.probs * (1.0 - d.probs),
    entropy=lambda d: ops.softplus(d.logits) - d.probs * d.logits,
    kl=_bernoulli_kl,
)


def _categorical(d: Any) -> None:
    if (d.logits is None) == (d.probs is None):
        raise op_error(ValueError, f"tf.distributions.{d.kind}", "give either logits or probs.")
    d.logits = ops.log(d.probs) if d.logits is None else d.logits
    d.probs = ops.softmax(d.logits) if d.probs is None else d.probs
    d.event_size = dims_of(d.logits)[-1]


def _categorical_draw(d: Any, key: Any, shape: list[Any]) -> Any:
    """The class with the largest logit after noise."""
    noise = ops.random.uniform(key, [*shape, d.event_size], 1e-20, 1.0)
    return ops.cast(ops.argmax(d.logits - ops.log(-ops.log(noise)), -1), d.dtype)


def _categorical_log_prob(d: Any, x: Any) -> Any:
    is_it = ops.equal(ops.expand_dims(ops.cast(x, "int32"), -1), ops.arange(d.event_size))
    return ops.sum(ops.where(is_it, ops.log_softmax(d.logits), 0.0), -1)


def _expected(d: Any, numbers: Any) -> Any:
    return ops.sum(ops.softmax(d.logits) * numbers, -1)


distribution(
    _names("Categorical"),
    "logits=None probs=None dtype='int32'",
    _categorical,
    draw=_categorical_draw,
    log_prob=_categorical_log_prob,
    mode=lambda d: ops.cast(ops.argmax(d.logits, -1), d.dtype),
    entropy=lambda d: -_expected(d, ops.log_softmax(d.logits)),
    kl=lambda d, other: _expected(d, ops.log_softmax(d.logits) - ops.log_softmax(other.logits)),
)
value("distributions.Distribution contrib.distributions.Distribution", Distribution, "v1")
