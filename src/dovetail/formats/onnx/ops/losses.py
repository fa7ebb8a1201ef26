"""Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.onnx.table import row


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
