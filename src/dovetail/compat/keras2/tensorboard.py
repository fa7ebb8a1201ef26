"""The TensorBoard callback's `writer` and `_write_logs` of Keras 2.2, for programs that write more with them."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch

VIEW = "dovetail.compat.tensorflow.compat.v1"


def patches() -> Iterable[Patch]:
    """Yield the changes of the callback.

    What `set_model` sets has defaults, too, since programs replace that method.
    """
    cls = keras.callbacks.TensorBoard
    yield Patch(cls, "_write_logs", _write_logs)
    yield Patch(cls, "_should_write_train_graph", False)
    for name, make in DEFAULTS.items():
        value = functools.cached_property(make)
        value.__set_name__(cls, name)
        yield Patch(cls, name, value)


def _writer(self: Any) -> Any:
    """A writer of TensorFlow 1 into the callback's folder, made when a program first asks for it."""
    return import_module(VIEW).summary.FileWriter(self.log_dir)


DEFAULTS = {
    "writer": _writer,
    "_train_dir": lambda self: os.path.join(self.log_dir, "train"),
    "_val_dir": lambda self: os.path.join(self.log_dir, "validation"),
    "_writers": lambda self: {},
}


def _write_logs(self: Any, logs: dict[str, Any], index: int) -> None:
    """Write results as scalars of a step, as Keras 2.2 did at the end of each epoch."""
    summaries = import_module(VIEW).Summary
    for name, value in logs.items():
        if name not in ("batch", "size"):
            summary = summaries(value=[summaries.Value(tag=name, simple_value=float(value))])
            self.writer.add_summary(summary, index)
    self.writer.flush()
