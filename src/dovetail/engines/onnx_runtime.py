"""The ONNX Runtime engine.  A session reads its arguments where they are; its results are arrays in its own memory."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from dovetail.core.base.errors import LIBRARIES
from dovetail.core.rules import Rules
from dovetail.engines.onnx_model import ModelEngine

INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
ERRORS = tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
QUIET = 4  # the level of ONNX Runtime's log without errors, which are raised, too


class LoadedModel:
    """A session of ONNX Runtime.

    Args:
        library: the library's own session.
    """

    def __init__(self, library: Any) -> None:
        self.library = library
        self._names = [value.name for value in library.get_inputs()]

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self.library.run(None, dict(zip(self._names, arrays, strict=True)))


class OnnxRuntimeEngine(ModelEngine):
    """ONNX Runtime on the processor."""

    name = "onnxruntime"
    errors = (*LIBRARIES, *ERRORS)
    dtypes = frozenset(["bool", "float16", "float32", "float64", *INTEGERS])

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self._loaded: weakref.WeakSet[LoadedModel] = weakref.WeakSet()

    def version(self) -> str:
        return onnxruntime.__version__

    def load(self, model: bytes) -> LoadedModel:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = QUIET
        options.add_session_config_entry("session.force_spinning_stop", "1")  # as soon as no call runs
        loaded = LoadedModel(onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]))
        self._loaded.add(loaded)
        return loaded

    def go_on_in_child(self) -> None:
        """Let sessions be made again, and never free the parent's: that would wait for threads that a fork lacks."""
        self.made_for = object()
        for loaded in self._loaded:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded.library))


engine = OnnxRuntimeEngine(Rules())
