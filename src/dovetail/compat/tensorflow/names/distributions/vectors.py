"""TensorFlow 1's distributions of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.distributions.numbers import NORMAL, normal_kl
from dovetail.compat.tensorflow.names.distributions.rows import (
    distribution,
    event_size,
    everywhere,
    in_contrib,
    like,
    softplus_of,
    where_defined,
    xlogy,
)
from dovetail.compat.tensorflow.names.math.linalg import triangular_solve
from dovetail.compat.tensorflow.table import in_v1


def _dirichlet(d: Any) -> None:
    d.total_concentration = ops.sum(d.concentration, -1)


def _dirichlet_draw(d: Any, key: Any, shape: Any) -> Any:
    parts = ops.random.gamma(key, shape, d.concentration, 1.0, d.dtype)
    return parts / ops.sum(parts, -1, keepdims=True)


def _lbeta(d: Any) -> Any:
    return ops.sum(ops.lgamma(d.concentration), -1) - ops.lgamma(d.total_concentration)


def _total(d: Any) -> Any:
    return ops.expand_dims(d.total_concentration, -1)


def _dirichlet_entropy(d: Any) -> Any:
    parts = ops.sum((d.concentration - 1.0) * ops.digamma(d.concentration), -1)
    return _lbeta(d) + (d.total_concentration - event_size(d)) * ops.digamma(d.total_concentration) - parts


def _dirichlet_mode(d: Any) -> Any:
    is_defined = ops.all(d.concentration > 1.0, -1, keepdims=True)
    return where_defined(d, is_defined, (d.concentration - 1.0) / (_total(d) - event_size(d)), "mode")


def _dirichlet_variance(d: Any) -> Any:
    mean = d.concentration / _total(d)
    return mean * (1.0 - mean) / (1.0 + _total(d))


def _dirichlet_covariance(d: Any) -> Any:
    mean = d.concentration / _total(d)
    spread = ops.matrix_diag(mean) - ops.expand_dims(mean, -1) * ops.expand_dims(mean, -2)
    return spread / (1.0 + ops.expand_dims(_total(d), -1))


def _dirichlet_kl(d: Any, other: Any) -> Any:
    slopes = ops.digamma(d.concentration) - ops.digamma(_total(d))
    return ops.sum((d.concentration - other.concentration) * slopes, -1) - _lbeta(d) + _lbeta(other)


distribution(
    everywhere("Dirichlet"),
    "concentration",
    "concentration:1",
    _dirichlet,
    event_axes=1,
    is_reparameterized=False,
    draw=_dirichlet_draw,
    log_prob=lambda d, x: ops.sum(xlogy(d.concentration - 1.0, x), -1) - _lbeta(d),
    mean=lambda d: d.concentration / _total(d),
    mode=_dirichlet_mode,
    variance=_dirichlet_variance,
    covariance=_dirichlet_covariance,
    entropy=_dirichlet_entropy,
    kl=_dirichlet_kl,
)


def _diagonal(d: Any) -> None:
    factor = d.scale_identity_multiplier
    scale = d.scale_diag
    if scale is None:
        scale = ops.ones_like(d.loc)
    d.scale = scale if factor is None else (0.0 if d.scale_diag is None else scale) + ops.expand_dims(factor, -1)
    if d.scale_diag is None and factor is not None:
        d.scale = d.scale * ops.ones_like(d.loc)
    d.loc = ops.zeros_like(d.scale) if d.loc is None else d.loc


def _widely(d: Any, found: Any) -> Any:
    return found + ops.zeros_like(d.loc + d.scale)


def _summed(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The sum over the numbers of a sample."""
    return lambda *given: ops.sum(rule(*given), -1)


MultivariateNormalDiag = distribution(
    in_contrib("MultivariateNormalDiag"),
    "loc=None scale_diag=None scale_identity_multiplier=None",
    "loc:1 scale:1",
    _diagonal,
    event_axes=1,
    draw=NORMAL["draw"],
    log_prob=_summed(NORMAL["log_prob"]),
    mean=lambda d: _widely(d, d.loc),
    mode=lambda d: _widely(d, d.loc),
    variance=lambda d: _widely(d, ops.square(d.scale)),
    covariance=lambda d: ops.matrix_diag(_widely(d, ops.square(d.scale))),
    entropy=_summed(lambda d: _widely(d, 0.5 * math.log(2 * math.pi * math.e) + ops.log(d.scale))),
    kl=_summed(normal_kl),
)
softplus_of(MultivariateNormalDiag, "scale_diag", in_contrib("MultivariateNormalDiagWithSoftplusScale"))


def _triangular(d: Any) -> None:
    d.loc = ops.zeros_like(d.scale_tril[..., 0]) if d.loc is None else d.loc


def _turned(d: Any, noise: Any) -> Any:
    return d.loc + ops.squeeze(ops.matmul(d.scale_tril, ops.expand_dims(noise, -1)), -1)


def _log_volume(d: Any) -> Any:
    size = ops.cast(d.event_shape_tensor()[0], d.dtype)
    return 0.5 * math.log(2 * math.pi) * size + ops.sum(ops.log(ops.absolute(ops.diagonal(d.scale_tril))), -1)


def _triangular_log_prob(d: Any, x: Any) -> Any:
    away = ops.expand_dims(x - d.loc, -1)
    solution = in_v1(triangular_solve)(d.scale_tril + ops.zeros_like(away), away)
    return -0.5 * ops.sum(ops.square(solution), [-2, -1]) - _log_volume(d)


def _triangular_covariance(d: Any) -> Any:
    return ops.matmul(d.scale_tril, ops.swapaxes(d.scale_tril, -1, -2)) + ops.expand_dims(ops.zeros_like(d.loc), -1)


distribution(
    in_contrib("MultivariateNormalTriL"),
    "loc=None scale_tril=None",
    "loc:1 scale_tril:2",
    _triangular,
    event_axes=1,
    draw=lambda d, key, shape: _turned(d, ops.random.normal(key, shape, dtype=d.dtype)),
    log_prob=_triangular_log_prob,
    mean=lambda d: d.loc + ops.zeros_like(d.scale_tril[..., 0]),
    mode=lambda d: d.loc + ops.zeros_like(d.scale_tril[..., 0]),
    variance=lambda d: ops.diagonal(_triangular_covariance(d)),
    covariance=_triangular_covariance,
    entropy=lambda d: like(d, 0.5 * event_size(d) + _log_volume(d)),
)
