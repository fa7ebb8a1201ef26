"""Cross-entropies of the outputs of softmax and sigmoid: they are computed from the scores, as Keras 2 did."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import keras

from dovetail import ops
from dovetail.backend import logits
from dovetail.compat.keras2.patches import Patch
from dovetail.core.calls.gradients import RegisterGradient, gradient_override_map
from dovetail.interop import privates

GRADIENT = "SoftmaxWithoutLabelsInKeras2"


def patches() -> Iterable[Patch]:
    """Yield the changes of the backend's functions, if Keras runs on Dovetail."""
    if keras.config.backend() == "dovetail":
        nn = privates.backend_nn
        yield Patch(nn, "categorical_crossentropy", _of_scores(nn.categorical_crossentropy, _of_classes))
        sparse = nn.sparse_categorical_crossentropy
        yield Patch(
            nn, "sparse_categorical_crossentropy", _of_scores(sparse, functools.partial(sparse, from_logits=True))
        )
        yield Patch(nn, "binary_crossentropy", _of_scores(nn.binary_crossentropy, _of_one))


def _of_scores(loss: Callable[..., Any], of_scores: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a loss of probabilities: where scores are given or known, another function computes it from these."""

    @functools.wraps(loss)
    def call(target: Any, output: Any, from_logits: bool = False, **options: Any) -> Any:
        scores = output if from_logits else logits.recall(output)
        return loss(target, output, **options) if scores is None else of_scores(target, scores, **options)

    return call


def _of_classes(target: Any, scores: Any, axis: int = -1) -> Any:
    """The loss of classes, with TensorFlow's gradient also where the target has no class, as in padded sequences."""
    with gradient_override_map({"SoftmaxCrossEntropyWithLogits": GRADIENT}):
        return ops.softmax_cross_entropy_with_logits(ops.cast(target, scores.dtype), scores, axis)


def _of_one(target: Any, scores: Any) -> Any:
    """The loss of one probability for each element, which is not clipped: Keras 3 clips the sigmoid of scores."""
    return ops.sigmoid_cross_entropy_with_logits(ops.cast(target, scores.dtype), scores)


@RegisterGradient(GRADIENT)
def _(op: Any, g: Any) -> tuple[Any, Any]:
    target, scores, axis = op.args
    g = ops.expand_dims(g, axis)
    return -(g * ops.log_softmax(scores, axis)), g * (ops.softmax(scores, axis) - target)
