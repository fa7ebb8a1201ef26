"""Cut programs: parts of a graph, cut out at their inputs, that take values and return NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from dovetail.choose.measured_plan import Measuring
from dovetail.core.base.scopes import scopes
from dovetail.core.engine import Engine
from dovetail.core.engines.devices import soft_placement_of_run
from dovetail.core.engines.engine_registry import chooses_engine, compiling_engine, current_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.execute.feeds import check_feed
from dovetail.execute.placement import has_pinned_devices, placed
from dovetail.functions.concrete import Concrete
from dovetail.sessions.cut import Value, cut
from dovetail.sessions.values import SessionValues


class CutProgram:
    """A program that computes some tensors of a graph from others, and assigns variables; see `sessions.cut`.

    Args:
        graph, inputs, outputs, wanted, name: as for `cut`.
        allow_soft_placement: as for `Session`.
        values: the values of the session graph's variables.

    Attributes:
        graph: the graph that runs.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        wanted: Sequence[GraphTensor | Operation] = (),
        name: str = "function",
        allow_soft_placement: bool | None = None,
        values: SessionValues | None = None,
    ) -> None:
        self.graph = cut(graph, inputs, outputs, wanted, name, Variable.holder if values is None else values.holder)
        soft = allow_soft_placement if has_pinned_devices(self.graph) else None
        self._placement = nullcontext if soft is None else partial(soft_placement_of_run, soft)
        read = [op.attrs["variable"] for op in self.graph.find("ReadVariableOp")]
        begins = values is not None and any(map(values.is_first, self.graph.find("AssignVariableOp")))
        self._first_values = [] if values is None else [partial(values.require, v, begins) for v in read if v in values]
        self._result_count = len(outputs)
        self._concretes: dict[tuple[bool, Any], Concrete] = {}

    def _concrete(self, chooses: bool) -> Concrete:
        """The graph as what can be called under the probes around; its engine may be chosen by measuring."""
        key = chooses, scopes().probes
        if key not in self._concretes:
            self._concretes[key] = Concrete(self.graph, Measuring() if chooses else None)
        return self._concretes[key]

    @property
    def inputs(self) -> list[GraphTensor]:
        """The program's own tensors for the inputs."""
        return self.graph.inputs

    def placement(self, engine: Engine | None = None) -> list[tuple[Operation, str]]:
        """The operations of the user's graph that a run executes, with the device of each.

        Args:
            engine: the engine that computes; the current one, if not given.
        """
        engine = engine or compiling_engine()
        devices: dict[Operation, str] = {}
        with self._placement():
            for operation, device in placed(self.graph.operations, engine):
                devices.setdefault(operation.origin, device)
        return list(devices.items())

    def __call__(self, values: Sequence[Any], engine: Engine | None = None) -> list[Any]:
        """Run the program.

        Args:
            values: numbers, lists, arrays or tensors, one for each input.
            engine: the engine that computes; if not given, the engine of the first Tensor among the values, else the
                current one, or the one that is measured to be the fastest.

        Returns:
            NumPy arrays and scalars.

        Raises:
            ValueError: a value does not fit its input, or an operation must be computed on a device that is missing.
        """
        chooses = engine is None and chooses_engine()
        if engine is None:
            holder = next((v._engine for v in values if type(v) is Tensor), None)
            engine = holder or current_engine() if chooses else compiling_engine(holder)
        self._first_values = [require for require in self._first_values if require()]
        given = []
        for tensor, value in zip(self.inputs, values, strict=True):
            check_feed(tensor, value)
            given.append(arguments.as_tensor(value, tensor.dtype, engine.holder)._value)
        with self._placement():
            results = self._concrete(chooses).run(given, engine)[: self._result_count]
        return [np.array(engine.holder.to_numpy(result))[()] for result in results]
