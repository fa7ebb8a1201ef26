"""Keras' losses, metrics and layers whose numbers depend on the whole batch, of which a rank computes a part."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dovetail import ops
from dovetail.distributed import replicas
from keras_dovetail.src import shards
from keras_dovetail.src.tensors import each_leaf

# -- losses -----------------------------------------------------------------------------------------------------------


def weigh_losses(module: ModuleType) -> None:
    """Let losses be such that their mean over the ranks, weighted by rows, is the loss of the whole batch.

    Args:
        module: `keras.src.losses.loss`, which has just been imported.
    """
    losses: Any = module
    reduce = losses.reduce_weighted_values

    @functools.wraps(reduce)
    def reduce_weighted_values(
        values: Any,
        sample_weight: Any = None,
        mask: Any = None,
        reduction: Any = "sum_over_batch_size",
        dtype: Any = None,
    ) -> Any:
        loss = reduce(values, sample_weight, mask, reduction, dtype)
        share = shards.current()
        if share is None or reduction in (None, "none") or len(values.shape) == 0:
            return loss
        if reduction == "sum":
            return loss / share.part if share.part else loss
        weights = sample_weight if reduction == "mean_with_sample_weight" else None
        if weights is None and mask is None:
            return loss
        weights = losses.apply_mask(weights, mask, loss.dtype, "mean_with_sample_weight")
        own = ops.stop_gradient(ops.sum(ops.cast(weights, loss.dtype))) * float(share.part > 0)
        return loss * ops.divide_no_nan(own, ops.all_reduce(own)) / (share.part or 1.0)

    losses.reduce_weighted_values = reduce_weighted_values


# -- metrics ----------------------------------------------------------------------------------------------------------


def update_by_all_rows(module: ModuleType) -> None:
    """Let metrics that are not Keras' own, whose variables may be no sums, see the rows of all ranks.

    Args:
        module: `keras.src.metrics.metric`, which has just been imported.
    """
    metric: Any = module.Metric

    def __init_subclass__(cls: Any, **kwargs: Any) -> None:
        super(metric, cls).__init_subclass__(**kwargs)
        if "update_state" in vars(cls) and not cls.__module__.startswith("keras."):
            cls.update_state = _by_all_rows(cls.update_state)

    metric.__init_subclass__ = classmethod(__init_subclass__)


def _by_all_rows(update: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(update)
    def update_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        share = shards.current()
        if share is None:
            return update(self, *args, **kwargs)
        args, kwargs = each_leaf(lambda v: _all_rows(v, share), (args, kwargs))
        with shards.computing(None):
            return update(self, *args, **kwargs)

    update_state.sees_all_rows = True  # type: ignore[attr-defined]
    return update_state


def _all_rows(value: Any, share: shards.Share) -> Any:
    """The rows of all ranks, if a value has a row for each of this rank's."""
    shape: Any = getattr(value, "shape", ())
    if len(shape) == 0 or shape[0] != share.rows:
        return value
    return replicas.all_rows(value, share.counts)


# -- layers -----------------------------------------------------------------------------------------------------------


def synchronize(module: ModuleType) -> None:
    """Let `BatchNormalization` take `synchronized`, which Keras refuses on other backends than TensorFlow.

    Args:
        module: `keras.src.layers.normalization.batch_normalization`, which has just been imported.
    """
    layer: Any = module.BatchNormalization
    init, of_rank = layer.__init__, layer._moments

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, synchronized: bool = False, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.synchronized = synchronized

    @functools.wraps(of_rank)
    def _moments(self: Any, inputs: Any, mask: Any) -> Any:
        if mask is None or not (self.synchronized and shards.is_shared()):
            return of_rank(self, inputs, mask)
        axes, counts = self._reduction_axes, ops.cast(ops.expand_dims(mask, -1), "bool")

        def total(value: Any) -> Any:
            return shards.total(ops.sum(ops.where(counts, value, ops.zeros_like(value)), axes, keepdims=True))

        count = total(ops.ones_like(inputs)) + module.backend.epsilon()  # as in Keras
        mean = total(inputs) / count
        return ops.squeeze(mean, axes), ops.squeeze(total(ops.square(inputs - mean)) / count, axes)

    layer._moments = _moments
    __init__.__signature__ = inspect.signature(init)  # type: ignore[attr-defined]  # Keras reads names from it
    layer.__init__ = __init__
