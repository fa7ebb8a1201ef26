"""`tf.contrib.sparsemax`: probabilities of which many are 0, and their loss.

Source: Martins and Astudillo 2016, "From Softmax to Sparsemax"; `tf.contrib.sparsemax` of TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import function


@function("contrib.sparsemax.sparsemax", "v1", scope=True)
def sparsemax(logits: Any, name: str | None = None) -> Any:
    """The point of the simplex that is the nearest to each row of (batch, classes)."""
    z = ops.convert(logits)
    z = z - ops.mean(z, 1, True)
    ordered = ops.flip(ops.sort(z), 1)
    count = ops.cumsum(ops.ones_like(z), 1)
    is_in = 1 + count * ordered > ops.cumsum(ordered, 1)
    size = ops.sum(ops.cast(is_in, z.dtype), 1, True)
    threshold = (ops.sum(ops.where(is_in, ordered, 0), 1, True) - 1) / size
    return ops.maximum(z - threshold, 0)


@function("contrib.sparsemax.sparsemax_loss", "v1", scope=True)
def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Any:
    """The loss of each row, whose gradient is the difference of the probabilities and the labels."""
    z = ops.convert(logits)
    z, p, q = z - ops.mean(z, 1, True), ops.convert(sparsemax), ops.cast(labels, z.dtype)
    own = ops.where(p > 0, p * (z - 0.5 * p), 0)
    return ops.sum(own + q * (0.5 * q - z), 1)
