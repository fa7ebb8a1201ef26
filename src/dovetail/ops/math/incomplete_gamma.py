"""The incomplete gamma function, as a sum of the probabilities of a Poisson distribution, in float64."""

from __future__ import annotations

from typing import Any

from dovetail.core.dtypes import ALL
from dovetail.core.kinds import Float
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import elementwise
from dovetail.ops.control.flow import while_loop
from dovetail.ops.math.bitwise import logical_and
from dovetail.ops.math.compare import equal, maximum, minimum, where
from dovetail.ops.math.exponential import exp, log, sqrt
from dovetail.ops.math.reduce import max
from dovetail.ops.math.special import digamma, lgamma
from dovetail.ops.samples import array, binary, sample
from dovetail.ops.shapes.shape import cast, sum_like

WIDE = ALL["float64"]
LONGEST = 20_000.0  # probabilities that are added: enough for orders up to a million

SAMPLES = [
    *binary(0.5, 3),
    sample(array(2, 3, low=0.5, high=9), array(2, 3, low=0.5, high=30)),
    sample([0.5, 1.0, 40.0], [0.0, 300.0, 41.0], gradient=False),
]


def _log_density(a: Any, x: Any) -> Any:
    """The logarithm of `x**(a - 1) * exp(-x) / Γ(a)`, the derivative of `igamma` by `x`."""
    return where(equal(a, 1), 0, (a - 1) * log(x)) - x - lgamma(a)


def _summed(a: Any, x: Any, by_order: bool) -> Any:
    """The sum over n of the probabilities of a + n if the mean is x, or the derivative of the sum by `a`.

    Each probability is the one before times x / (a + n).  The derivative of its logarithm is log(x) - ψ(a + n + 1).
    """
    a, x = cast(a, WIDE), cast(x, WIDE)
    spread = 50 + 9 * sqrt(maximum(a, x))  # probabilities that are farther from the mean are below 1e-17
    is_far = x > a + 50 + 9 * sqrt(a)
    is_given = logical_and(a >= 0, x >= 0)  # not NaN
    is_summed = logical_and(is_given, logical_and(x > 0, x <= a + 50 + 9 * sqrt(a)))
    rest = where(is_given, 0 if by_order else cast(is_far, WIDE), float("nan"))
    count = max(minimum(where(is_summed, maximum(x - a, 0) + spread, 0), LONGEST))
    a, x = where(is_summed, a, 1), where(is_summed, x, 1)
    term = exp(_log_density(a + 1, x))
    factor = log(x) - digamma(a + 1) if by_order else term * 0 + 1

    def step(n: Any, term: Any, factor: Any, total: Any) -> tuple[Any, ...]:
        total = total + term * factor
        return n + 1, term * x / (a + n), factor - 1 / (a + n) if by_order else factor, total

    total = while_loop(lambda n, *_: n <= count, step, (cast(1, WIDE), term, factor, term * 0))[3]
    return where(is_summed, total, rest)


@composite("Igamma", infer=elementwise, samples=SAMPLES)
def igamma(a: Float, x: Float) -> Tensor:
    """The lower incomplete gamma function, `∫ t**(a - 1) * exp(-t) dt / Γ(a)` from 0 to `x`.

    Args:
        a: the order, positive numbers up to a million.
        x: the end of the integral, 0 or more; it broadcasts against `a`.

    Returns:
        Numbers from 0 to 1; NaN for a negative argument.

    Source: `scipy.special.gammainc`; with one argument fixed, the distribution function of gamma-distributed numbers.

    Example:
        >>> igamma([1., 2.], 2.).numpy()
        array([0.86466473, 0.59399414], dtype=float32)
    """
    return cast(_summed(a, x, by_order=False), x.dtype)


@igamma.gradient
def _(op: Any, g: Any) -> Any:
    a, x = op.inputs
    by_x = cast(exp(_log_density(cast(a, WIDE), cast(x, WIDE))), x.dtype)
    return sum_like(g * _igamma_slope(a, x), a), sum_like(g * by_x, x)


@composite("IgammaGradA", infer=elementwise, samples=[*SAMPLES[:1], *SAMPLES[5:]])
def _igamma_slope(a: Float, x: Float) -> Tensor:
    """The derivative of `igamma` by the order `a`."""
    return cast(_summed(a, x, by_order=True), x.dtype)
