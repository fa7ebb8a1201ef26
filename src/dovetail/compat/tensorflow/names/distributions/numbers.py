"""TensorFlow 1's distributions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.distributions.rows import (
    distribution,
    everywhere,
    in_contrib,
    like,
    softplus_of,
    unit,
    where_defined,
    xlogy,
)
from dovetail.compat.tensorflow.names.math.by_type import FUNCTIONS
from dovetail.compat.tensorflow.table import row

Rules = dict[str, Any]  # name → a function of the distribution and the method's arguments

# -- of a location and a scale ----------------------------------------------------------------------------------------


def _z(d: Any, x: Any) -> Any:
    return (x - d.loc) / d.scale


def _located(noise: Callable[..., Any], variance: float) -> Rules:
    """The rules of a symmetric distribution: noise of a key and a shape, and the variance for the scale 1."""
    return {
        "draw": lambda d, key, shape: d.loc + d.scale * noise(d, key, shape),
        "mean": lambda d: like(d, d.loc),
        "mode": lambda d: like(d, d.loc),
        "variance": lambda d: like(d, variance * ops.square(d.scale)),
    }


def normal_kl(d: Any, other: Any) -> Any:
    ratio = ops.square(d.scale / other.scale)
    return ops.square(d.loc - other.loc) / (2.0 * ops.square(other.scale)) + 0.5 * (ratio - 1.0 - ops.log(ratio))


NORMAL: Rules = {
    **_located(lambda d, key, shape: ops.random.normal(key, shape, dtype=d.dtype), 1.0),
    "log_prob": lambda d, x: -0.5 * ops.square(_z(d, x)) - (0.5 * math.log(2 * math.pi) + ops.log(d.scale)),
    "cdf": lambda d, x: 0.5 * ops.erfc(-_z(d, x) / math.sqrt(2)),
    "quantile": lambda d, p: d.loc + d.scale * math.sqrt(2) * ops.erfinv(2.0 * p - 1.0),
    "entropy": lambda d: like(d, 0.5 * math.log(2 * math.pi * math.e) + ops.log(d.scale)),
    "kl": normal_kl,
}
Normal = distribution(everywhere("Normal"), "loc scale", "loc scale", **NORMAL)
softplus_of(Normal, "scale", in_contrib("NormalWithSoftplusScale"))


def _laplace_noise(d: Any, key: Any, shape: Any) -> Any:
    unit = ops.random.uniform(key, shape, -1.0, 1.0, d.dtype)
    return -ops.sign(unit) * ops.log1p(-ops.clip(ops.absolute(unit), 0.0, 1.0 - 1e-7))


def _laplace_log_cdf(z: Any) -> Any:
    return ops.where(z < 0.0, z - math.log(2), ops.log1p(-0.5 * ops.exp(-ops.absolute(z))))


def _laplace_kl(d: Any, other: Any) -> Any:
    distance, ratio = ops.absolute(d.loc - other.loc), d.scale / other.scale
    return distance / other.scale + ratio * ops.exp(-distance / d.scale) - ops.log(ratio) - 1.0


Laplace = distribution(
    everywhere("Laplace"),
    "loc scale",
    "loc scale",
    **_located(_laplace_noise, 2.0),
    log_prob=lambda d, x: -ops.absolute(_z(d, x)) - math.log(2) - ops.log(d.scale),
    log_cdf=lambda d, x: _laplace_log_cdf(_z(d, x)),
    log_survival_function=lambda d, x: _laplace_log_cdf(-_z(d, x)),
    entropy=lambda d: like(d, math.log(2) + 1.0 + ops.log(d.scale)),
    kl=_laplace_kl,
)
softplus_of(Laplace, "scale", in_contrib("LaplaceWithSoftplusScale"))


def logistic_noise(d: Any, key: Any, shape: Any) -> Any:
    drawn = unit(d, key, shape, 1e-7)
    return ops.log(drawn) - ops.log1p(-drawn)


def logistic_log_prob(z: Any) -> Any:
    return -z - 2.0 * ops.softplus(-z)


distribution(
    in_contrib("Logistic"),
    "loc scale",
    "loc scale",
    **_located(logistic_noise, math.pi**2 / 3),
    log_prob=lambda d, x: logistic_log_prob(_z(d, x)) - ops.log(d.scale),
    cdf=lambda d, x: ops.sigmoid(_z(d, x)),
    entropy=lambda d: like(d, 2.0 + ops.log(d.scale)),
)


def _student_draw(d: Any, key: Any, shape: Any) -> Any:
    first, second = (ops.random.split(key)[i] for i in range(2))
    gamma = ops.random.gamma(second, shape, 0.5 * like(d, d.df), 0.5, d.dtype)
    return d.loc + d.scale * ops.random.normal(first, shape, dtype=d.dtype) * ops.rsqrt(gamma / d.df)


def _student_log_prob(d: Any, x: Any) -> Any:
    half = 0.5 * (d.df + 1.0)
    norm = ops.log(ops.absolute(d.scale)) + 0.5 * ops.log(d.df * math.pi) + ops.lgamma(0.5 * d.df) - ops.lgamma(half)
    return -half * ops.log1p(ops.square(_z(d, x)) / d.df) - norm


def _student_cdf(d: Any, x: Any) -> Any:
    y = (x - d.loc) / ops.absolute(d.scale)
    df = ops.add(d.df, ops.zeros_like(y))
    below = 0.5 * FUNCTIONS["Betainc"](0.5 * df, 0.5 * ops.ones_like(df), df / (ops.square(y) + df))
    return ops.where(y < 0.0, below, 1.0 - below)


def _student_variance(d: Any) -> Any:
    df = like(d, d.df)
    variance = ops.square(d.scale) * df / ops.where(df > 2.0, df - 2.0, 1.0)
    return where_defined(d, df > 1.0, ops.where(df > 2.0, variance, math.inf), "variance")


def _student_entropy(d: Any) -> Any:
    half = 0.5 * (d.df + 1.0)
    lbeta = ops.lgamma(0.5 * d.df) + math.lgamma(0.5) - ops.lgamma(half)
    spread = half * (ops.digamma(half) - ops.digamma(0.5 * d.df))
    return like(d, ops.log(ops.absolute(d.scale)) + 0.5 * ops.log(d.df) + lbeta + spread)


distribution(
    everywhere("StudentT"),
    "df loc scale",
    "df loc scale",
    is_reparameterized=False,
    draw=_student_draw,
    log_prob=_student_log_prob,
    cdf=_student_cdf,
    mean=lambda d: where_defined(d, like(d, d.df) > 1.0, like(d, d.loc), "mean"),
    mode=lambda d: ops.identity(d.loc),
    variance=_student_variance,
    entropy=_student_entropy,
)

# -- uniform, gamma and beta ------------------------------------------------------------------------------------------


def _uniform_log_prob(d: Any, x: Any) -> Any:
    is_inside = ops.logical_and(ops.greater_equal(x, d.low), ops.less(x, d.high))
    return ops.where(is_inside, -ops.log(d.range()), -math.inf)


Uniform = distribution(
    everywhere("Uniform"),
    "low=0.0 high=1.0",
    "low high",
    draw=lambda d, key, shape: d.low + d.range() * unit(d, key, shape),
    log_prob=_uniform_log_prob,
    cdf=lambda d, x: ops.clip((x - d.low) / d.range(), 0.0, 1.0),
    quantile=lambda d, p: d.low + d.range() * p,
    mean=lambda d: (d.low + d.high) / 2.0,
    variance=lambda d: ops.square(d.range()) / 12.0,
    entropy=lambda d: ops.log(d.range()),
)
Uniform.range = lambda self, name="range": self.high - self.low  # type: ignore[attr-defined]


def _gamma_kl(d: Any, other: Any) -> Any:
    a, b = d.concentration, other.concentration
    shapes = (a - b) * ops.digamma(a) + ops.lgamma(b) - ops.lgamma(a)
    return shapes + b * (ops.log(d.rate) - ops.log(other.rate)) + a * (other.rate / d.rate - 1.0)


def _gamma_entropy(d: Any) -> Any:
    a = d.concentration
    return a - ops.log(d.rate) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)


def _gamma_log_prob(d: Any, x: Any) -> Any:
    a = d.concentration
    return xlogy(a - 1.0, x) - d.rate * x - (ops.lgamma(a) - a * ops.log(d.rate))


def _gamma_mode(d: Any) -> Any:
    return where_defined(d, like(d, d.concentration) > 1.0, (d.concentration - 1.0) / d.rate, "mode")


def _of_concentration(x: Any, d: Any) -> Any:
    """The regularised gamma function, up to x."""
    a = ops.add(d.concentration, ops.zeros_like(x))
    return FUNCTIONS["Igamma"](a, ops.add(x, ops.zeros_like(a)))


GAMMA: Rules = {
    "log_prob": _gamma_log_prob,
    "cdf": lambda d, x: _of_concentration(d.rate * x, d),
    "mean": lambda d: d.concentration / d.rate,
    "mode": _gamma_mode,
    "variance": lambda d: d.concentration / ops.square(d.rate),
    "entropy": _gamma_entropy,
}
Gamma = distribution(
    everywhere("Gamma"),
    "concentration rate",
    "concentration rate",
    is_reparameterized=False,
    draw=lambda d, key, shape: ops.random.gamma(key, shape, like(d, d.concentration), d.rate, d.dtype),
    kl=_gamma_kl,
    **GAMMA,
)
softplus_of(Gamma, "concentration rate", in_contrib("GammaWithSoftplusConcentrationRate"))


def _exponential(d: Any) -> None:
    d.concentration = ops.ones_like(d.rate)


Exponential = distribution(
    everywhere("Exponential"),
    "rate",
    "rate",
    _exponential,
    draw=lambda d, key, shape: -ops.log(unit(d, key, shape, 1e-30)) / d.rate,
    log_survival_function=lambda d, x: -d.rate * x,
    kl=_gamma_kl,
    **GAMMA,
)
softplus_of(Exponential, "rate", in_contrib("ExponentialWithSoftplusRate"))


def _beta(d: Any) -> None:
    d.total_concentration = d.concentration1 + d.concentration0


def _beta_draw(d: Any, key: Any, shape: Any) -> Any:
    first, second = (ops.random.split(key)[i] for i in range(2))
    ones = ops.random.gamma(first, shape, like(d, d.concentration1), 1.0, d.dtype)
    return ones / (ones + ops.random.gamma(second, shape, like(d, d.concentration0), 1.0, d.dtype))


def _beta_norm(d: Any) -> Any:
    return ops.lgamma(d.concentration1) + ops.lgamma(d.concentration0) - ops.lgamma(d.total_concentration)


def _beta_cdf(d: Any, x: Any) -> Any:
    zeros = ops.zeros_like(d.total_concentration + x)
    return FUNCTIONS["Betainc"](d.concentration1 + zeros, d.concentration0 + zeros, x + zeros)


def _beta_entropy(d: Any) -> Any:
    parts = sum((c - 1.0) * ops.digamma(c) for c in (d.concentration1, d.concentration0))
    return _beta_norm(d) - parts + (d.total_concentration - 2.0) * ops.digamma(d.total_concentration)


def _beta_mode(d: Any) -> Any:
    is_defined = ops.logical_and(d.concentration1 > 1.0, d.concentration0 > 1.0)
    return where_defined(d, is_defined, (d.concentration1 - 1.0) / (d.total_concentration - 2.0), "mode")


def _beta_kl(d: Any, other: Any) -> Any:
    def part(name: str) -> Any:
        mine, theirs = getattr(d, name), getattr(other, name)
        return ops.digamma(mine) * (theirs - mine)

    return (
        _beta_norm(other)
        - _beta_norm(d)
        - part("concentration1")
        - part("concentration0")
        + part("total_concentration")
    )


def _beta_variance(d: Any) -> Any:
    return d.concentration1 * d.concentration0 / (ops.square(d.total_concentration) * (1.0 + d.total_concentration))


Beta = distribution(
    everywhere("Beta"),
    "concentration1=None concentration0=None",
    "concentration1 concentration0",
    _beta,
    is_reparameterized=False,
    draw=_beta_draw,
    log_prob=lambda d, x: xlogy(d.concentration1 - 1.0, x) + (d.concentration0 - 1.0) * ops.log1p(-x) - _beta_norm(d),
    cdf=_beta_cdf,
    mean=lambda d: d.concentration1 / d.total_concentration,
    mode=_beta_mode,
    variance=_beta_variance,
    entropy=_beta_entropy,
    kl=_beta_kl,
)
softplus_of(Beta, "concentration1 concentration0", in_contrib("BetaWithSoftplusConcentration"))


distribution(
    in_contrib("Poisson"),
    "rate",
    "rate",
    is_reparameterized=False,
    draw=lambda d, key, shape: ops.cast(ops.random.poisson(key, shape, d.rate), d.dtype),
    log_prob=lambda d, x: xlogy(x, d.rate) - d.rate - ops.lgamma(x + 1.0),
    mean=lambda d: ops.identity(d.rate),
    mode=lambda d: ops.floor(d.rate),
    variance=lambda d: ops.identity(d.rate),
)
row(in_contrib("softplus_inverse"), lambda x: x + ops.log(-ops.expm1(-x)), "x")
