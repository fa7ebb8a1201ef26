"""The ONNX Runtime engine: each segment is a model of ONNX, which a session of ONNX Runtime computes.

It only compiles.  NumPy computes single calls, holds all values, and runs the graphs that ONNX cannot say or that ONNX
Runtime refuses, for example since it has no kernel for a dtype.  A session reads its arguments where they are, and its
results are arrays in its own memory, so nothing is copied.

ONNX Runtime packs weights for its kernels only if they are constants of the model.  So a program whose weights stay
gets a second model, which has them as constants, and runs it until they change.
"""

from __future__ import annotations

import ctypes
import operator
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

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
PATIENCE = 2  # calls with the weights of the call before, until these are constants; doubled when they change
LARGEST = 1 << 30  # bytes of weights in a model; a message has at most 2 GiB


class Program(NamedTuple):
    """A session of ONNX Runtime.

    Attributes:
        library: the library's own session.
        takes: the names of its inputs, and the numbers of their arrays.
        weights: the arrays that are constants of its model.
    """

    library: Any
    takes: dict[str, int]
    weights: Sequence[np.ndarray]

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(self.library.run(None, {name: arrays[number] for name, number in self.takes.items()}))


class Session:
    """A segment as a program of ONNX Runtime, made again when the number of threads changes and in a forked child.

    Args:
        segment: the segment.
        engine: says how many threads compute it.
    """

    def __init__(self, segment: Segment, engine: OnnxRuntimeEngine) -> None:
        self._segment, self._engine = segment, engine
        size = sum(segment.inputs[number].spec.nbytes or 0 for number in segment.weights)
        self._weights = segment.weights if size <= LARGEST else ()
        self._patience = PATIENCE
        self._make()
        engine.sessions.add(self)

    def _make(self) -> None:
        self._made_for = self._engine.made_for
        self._latest: list[Any] = [None] * len(self._weights)  # nobody writes to arrays that are referred to
        self._calls = 0  # in a row, with the weights of the call before
        self._packed: Program | None = None
        self._open = self._program()

    def _program(self, constants: Sequence[int] = (), weights: Sequence[np.ndarray] = ()) -> Program:
        """The program whose model has some inputs as constants."""
        model = self._segment.to("onnx", dict(zip(constants, weights, strict=True)))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._engine.threads
        options.log_severity_level = QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        library = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [value.name for value in library.get_inputs()]
        numbers = [number for number in range(len(self._segment.inputs)) if number not in constants]
        return Program(library, dict(zip(names, numbers, strict=True)), weights)

    @property
    def programs(self) -> list[Program]:
        """Its programs; the last one has weights as constants if there are two."""
        return [self._open] if self._packed is None else [self._open, self._packed]

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if self._made_for is not self._engine.made_for:
            self._make()
        weights = [arrays[number] for number in self._weights]
        return (self._program_for(weights) if weights else self._open).run(arrays)

    def _program_for(self, weights: list[Any]) -> Program:
        """The program for some weights, which are constants of the model if they have stayed for long enough."""
        packed = self._packed
        if packed is not None:
            if all(map(operator.is_, weights, packed.weights)):
                return packed
            self._packed, self._patience = None, 2 * self._patience
        self._calls = self._calls + 1 if all(map(operator.is_, weights, self._latest)) else 0
        self._latest = weights
        if self._calls < self._patience:
            return self._open
        self._packed = packed = self._program(self._weights, weights)
        return packed


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
    claimed = frozenset(OPS)  # ops that ONNX lacks leave as those of their bodies

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
        return Session(segment, self)

    def set_threads(self, count: int) -> bool:
        self.threads, self.made_for = count, object()
        return True

    def go_on_in_child(self) -> None:
        """Let sessions be made again, and never free the parent's: that would wait for threads that a fork lacks."""
        self.made_for = object()
        for program in (program for session in self.sessions for program in session.programs):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(program.library))


engine = OnnxRuntimeEngine(Rules())
