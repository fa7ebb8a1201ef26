"""Keras' TensorBoard callback on Dovetail: it writes event files without TensorFlow, and does not profile."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

PLUGIN, VERSION = "graph_keras_model", b"1"  # of TensorBoard, for the configuration of a model


def _refuse(*args: Any) -> NoReturn:
    raise NotImplementedError("the dovetail backend does not profile for TensorBoard; pass profile_batch=0.")


start_trace = stop_trace = start_batch_trace = stop_batch_trace = _refuse


def write_by_dovetail(module: ModuleType) -> None:
    """Let the callback write summaries by Dovetail's `tf.summary`.

    Args:
        module: `keras.src.callbacks.tensorboard`, which has just been imported.
    """
    module.TensorBoard.summary = property(lambda callback: _summary())
    module.keras_model_summary = _model_summary  # type: ignore[attr-defined]


def _summary() -> Any:
    return import_module("dovetail.compat.tensorflow").compat.v2.summary


def _model_summary(name: str, data: Any, step: Any = None) -> bool:
    """Write the configuration of a model, by which TensorBoard draws its layers; return whether it is written."""
    try:
        configuration = data.to_json()
    except Exception as error:
        warnings.warn(f"TensorBoard gets no picture of the model, which has no JSON: {error}", stacklevel=2)
        return False
    summaries = import_module("dovetail.formats.wire.summaries")
    return _summary().write(name, configuration, step, summaries.metadata(PLUGIN, 0, content=VERSION))
