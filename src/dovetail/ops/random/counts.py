"""Random counts: how many of several events happen.

For small means the ops add up probabilities; for large means they use the transformed rejection of Hörmann, in float64.

Source: Hörmann, "The transformed rejection method for generating Poisson random variables" and "The generation of
binomial random variates" (both 1993).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from dovetail.core.base.domains import at_least, within
from dovetail.core.calls.check_arguments import checked
from dovetail.core.calls.static_types import DTypeLike
from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float, Integer, Ints
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.ops.control.flow import while_loop
from dovetail.ops.math.arithmetic import absolute
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.math.compare import greater, greater_equal, less, less_equal, minimum, where
from dovetail.ops.math.exponential import exp, log, log1p, sqrt
from dovetail.ops.math.reduce import any
from dovetail.ops.math.rounding import floor
from dovetail.ops.math.special import lgamma
from dovetail.ops.random.floats import first_accepted, random_uniform
from dovetail.ops.random.keys import KEY, as_key, lead, split
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.shape import broadcast_to, cast

WIDE = ALL["float64"]
SMALL = 10.0  # the mean below which probabilities are added up
LONGEST = 100  # steps of the addition: no count is that far above a small mean
CANDIDATES = 12  # for each count; at least 80% of them are accepted


def _by_inversion(u: Any, first: Any, ratio: Callable[[Any], Any]) -> Any:
    """The least k for which the probabilities of 0 … k add up to `u` at least.

    Args:
        u: uniform numbers.
        first: the probability of 0.
        ratio: k → the probability of k + 1 divided by the probability of k.
    """

    def step(i: Any, k: Any, term: Any, total: Any) -> tuple[Any, ...]:
        term = term * ratio(i)
        return i + 1, k + cast(greater(u, total), WIDE), term, total + term

    start = cast(0, WIDE), u * 0, first, first
    return while_loop(lambda i, k, term, total: any(greater(u, total)), step, start, LONGEST)[1]


def _by_rejection(key: Any, shape: Any, hat: tuple[Any, ...], log_probability: Callable[[Any], Any], last: Any) -> Any:
    """Counts from the uniform numbers under a hat function.

    Args:
        hat: its parameters: a, b, the center, and the logarithm of the scale by which it lies above the probability.
        log_probability: k → the logarithm of its probability, up to a constant that the scale includes.
        last: the largest count possible.
    """
    a, b, center, log_scale = hat
    keys = split(key)
    shape = lead(CANDIDATES, shape)
    u = random_uniform(keys[0], shape, WIDE) - 0.5
    v = 1 - random_uniform(keys[1], shape, WIDE)
    edge = 0.5 - absolute(u)
    edge = where(greater(edge, 0), edge, 1e-300)
    k = floor((2 * a / edge + b) * u + center)
    possible = logical_and(greater_equal(k, 0), less_equal(k, last))
    level = log(v) + log_scale - log(a / edge / edge + b)
    accepted = logical_and(possible, less_equal(level, log_probability(where(possible, k, 0))))
    return first_accepted(k, accepted, floor(center))


@composite(
    "StatelessRandomPoisson",
    cost="random",
    differentiable=False,
    samples=[sample(KEY, (3, 4), array(4, low=0, high=40), "int32"), sample(KEY, (2,), 3.0, "float32")],
)
def random_poisson(key: Integer, shape: Ints, rate: Float, dtype: DTypeLike) -> Tensor:
    """Poisson-distributed counts.

    Source: `tf.raw_ops.StatelessRandomPoisson`.

    Example:
        >>> random_poisson(as_key(0), (2,), 0.0, "int32").numpy()
        array([0, 0], dtype=int32)
    """
    rate = broadcast_to(cast(rate, WIDE), shape)
    is_small = less(rate, SMALL)
    small, large = where(is_small, rate, 1), where(is_small, SMALL, rate)
    keys = split(key)
    few = _by_inversion(random_uniform(keys[0], shape, WIDE), exp(-small), lambda k: small / (k + 1))
    b = 0.931 + 2.53 * sqrt(large)
    hat = 0.02483 * b - 0.059, b, large + 0.43, log(1.1239 + 1.1328 / (b - 3.4))
    many = _by_rejection(keys[1], shape, hat, lambda k: k * log(large) - large - lgamma(k + 1), 2.0**62)
    return cast(where(is_small, few, many), dtype)


@checked
def poisson(key: Any, shape: Any = (), rate: Annotated[Any, at_least(0)] = 1.0, dtype: Any = "int32") -> Any:
    """Poisson-distributed counts.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        rate: the mean, 0 or more; a tensor broadcasts to the shape, and its numbers are not checked.
        dtype: the type of the counts.

    Source: `numpy.random.Generator.poisson`.

    Example:
        >>> x = poisson(0, (10_000,), 3.0)
        >>> abs(float(x.numpy().mean()) - 3) < 0.1
        True
    """
    return random_poisson(as_key(key), shape, rate, dtype)


@composite(
    "StatelessRandomBinomial",
    cost="random",
    differentiable=False,
    samples=[sample(KEY, (3, 4), array(4, low=1, high=90), 0.4, "int32"), sample(KEY, (2,), 9.0, 0.9, "float32")],
)
def random_binomial(key: Integer, shape: Ints, counts: Float, probs: Float, dtype: DTypeLike) -> Tensor:
    """Binomially distributed counts.

    Source: `tf.raw_ops.StatelessRandomBinomial`.

    Example:
        >>> random_binomial(as_key(0), (2,), 5.0, 1.0, "int32").numpy()
        array([5, 5], dtype=int32)
    """
    n, p = (broadcast_to(cast(value, WIDE), shape) for value in (floor(counts), probs))
    mirrored = greater(p, 0.5)
    p = where(mirrored, 1 - p, p)
    is_small = less(n * p, SMALL)
    keys = split(key)
    n_small, p_small = where(is_small, n, 1), where(is_small, p, 0)
    few = minimum(
        _by_inversion(
            random_uniform(keys[0], shape, WIDE),
            exp(n_small * log1p(-p_small)),
            lambda k: (n_small - k) / (k + 1) * p_small / (1 - p_small),
        ),
        n_small,
    )
    n_large, p_large = where(is_small, 4 * SMALL, n), where(is_small, 0.5, p)
    many = _by_rejection(keys[1], shape, *_binomial_hat(n_large, p_large), n_large)
    k = where(is_small, few, many)
    return cast(where(mirrored, n - k, k), dtype)


def _binomial_hat(n: Any, p: Any) -> tuple[tuple[Any, ...], Callable[[Any], Any]]:
    """The hat function and the logarithm of the probabilities, for `_by_rejection`."""
    deviation = sqrt(n * p * (1 - p))
    mode, odds = floor((n + 1) * p), log(p / (1 - p))
    b = 1.15 + 2.53 * deviation
    hat = 0.0248 * b - 0.0873 + 0.01 * p, b, n * p + 0.5, log((2.83 + 5.1 / b) * deviation)
    at_mode = lgamma(mode + 1) + lgamma(n - mode + 1)
    return hat, lambda k: at_mode - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * odds


@checked
def binomial(
    key: Any,
    shape: Any,
    counts: Annotated[Any, at_least(0)],
    probs: Annotated[Any, within(0, 1)],
    dtype: Any = "int32",
) -> Any:
    """Binomially distributed counts: how many of several tries succeed.

    Args:
        key: a key, a seed or a Generator.
        shape: the shape of the result.
        counts: the number of tries, 0 or more; a tensor broadcasts to the shape, and its numbers are not checked.
        probs: the chance of each try, from 0 to 1; the same holds for a tensor.
        dtype: the type of the counts.

    Source: `numpy.random.Generator.binomial`.

    Example:
        >>> x = binomial(0, (10_000,), 10, 0.3)
        >>> abs(float(x.numpy().mean()) - 3) < 0.1
        True
    """
    return random_binomial(as_key(key), shape, counts, probs, dtype)
