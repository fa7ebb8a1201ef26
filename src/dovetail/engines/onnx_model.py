"""Engines that compute models of ONNX: each segment is a model, which the library of such an engine runs.

They only compile.  NumPy computes single calls, holds all values, and runs the graphs that ONNX cannot say or that the
library refuses, for example since it has no kernel for a dtype.

Libraries pack weights for their kernels only if they are constants of the model.  So weights that a program only reads
are constants.  After they changed they are inputs of a second model, until they have stayed for some calls, twice as
many after each change.
"""

from __future__ import annotations

import logging
import math
import operator
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dovetail.core.base.table import OPS
from dovetail.core.engine import Engine, Segment
from dovetail.core.rules import Rules

logger = logging.getLogger("dovetail.plan")

LARGEST = 1 << 30  # bytes of weights in a model; a message has at most 2 GiB

Loaded: TypeAlias = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]  # a model in a library: inputs → new arrays


@dataclass
class Program:
    """A model of a segment in a library.

    Attributes:
        run: the library's form of it.
        takes: the numbers of the arrays that are its inputs.
        weights: the arrays that are constants of its model.
    """

    run: Loaded
    takes: Sequence[int]
    weights: Sequence[np.ndarray]

    def __call__(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(self.run([arrays[number] for number in self.takes]))

    def has(self, weights: Sequence[np.ndarray]) -> bool:
        """Whether these are the constants of its model; nobody writes to arrays that it refers to."""
        if not _are_same(weights, self.weights):
            if not all(map(np.array_equal, weights, self.weights)):
                return False
            self.weights = weights  # moved from engine to engine, or copied
        return True


def _are_same(arrays: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(map(operator.is_, arrays, others))


class Session:
    """A segment as a program of a library, made again when the number of threads changes and in a forked child.

    Args:
        segment: the segment.
        engine: loads models.

    Attributes:
        packed: the program with the weights as constants; None after they changed.
        open: the program with the weights as inputs; None until it is needed.
    """

    packed: Program | None
    open: Program | None

    def __init__(self, segment: Segment, engine: ModelEngine) -> None:
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

    def _begin(self) -> None:
        self._made_for = self._engine.made_for
        self.packed = self.open = None
        self._latest: list[Any] = [None] * len(self._weights)
        self._calls = 0

    def _program(self, weights: Sequence[np.ndarray] = ()) -> Program:
        """The program whose model has these weights as constants."""
        constants = dict(zip(self._weights, weights, strict=False))
        numbers = [number for number in range(len(self._segment.inputs)) if number not in constants]
        return Program(self._loaded(constants), numbers, weights)

    def _loaded(self, constants: dict[int, np.ndarray]) -> Loaded:
        """The segment in the library: as the file has it that it was read from, or else as Dovetail writes it."""
        file = self._segment.file("onnx", constants)
        if file is not None:
            try:
                return self._engine.load(file)
            except self._engine.errors as error:  # for example, it is of a version that the library does not know
                logger.info("%s does not take %r as it stands: %s", self._engine.name, self._segment.graph.name, error)
        return self._engine.load(self._segment.to("onnx", constants))

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        if self._made_for is not self._engine.made_for:
            self._begin()
        return self._program_for([arrays[number] for number in self._weights])(arrays)

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
        program = self.open = self.open or self._program()
        return program


class ModelEngine(Engine):
    """An engine of a library that computes models of ONNX.

    Attributes:
        dtypes: the names of the dtypes that it computes as they are.
        threads: the number of threads of its sessions; 0 leaves it to the library.
        made_for: an object for all sessions that need not be made again.
    """

    eager = "numpy"
    compiles_programs = True
    fuses_elementwise = True
    claimed = frozenset(OPS)  # of ops that ONNX lacks, the bodies leave
    dtypes: ClassVar[Collection[str]]

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
        self.made_for = object()

    def load(self, model: bytes) -> Loaded:
        """A model in the library, with `threads` threads that do not spin between calls."""
        raise NotImplementedError

    def computes(self, tensor: Any) -> bool:
        """Whether the library computes such values as they are."""
        return tensor.dtype.name in self.dtypes

    def claims(self, operation: Any) -> Collection[str]:
        return self.claimed if all(map(self.computes, (*operation.inputs, *operation.outputs))) else ()

    def compile(self, segment: Segment) -> Callable[..., Sequence[Any]]:
        for tensor in (*segment.inputs, *segment.outputs):  # some may be constants, which are not asked about
            if not self.computes(tensor):
                raise NotImplementedError(f"it does not compute {tensor.spec!r}, as {tensor.name} is.")
        return Session(segment, self)

    def set_threads(self, count: int) -> bool:
        self.threads, self.made_for = count, object()
        return True
