"""Losses, and steps of optimizers."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.onnx.rows import row


@row("NegativeLogLikelihoodLoss: x target weight; ignore_index:ignored reduction")
def likelihood_loss(
    x: Any, target: Any, weight: Any = None, ignored: int | None = None, reduction: str = "mean"
) -> Any:
    """The negative score of each target, whose class is the second axis."""
    is_kept = ops.ones_like(target, "bool") if ignored is None else ops.not_equal(target, ignored)
    safe = ops.where(is_kept, target, ops.zeros_like(target))
    scores = ops.squeeze(OPS["TakeAlongAxis"](x, ops.expand_dims(safe, 1), 1), 1)
    factors = ops.ones_like(scores) if weight is None else OPS["GatherV2"](weight, safe, 0)
    factors = ops.where(is_kept, factors, ops.zeros_like(factors))
    loss = ops.where(is_kept, -scores * factors, ops.zeros_like(scores))  # not a product: they may be infinite
    if reduction == "none":
        return loss
    total = ops.sum(loss)
    return total / ops.sum(factors) if reduction == "mean" else total


@row("SoftmaxCrossEntropyLoss: x target weight; ignore_index:ignored reduction")
def _(x: Any, target: Any, weight: Any = None, ignored: int | None = None, reduction: str = "mean") -> Any:
    scores = ops.log_softmax(x, 1)
    return likelihood_loss(scores, target, weight, ignored, reduction), scores


def _each(arguments: Any, kinds: int) -> list[Any]:
    """Arguments by kinds, each a list of one for each tensor → groups of one of each kind."""
    count = len(arguments) // kinds
    return [arguments[i::count] for i in range(count)]


def _by_kind(results: list[Any]) -> list[Any]:
    return [one for kind in zip(*results, strict=True) for one in kind]


@row("ai.onnx.preview.training.Momentum: rate step xs*; alpha beta mode norm_coefficient:norm")
def _(rate: Any, step: Any, xs: Any, alpha: float, beta: float, mode: str, norm: float) -> Any:
    results = []
    for x, gradient, velocity in _each(xs, 3):
        gradient = gradient + norm * x
        velocity = alpha * velocity + ops.where(ops.equal(step, 0), 1.0, beta) * gradient
        change = gradient + alpha * velocity if mode == "nesterov" else velocity
        results.append([x - rate * change, velocity])
    return _by_kind(results)


@row("ai.onnx.preview.training.Adagrad: rate step xs*; decay_factor:decay epsilon norm_coefficient:norm")
def _(rate: Any, step: Any, xs: Any, decay: float = 0.0, epsilon: float = 0.0, norm: float = 0.0) -> Any:
    rate = rate / (1 + ops.cast(step, rate.dtype) * decay)
    results = []
    for x, gradient, squares in _each(xs, 3):
        gradient = gradient + norm * x
        squares = squares + gradient * gradient
        results.append([x - rate * gradient / (ops.sqrt(squares) + epsilon), squares])
    return _by_kind(results)


@row(
    "ai.onnx.preview.training.Adam: rate step xs*; alpha beta epsilon norm_coefficient:norm norm_coefficient_post:after"
)
def _(
    rate: Any,
    step: Any,
    xs: Any,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 0.0,
    norm: float = 0.0,
    after: float = 0.0,
) -> Any:
    step = ops.cast(step, rate.dtype)
    corrected = rate * ops.sqrt(1 - ops.power(beta, step)) / (1 - ops.power(alpha, step))
    rate = ops.where(ops.greater(step, 0), corrected, rate)
    results = []
    for x, gradient, mean, squares in _each(xs, 4):
        gradient = gradient + norm * x
        mean = alpha * mean + (1 - alpha) * gradient
        squares = beta * squares + (1 - beta) * gradient * gradient
        new = x - rate * mean / (ops.sqrt(squares) + epsilon)
        results.append([(1 - after) * new, mean, squares])
    return _by_kind(results)
