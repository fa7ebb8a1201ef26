"""TensorFlow 1's `legacy_seq2seq`: losses of sequences, given as lists of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import V1, function
from dovetail.core.value_kinds import dtype_of
from dovetail.ops.shapes.shape import dims_of


@function("contrib.legacy_seq2seq.sequence_loss_by_example nn.seq2seq.sequence_loss_by_example", "v1", scope=True)
def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The cross entropy of each sequence, weighted by step.

    Args:
        logits: for each step, (batch, classes).
        targets: for each step, class numbers (batch,).
        weights: for each step, (batch,).
        average_across_timesteps: whether the sum is divided by the sum of the weights.
        softmax_loss_function: (labels, logits) → the losses, for another loss.

    Raises:
        ValueError: the lists differ in length.

    Source: `tf.contrib.legacy_seq2seq.sequence_loss_by_example`.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(f"there are {len(logits)} logits, {len(targets)} targets and {len(weights)} weights.")
    loss = softmax_loss_function or V1["nn.sparse_softmax_cross_entropy_with_logits"]
    losses = [
        ops.multiply(loss(labels=ops.reshape(target, [-1]), logits=logit), weight)
        for logit, target, weight in zip(logits, targets, weights, strict=True)
    ]
    total = reduce(ops.add, losses)
    return ops.divide(total, ops.add(reduce(ops.add, weights), 1e-12)) if average_across_timesteps else total


@function("contrib.legacy_seq2seq.sequence_loss nn.seq2seq.sequence_loss", "v1", scope=True)
def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The sum of `sequence_loss_by_example`, or its mean.

    Source: `tf.contrib.legacy_seq2seq.sequence_loss`.
    """
    found = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
    total = ops.sum(found)
    return ops.divide(total, ops.cast(dims_of(found)[0], dtype_of(found))) if average_across_batch else total
