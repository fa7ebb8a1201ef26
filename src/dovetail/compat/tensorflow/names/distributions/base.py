"""TensorFlow 1's distributions: the base class and the divergences."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor
from dovetail.ops.shapes.shape import dims_of


class ReparameterizationType:
    """Whether gradients pass from samples to parameters.

    Source: `tf.compat.v1.distributions.ReparameterizationType`.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """The base of distributions.  A method `log_prob` computes `_log_prob`, which subclasses define; so do the others.

    Attributes:
        name, dtype, reparameterization_type, allow_nan_stats, validate_args, parameters: as given.

    Source: `tf.compat.v1.distributions.Distribution`.

    Differs: `validate_args` checks nothing.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        self.dtype, self.reparameterization_type = as_dtype(dtype), reparameterization_type
        self.validate_args, self.allow_nan_stats = validate_args, allow_nan_stats
        given = parameters or {}
        self.parameters = {key: one for key, one in given.items() if key != "self" and not key.startswith("__")}
        self.name = name or type(self).__name__

    def __repr__(self) -> str:
        shapes = f"batch_shape={self.batch_shape} event_shape={self.event_shape}"
        return f"<tf.distributions.{type(self).__name__} {self.name!r} {shapes} dtype={self.dtype}>"

    def copy(self, **parameters: Any) -> Any:
        """The distribution with other parameters."""
        return type(self)(**{**self.parameters, **parameters})

    def _by(self, rule: str, *given: Any) -> Any:
        """The result of the first method that the distribution has: a rule and its ways around, with spaces between."""
        for way in rule.split():
            method = getattr(self, f"_{way}", None)
            if method is not None:
                return FROM.get((rule.split()[0], way), lambda x: x)(method(*given))
        problem = f"it has no {rule.split()[0]}."
        raise op_error(NotImplementedError, f"tf.distributions.{type(self).__name__}", problem)

    def _of(self, rule: str, value: Any) -> Any:
        dtype = self.dtype if self.dtype.is_floating else None
        return self._by(rule, value if is_tensor(value) else ops.convert(value, dtype))

    # shapes

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters, as far as each of them belongs to one distribution."""
        return shape_of(self._by("batch_shape"))

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The batch shape as a tensor."""
        return self._by("batch_shape_tensor")

    @property
    def event_shape(self) -> Any:
        """The shape of a sample of one distribution."""
        return shape_of(self._by("event_shape"))

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """The event shape as a tensor."""
        return self._by("event_shape_tensor")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Whether it is one distribution."""
        return ops.convert(self.batch_shape.ndims == 0)

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Whether a sample is one number."""
        return ops.convert(self.event_shape.ndims == 0)

    # samples and probabilities

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str = "sample") -> Any:
        """Draw samples: a tensor of this shape of each distribution."""
        dims = _dims(sample_shape)
        drawn = self._by("sample_n", functools.reduce(operator.mul, dims, 1), seed)
        if self.reparameterization_type is NOT_REPARAMETERIZED:
            drawn = ops.stop_gradient(drawn)
        return drawn if len(dims) == 1 else ops.reshape(drawn, [*dims, *dims_of(drawn)[1:]])

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the probability, or of its density."""
        return self._of("log_prob prob", value)

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The probability, or its density."""
        return self._of("prob log_prob", value)

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """The probability of no more than a value."""
        return self._of("cdf log_cdf", value)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """The logarithm of the probability of no more than a value."""
        return self._of("log_cdf cdf", value)

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """The probability of more than a value."""
        return self._of("survival_function log_survival_function cdf log_cdf", value)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """The logarithm of the probability of more than a value."""
        return self._of("log_survival_function survival_function cdf log_cdf", value)

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """The value below which a sample lies with this probability."""
        return self._of("quantile", value)

    # statistics

    def mean(self, name: str = "mean") -> Any:
        """The mean."""
        return self._by("mean")

    def variance(self, name: str = "variance") -> Any:
        """The variance."""
        return self._by("variance stddev")

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation."""
        return self._by("stddev variance")

    def covariance(self, name: str = "covariance") -> Any:
        """The covariance of the numbers of a sample."""
        return self._by("covariance")

    def mode(self, name: str = "mode") -> Any:
        """The most probable value."""
        return self._by("mode")

    def entropy(self, name: str = "entropy") -> Any:
        """The entropy, in nats."""
        return self._by("entropy")

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Any:
        """The cross-entropy with another distribution."""
        return self.entropy() + kl_between(self, other)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Any:
        """The divergence of Kullback and Leibler from another distribution.

        Raises:
            NotImplementedError: no divergence is known between the two kinds.
        """
        return kl_between(self, other)


# (the wanted number, the known one) → the function that makes one from the other.
FROM: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("log_prob", "prob"): ops.log,
    ("prob", "log_prob"): ops.exp,
    ("cdf", "log_cdf"): ops.exp,
    ("log_cdf", "cdf"): ops.log,
    ("survival_function", "log_survival_function"): ops.exp,
    ("survival_function", "cdf"): lambda p: 1.0 - p,
    ("survival_function", "log_cdf"): lambda p: -ops.expm1(p),
    ("log_survival_function", "survival_function"): ops.log,
    ("log_survival_function", "cdf"): lambda p: ops.log1p(-p),
    ("log_survival_function", "log_cdf"): lambda p: ops.log(-ops.expm1(p)),
    ("variance", "stddev"): ops.square,
    ("stddev", "variance"): ops.sqrt,
}


def _dims(shape: Any) -> list[Any]:
    """The dimensions of a shape, which may be a number or a tensor."""
    if is_tensor(shape):
        flat = ops.reshape(shape, [-1])
        return [flat[i] for i in range(flat.shape[0])]
    return [*shape] if hasattr(shape, "__iter__") else [shape]


# -- divergences ------------------------------------------------------------------------------------------------------

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """Decorator: the function that computes the divergence between distributions of two classes.

    Source: `tf.compat.v1.distributions.RegisterKL`.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Register the function.

        Raises:
            ValueError: the two classes have one.
        """
        if self._key in _DIVERGENCES:
            problem = f"there is a divergence between {' and '.join(one.__name__ for one in self._key)} already."
            raise op_error(ValueError, "tf.distributions.RegisterKL", problem)
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def kl_between(a: Distribution, b: Distribution) -> Any:
    """The divergence by the function of the nearest classes of the two.

    Raises:
        NotImplementedError: they have none.
    """
    known = [
        (i + j, _DIVERGENCES[one, other])
        for i, one in enumerate(type(a).__mro__)
        for j, other in enumerate(type(b).__mro__)
        if (one, other) in _DIVERGENCES
    ]
    if not known:
        problem = f"there is no divergence between {type(a).__name__} and {type(b).__name__}."
        raise op_error(NotImplementedError, "tf.distributions.kl_divergence", problem)
    return min(known, key=lambda pair: pair[0])[1](a, b, name=None)


@function("distributions.kl_divergence contrib.distributions.kl_divergence", "v1", scope=True)
def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """The divergence of Kullback and Leibler between two distributions.

    Source: `tf.compat.v1.distributions.kl_divergence`.
    """
    return kl_between(distribution_a, distribution_b)


_value: Any
for _name, _value in {
    "Distribution": Distribution,
    "ReparameterizationType": ReparameterizationType,
    "FULLY_REPARAMETERIZED": FULLY_REPARAMETERIZED,
    "NOT_REPARAMETERIZED": NOT_REPARAMETERIZED,
    "RegisterKL": RegisterKL,
}.items():
    value(f"distributions.{_name} contrib.distributions.{_name}", _value, "v1")
