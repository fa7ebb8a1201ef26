"""The ONNX Runtime engine: each segment is a model of ONNX, which a session of ONNX Runtime computes.

It only compiles.  NumPy computes single calls, holds all values, and runs the graphs that ONNX cannot say or that ONNX
Runtime refuses, for example since it has no kernel for a dtype.  A session reads its arguments where they are, and its
results are arrays in its own memory, so nothing is copied.

ONNX Runtime packs weights for its kernels only if they are constants of the model.  So weights that a program only
reads are constants.  After they changed they are inputs of a second model, until they have stayed for some calls, twice
as many after each change.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
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
LARGEST = 1 << 30  # bytes of weights in a model; a message has at most 2 GiB


@dataclass
class Program:
    """A session of ONNX Runtime.

    Attributes:
        library: the library's own session.
        takes: the names of its inputs, and the numbers of their arrays.
        weights: the arrays that are constants of its model.
    """

    library: Any
    takes: dict[str, int]
    weights: Sequence[np.ndarray]

    def has(self, weights: Sequence[np.ndarray]) -> bool:
        """Whether these are the constants of its model; nobody writes to arrays that it refers to."""
        if not _are_same(weights, self.weights):
            if not all(map(np.array_equal, weights, self.weights)):
                return False
            self.weights = weights  # moved from engine to engine, or copied
        return True

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(self.library.run(None, {name: arrays[number] for name, number in self.takes.items()}))


def _are_same(arrays: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(map(operator.is_, arrays, others))


class Session:
    """A segment as a program of ONNX Runtime, made again when the number of threads changes and in a forked child.

    Args:
        segment: the segment.
        engine: says how many threads compute it.

    Attributes:
        packed: the program with the weights as constants; None after they changed.
        open: the program with the weights as inputs; None until it is needed.
    """

    packed: Program | None
    open: Program | None

    def __init__(self, segment: Segment, engine: OnnxRuntimeEngine) -> None:
        self._segment, self._engine = segment, engine
        variables = segment.weights.values()
        fits = sum(math.prod(v.shape) * v.dtype.itemsize for v in variables) <= LARGEST
        self._weights = [*segment.weights] if fits else []
        self._patience = 1  # calls with the weights of the call before, until these are constants
        self._begin()
        if all(variable.is_held for variable in variables):
            self.packed = self._program([variable.numpy() for variable in variables] if fits else ())
        else:
            self.open = self._program()
        engine.sessions.add(self)

    def _begin(self) -> None:
        self._made_for = self._engine.made_for
        self.packed = self.open = None
        self._latest: list[Any] = [None] * len(self._weights)
        self._calls = 0

    def _program(self, weights: Sequence[np.ndarray] = ()) -> Program:
        """The program whose model has these weights as constants."""
        constants = dict(zip(self._weights, weights, strict=False))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._engine.threads
        options.log_severity_level = QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = self._segment.to("onnx", constants)
        library = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [value.name for value in library.get_inputs()]
        numbers = [number for number in range(len(self._segment.inputs)) if number not in constants]
        return Program(library, dict(zip(names, numbers, strict=True)), weights)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if self._made_for is not self._engine.made_for:
            self._begin()
        return self._program_for([arrays[number] for number in self._weights]).run(arrays)

    def _program_for(self, weights: list[Any]) -> Program:
        """The program for some weights, which are constants of the model if they have stayed for long enough."""
        packed = self.packed
        if packed is not None:
            if packed.has(weights):
                return packed
            self.packed, self._patience = None, 2 * self._patience
        self._calls = self._calls + 1 if _are_same(weights, self._latest) else 0
        self._latest = weights
        if self._calls >= self._patience:
            self.packed = packed = self._program(weights)
            return packed
        found = self.open = self.open or self._program()
        return found


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
        for program in (found for session in self.sessions for found in (session.packed, session.open)):
            if program is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(program.library))


engine = OnnxRuntimeEngine(Rules())
