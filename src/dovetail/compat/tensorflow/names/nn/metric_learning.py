"""`tf.contrib.losses.metric_learning`: losses of embeddings, which are close for examples of one class.

Source: `tf.contrib.losses.metric_learning` of TensorFlow 1.15, the function of the same name.
"""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.table import function

PLACE = "contrib.losses.metric_learning"


@function(f"{PLACE}.contrastive_loss", "v1", scope=True)
def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: Any = 1.0, name: str | None = None
) -> Any:
    """The mean of the squared distances of like pairs, and of the squares of what others lack of a margin.

    Args:
        labels: 1 for a like pair, 0 for another.
        embeddings_anchor, embeddings_positive: (batch, width).
    """
    far = ops.sqrt(ops.sum(ops.square(ops.subtract(embeddings_anchor, embeddings_positive)), 1))
    like = ops.cast(labels, far.dtype)
    return ops.mean(like * ops.square(far) + (1 - like) * ops.square(ops.maximum(margin - far, 0)))


@function(f"{PLACE}.npairs_loss", "v1", scope=True)
def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
    name: str | None = None,
) -> Any:
    """The cross entropy of the products of all pairs with whether they are like, and a penalty of large embeddings.

    Args:
        labels: the class of each pair.
        embeddings_anchor, embeddings_positive: (batch, width), row by row of one class.
        reg_lambda: the weight of the penalty.
    """
    sizes = [ops.mean(ops.sum(ops.square(x), 1)) for x in (embeddings_anchor, embeddings_positive)]
    like = ops.cast(_alike(labels), "float32")
    products = ops.matmul(embeddings_anchor, ops.transpose(ops.convert(embeddings_positive)))
    entropies = -ops.sum(like / ops.sum(like, 1, True) * ops.log_softmax(products), 1)
    return 0.25 * reg_lambda * (sizes[0] + sizes[1]) + ops.mean(entropies)


@function(f"{PLACE}.triplet_semihard_loss", "v1", scope=True)
def triplet_semihard_loss(labels: Any, embeddings: Any, margin: Any = 1.0, name: str | None = None) -> Any:
    """The mean, over all pairs of a class, of what they are farther apart than a third example less a margin.

    The third example is the nearest one of another class that is farther away than the pair; if there is none, the
    farthest one of another class.  Distances are squared.

    Args:
        labels: the class of each example.
        embeddings: (batch, width).
    """
    x, alike = ops.convert(embeddings), _alike(labels)
    squares = ops.sum(ops.square(x), 1)
    numbers = ops.cumsum(ops.ones_like(squares))
    diagonal = ops.cast(ops.equal(ops.expand_dims(numbers, 1), numbers), x.dtype)
    products = ops.matmul(x, ops.transpose(x))
    far = ops.maximum(ops.expand_dims(squares, 1) + squares - 2 * products, 0) * (1 - diagonal)
    other = ops.logical_not(alike)
    is_outside = ops.logical_and(ops.expand_dims(other, 1), ops.expand_dims(far, 1) > ops.expand_dims(far, 2))
    most = ops.max(far, 1, True)
    outside = ops.min(ops.where(is_outside, ops.expand_dims(far, 1), ops.expand_dims(most, 1)), 2)
    inside = ops.max(ops.where(other, far, ops.min(far, 1, True)), 1, True)
    third = ops.where(ops.any(is_outside, 2), outside, inside)
    pairs = ops.cast(alike, x.dtype) - diagonal
    return ops.sum(ops.maximum((margin + far - third) * pairs, 0)) / ops.sum(pairs)


def _alike(labels: Any) -> Any:
    """Whether two examples are of one class, (batch, batch)."""
    column = ops.reshape(labels, [-1, 1])
    return ops.equal(column, ops.transpose(column))
