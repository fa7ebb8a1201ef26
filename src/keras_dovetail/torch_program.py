"""The call of a model as a module of torch, which calls the functions that the engine torch would call."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.engine import Engine
from dovetail.core.engines.devices import placed_on
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.rules import PROGRAM, Rule
from dovetail.core.values.infer import CARRIES_NAN
from dovetail.core.values.structure import flatten, unflatten
from dovetail.engines.symbolic_dimensions import on_elements
from dovetail.execute.buffers import BufferPlan
from dovetail.execute.claims import require_claimed
from dovetail.execute.lower import lower
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.passes.pure_program import pure_copy
from dovetail.passes.resolve import resolved

if TYPE_CHECKING:
    from dovetail.functions.function import Trace

DEVICE = "cpu:0"
BATCH, SIZE = 2, 64  # of samples, for unknown dimensions: torch takes 0 and 1 for constants


class _WithSizes:
    """The engine torch for programs of any size: shapes, and what is computed of them, are arrays of objects.

    A tensor of torch would hold the numbers of one size.  Constant integers are NumPy's arrays, as shapes need them.

    Args:
        engine: the engine torch.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    @property
    def rules(self) -> _WithSizes:
        return self

    def specialized_rule(self, operation: Any) -> None:
        """None: the rules for all sizes are called."""

    def asarray(self, value: Any, dtype: DType, device: str | None = None) -> Any:
        return np.asarray(value) if dtype.is_integer else self._engine.asarray(value, dtype, device)

    def to_ints(self, value: Any) -> tuple[int, ...]:
        return tuple(value.reshape(-1).tolist())

    def rule_for(self, operation: Any, layer: str = PROGRAM, preferred: Collection[str] = ()) -> Rule | None:
        rule = self._engine.rule_for(operation, layer, preferred)
        return rule and partial(self._run, operation.type, rule)

    def _run(self, name: str, rule: Rule, *args: Any) -> Any:
        if name == "Shape":
            return np.array(args[0].shape, object)
        kinds = {type(leaf) for arg in args for leaf in (arg if type(arg) is list else [arg])}
        if np.ndarray in kinds and torch.Tensor not in kinds and name in CARRIES_NAN:
            return np.asarray(on_elements(name, [_of_objects(arg) for arg in args]), object)
        return rule(*map(self.array, args))

    def array(self, value: Any) -> Any:
        """A value in which tensors of torch stand for NumPy's arrays."""
        if type(value) is list:
            return [self.array(v) for v in value]
        if type(value) is not np.ndarray:
            return value
        return torch.tensor(value.tolist(), dtype=torch.int32) if value.dtype == object else torch.from_numpy(value)


def _of_objects(value: Any) -> Any:
    if type(value) is list:
        return [_of_objects(v) for v in value]
    return value.astype(object) if type(value) is np.ndarray else value


class Program(torch.nn.Module):
    """The program of a trace, without buffers of its own; it takes the trace's arguments.

    Args:
        trace: the trace.  What it assigns is left out.

    Attributes:
        weights: the variables that it reads, by name.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        engine = get_engine("torch")
        pure = pure_copy(resolved(trace.concrete.graph, "keras.Model.export"))
        pure.graph.outputs = pure.graph.outputs[: pure.results]
        graph = optimized_copy(pure.graph, engine, device=DEVICE)
        require_claimed(graph, Place(engine, DEVICE))
        self._engine, self._rebuild = _WithSizes(engine), trace.rebuild
        # It has no buffers: what it writes into would be constants of the program.
        function = lower(graph, Place(self._engine, DEVICE), BufferPlan()).function  # type: ignore[arg-type]
        self._function = placed_on(engine, DEVICE)(function)
        self.weights = torch.nn.ParameterDict()  # it would sort a dict
        for variable in pure.read:
            array = engine.asarray(variable.numpy(), variable.dtype, DEVICE)
            name = variable.name.replace(".", "_")
            name = name if name not in self.weights else f"{name}_{len(self.weights)}"
            self.weights[name] = torch.nn.Parameter(array, requires_grad=variable.trainable)

    def forward(self, *args: Any) -> Any:
        leaves, _ = flatten(args)
        return self._rebuild(self._engine.array(list(self._function(*leaves, *self.weights.values()))))


def samples_of(trace: Trace) -> tuple[Any, ...]:
    """Arguments for a trace, with ones."""
    ones = [torch.ones(_sizes(spec.shape), dtype=getattr(torch, as_dtype(spec.dtype))) for spec in trace.leaves]
    return unflatten(trace.structure, ones)


def _sizes(shape: tuple[int | None, ...]) -> list[int]:
    return [(BATCH if axis == 0 else SIZE) if size is None else size for axis, size in enumerate(shape)]


def dimensions_of(trace: Trace) -> tuple[Any, ...]:
    """The unknown dimensions of a trace's arguments, as `torch.export` takes them; the first ones are one size."""
    batch, free = torch.export.Dim("batch"), torch.export.Dim.DYNAMIC
    unknown = [
        {axis: batch if axis == 0 else free for axis, size in enumerate(spec.shape) if size is None}
        for spec in trace.leaves
    ]
    return unflatten(trace.structure, unknown)
