"""Keras' TensorBoard callback on Dovetail: it writes event files without TensorFlow, and profiles by Dovetail."""

from __future__ import annotations

import functools
import inspect
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

PLUGIN, VERSION = "graph_keras_model", b"1"  # of TensorBoard, for the configuration of a model


def start_trace(logdir: str) -> None:
    """Open a profile of the batches to come, for a folder of logs."""
    _profiler().start(logdir)


def stop_trace(save: bool) -> None:
    """Close the profile, and write it into its folder if asked to."""
    _profiler().stop(save)


def start_batch_trace(batch: int) -> Any:
    """Begin the span of a batch."""
    span = _profiler().Trace(f"batch {batch}")
    span.__enter__()
    return span


def stop_batch_trace(span: Any) -> None:
    """End the span of a batch."""
    span.__exit__(None, None, None)


def _profiler() -> Any:
    return import_module("dovetail.compat.tensorflow").profiler.experimental


def write_by_dovetail(module: ModuleType) -> None:
    """Let the callback write summaries by Dovetail's `tf.summary`, and profile on every engine.

    Args:
        module: `keras.src.callbacks.tensorboard`, which has just been imported.
    """
    original = module.TensorBoard.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(callback: Any, *args: Any, **kwargs: Any) -> None:  # Keras' own profiles on jax and TensorFlow alone
        given = signature.bind(callback, *args, **kwargs)
        batches = given.arguments.get("profile_batch", 0)
        given.arguments["profile_batch"] = 0
        original(*given.args, **given.kwargs)
        callback._init_profile_batch(batches)

    module.TensorBoard.__init__ = __init__
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
