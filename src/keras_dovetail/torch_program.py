"""The call of a model as a module of torch, which calls the functions that the engine torch would call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.devices import placed_on
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.values.structure import flatten, unflatten
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
        self._engine, self._graph, self._rebuild = engine, graph, trace.rebuild
        self.weights = torch.nn.ParameterDict()  # it would sort a dict
        for variable in pure.read:
            array = engine.asarray(variable.numpy(), variable.dtype, DEVICE)
            name = variable.name.replace(".", "_")
            name = name if name not in self.weights else f"{name}_{len(self.weights)}"
            self.weights[name] = torch.nn.Parameter(array, requires_grad=variable.trainable)

    def forward(self, *args: Any) -> Any:
        leaves, _ = flatten(args)
        # The engine for torch's own users computes sizes that are known later.  It tells them from other numbers while
        # torch traces, so the program is made then.  Buffers would be constants of it.
        function = lower(self._graph, Place(self._engine.native, DEVICE), BufferPlan()).function
        return self._rebuild(list(placed_on(self._engine, DEVICE)(function)(*leaves, *self.weights.values())))


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
