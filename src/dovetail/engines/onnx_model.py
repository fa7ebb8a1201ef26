"""The ONNX Runtime engine: each segment is a model of ONNX, which a session of ONNX Runtime computes.

It only compiles.  NumPy computes single calls, holds all values, and runs the graphs that ONNX cannot say or that ONNX
Runtime refuses, for example since it has no kernel for a dtype.  A session reads its arguments where they are, and its
results are arrays in its own memory, so nothing is copied.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from dovetail.core.engine import Engine, Segment
from dovetail.core.errors import LIBRARIES
from dovetail.core.rules import Rules
from dovetail.core.table import OPS

INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = frozenset(["bool", "float16", "float32", "float64", *INTEGERS])
ERRORS = tuple(found for found in vars(state).values() if isinstance(found, type) and issubclass(found, Exception))
QUIET = 4  # the level of ONNX Runtime's log without errors, which are raised, too


class Session:
    """A program of ONNX Runtime, made again when the number of threads changes and in a forked child.

    Args:
        model: the bytes of a model of ONNX.
        engine: says how many threads compute it.

    Attributes:
        library: ONNX Runtime's own session.
    """

    library: Any

    def __init__(self, model: bytes, engine: OnnxRuntimeEngine) -> None:
        self._model, self._engine = model, engine
        self._make()
        engine.sessions.add(self)

    def _make(self) -> None:
        self._made_for = self._engine.made_for
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._engine.threads
        options.log_severity_level = QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.library = onnxruntime.InferenceSession(self._model, options, providers=["CPUExecutionProvider"])
        self._names = [value.name for value in self.library.get_inputs()]

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if self._made_for is not self._engine.made_for:
            self._make()
        return tuple(self.library.run(None, dict(zip(self._names, arrays, strict=True))))


class OnnxRuntimeEngine(Engine):
    """ONNX Runtime on the processor.

    Attributes:
        threads: the number of threads of its sessions; 0 leaves it to ONNX Runtime.
        made_for: an object for all sessions that need not be made again.
        sessions: its sessions.
    """

    name = "onnxruntime"
    eager = "numpy"
    compiles_programs = True
    fuses_elementwise = True
    errors = (*LIBRARIES, *ERRORS)
    claimed = frozenset(OPS) - {"Print"}  # which models drop; ops that ONNX lacks leave as those of their bodies

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
        self.made_for = object()
        self.sessions: weakref.WeakSet[Session] = weakref.WeakSet()

    def version(self) -> str:
        return onnxruntime.__version__

    def claims(self, operation: Any) -> Collection[str]:
        return self.claimed if all(t.dtype.name in DTYPES for t in (*operation.inputs, *operation.outputs)) else ()

    def compile(self, segment: Segment) -> Callable[..., Sequence[Any]]:
        return Session(segment.to("onnx"), self)

    def set_threads(self, count: int) -> bool:
        self.threads, self.made_for = count, object()
        return True

    def go_on_in_child(self) -> None:
        """Let sessions be made again, and never free the parent's: that would wait for threads that a fork lacks."""
        self.made_for = object()
        for session in self.sessions:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session.library))


engine = OnnxRuntimeEngine(Rules())
