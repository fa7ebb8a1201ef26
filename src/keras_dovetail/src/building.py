"""Losses and metrics that are built before the first step, since a step that makes variables is traced twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.interop.privates import BaseTrainer, KerasTensor, data_adapter_utils, standardize_dtype


def build_by_output(model: Any, batch: Callable[[], Any]) -> None:
    """Build the loss and the metrics of a model that has one output of a known shape.

    For other models, Keras finds shapes in a pass through all layers, the loss and the metrics.

    Args:
        model: a compiled model.
        batch: a function that returns a batch (x, y, sample_weight); called only if there is something to build.

    Raises:
        ValueError: Keras has no loss or metric of a name.
    """
    parts = [part for part in (model._compile_metrics, model._compile_loss) if part is not None and not part.built]
    output = _output(model) if parts else None
    if output is None:
        return
    _, y, _ = data_adapter_utils.unpack_x_y_sample_weight(batch())
    if hasattr(y, "shape"):
        target = KerasTensor(y.shape, standardize_dtype(y.dtype))
        for part in parts:
            part.build(target, output)


def _output(model: Any) -> Any:
    """The output that the loss and the metrics of a model take; None if it is not known."""
    from dovetail.interop.privates import Functional, Sequential  # they inherit from the trainer

    kind = type(model)
    if kind.compute_loss is not BaseTrainer.compute_loss or kind.compute_metrics is not BaseTrainer.compute_metrics:
        return None
    if kind.call not in (Functional.call, Sequential.call):
        return None
    output = getattr(getattr(model, "_functional", model), "output", None)
    if isinstance(output, KerasTensor) and len(output.shape) > 1 and None not in output.shape[1:]:
        return KerasTensor(output.shape, output.dtype)
    return None
