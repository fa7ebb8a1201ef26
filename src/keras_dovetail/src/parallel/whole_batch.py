"""Keras' losses, metrics and layers whose numbers depend on the whole batch, of which a rank computes a part."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from dovetail import ops
from dovetail.core.engines.collectives import WORLD
from dovetail.interop.privates import PRIVATES
from keras_dovetail.src.parallel import merging, shards

COMPARE_ROWS = {"Circle"}  # losses of each row that depend on the other rows of the batch
MIX_ROWS = {"MixUp", "CutMix"}  # layers


def follow_ranks() -> None:
    """Change Keras' classes once several ranks have met; until then, Keras is as it was."""
    if WORLD.size > 1:
        _change_keras()
    else:
        WORLD.followers.append(_change_keras)


@functools.cache  # once
def _change_keras() -> None:
    for module, change in CHANGED.items():
        change(import_module(module))


# -- losses -----------------------------------------------------------------------------------------------------------


def weigh_losses(module: ModuleType) -> None:
    """Let losses be such that their mean over the ranks, weighted by rows, is the loss of the whole batch.

    A loss that is no mean of rows, as Dice, sees the rows of all ranks.

    Args:
        module: `keras.src.losses.loss`.
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
    _change_in_classes(losses.Loss, "call", _of_whole_batch)


def _of_whole_batch(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function that sees the rows of all ranks if it gives no result for each row, or compares rows."""
    if getattr(compute, "__qualname__", "") == "CompileLoss.call":  # it adds up losses
        return compute

    @functools.wraps(compute)
    def run(*args: Any, **kwargs: Any) -> Any:
        results = compute(*args, **kwargs)
        if shards.current() is None or (_is_by_row(results) and type(args[0]).__name__ not in COMPARE_ROWS):
            return results
        return shards.by_all_rows(functools.partial(compute, **kwargs), *args)

    return run


def _is_by_row(values: Any) -> bool:
    return isinstance(values, (list, tuple)) or len(getattr(values, "shape", ())) > 0


def _change_in_classes(base: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Change a method in each class that inherits, or will inherit, from another one, and defines it."""

    def change_in(cls: Any) -> None:
        if name in vars(cls):
            setattr(cls, name, change(vars(cls)[name]))

    def __init_subclass__(cls: Any, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        change_in(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)
    for cls in _subclasses(base):
        change_in(cls)


def _subclasses(base: Any) -> set[Any]:
    own = {*base.__subclasses__()}
    return own.union(*map(_subclasses, own))


# -- metrics ----------------------------------------------------------------------------------------------------------


def update_by_all_rows(module: ModuleType) -> None:
    """Let metrics that are not Keras' own, whose variables may be no sums, see the rows of all ranks.

    Args:
        module: `keras.src.metrics.metric`.
    """
    _change_in_classes(module.Metric, "update_state", _by_all_rows)


def _by_all_rows(update: Callable[..., Any]) -> Callable[..., Any]:
    if update.__module__.startswith("keras."):
        return update

    @functools.wraps(update)
    def update_state(*args: Any, **kwargs: Any) -> Any:
        return shards.by_all_rows(lambda args, kwargs: update(*args, **kwargs), args, kwargs)

    update_state.sees_all_rows = True  # type: ignore[attr-defined]
    return update_state


def weigh_scalars(module: ModuleType) -> None:
    """Let `Mean` weigh a number of a batch, such as its loss, by the rank's rows.

    Args:
        module: `keras.src.metrics.reduction_metrics`.
    """
    metrics: Any = module
    mean = metrics.Mean.update_state

    @functools.wraps(mean)
    def of_values(self: Any, values: Any, sample_weight: Any = None) -> Any:
        share = shards.current()
        if share is not None and sample_weight is None and not _is_by_row(values):
            sample_weight = share.part  # the ranks' parts are 1 together
        return mean(self, values, sample_weight)

    @functools.wraps(metrics.MeanMetricWrapper.update_state)
    def of_function(self: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        values = _of_whole_batch(functools.partial(self._fn, **self._fn_kwargs))(y_true, y_pred)
        mask = module.backend.get_keras_mask(y_pred)
        weights = module.losses.loss.apply_mask(sample_weight, mask, dtype=self.dtype, reduction="sum")
        return metrics.Mean.update_state(self, values, weights)

    metrics.Mean.update_state, metrics.MeanMetricWrapper.update_state = of_values, of_function


# -- layers -----------------------------------------------------------------------------------------------------------


def check(model: Any) -> None:
    """Raise an error if a layer keeps a state for each row of the batches that ranks divide.

    Raises:
        ValueError: a layer is stateful.
    """
    if shards.reads_all() and (layers := merging.stateful(model)):
        raise ValueError(
            f"the layer {layers[0].name!r} is stateful: it keeps a state for each row of a batch, but a rank has part "
            f"of the rows. Use keras.distribution.DataParallel(auto_shard_dataset=False), and give each rank batches "
            f"of its own sequences."
        )


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


def mix_all_rows(module: ModuleType) -> None:
    """Let layers that mix rows of a batch, as `MixUp`, mix the rows of all ranks.

    Args:
        module: `keras.src.layers.preprocessing.image_preprocessing.base_image_preprocessing_layer`.
    """
    layer: Any = module.BaseImagePreprocessingLayer
    of_rank = layer.call

    @functools.wraps(of_rank)
    def call(self: Any, data: Any, training: bool = True) -> Any:
        if MIX_ROWS.isdisjoint(kind.__name__ for kind in type(self).__mro__):
            return of_rank(self, data, training)
        return shards.by_all_rows(lambda rows: of_rank(self, rows, training), data)

    layer.call = call


CHANGED: dict[str, Callable[[ModuleType], None]] = {
    PRIVATES["loss_module"]: weigh_losses,
    PRIVATES["metric_module"]: update_by_all_rows,
    PRIVATES["reduction_metrics"]: weigh_scalars,
    PRIVATES["image_layers"]: mix_all_rows,
}
