"""Programs: parts of a default graph, cut out at their inputs, with the updates that they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dovetail.backend.symbolic import DefaultGraph
from dovetail.core import arguments
from dovetail.core.dtypes import promote
from dovetail.core.engine_registry import current_engine
from dovetail.core.errors import place
from dovetail.core.infer import fits
from dovetail.core.recording import record_on
from dovetail.core.table import OPS
from dovetail.core.tensor import Tensor
from dovetail.core.value_kinds import dtype_of, static_shape
from dovetail.core.variable import Variable
from dovetail.graph import trace
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.reach import reach
from dovetail.graph.transplant import Copies, transplant
from dovetail.plan.concrete import Concrete


class CutProgram:
    """What computes some tensors of a default graph from others, and gives variables their new values.

    The variables have their new values once a call is over; all that a call computes, it computes from the old ones.

    Args:
        graph: is not changed.
        inputs: tensors whose values each call is given; any tensors.
        outputs: tensors whose values each call returns.
        wanted: tensors that are computed, too; for the updates that they are, or need.
        name: what its graph is called.

    Raises:
        ValueError: a placeholder is needed that is not among the inputs.
    """

    def __init__(
        self,
        graph: DefaultGraph,
        inputs: Sequence[GraphTensor],
        outputs: Sequence[GraphTensor],
        wanted: Sequence[GraphTensor] = (),
        name: str = "function",
    ) -> None:
        targets = [*outputs, *wanted]
        counts = graph.counts_in(reach(targets, given=inputs))
        needed = reach([*targets, *counts.values()], given=inputs)
        _check_fed(needed)
        part = Graph(name)
        copies = transplant(needed, part, inputs=inputs)
        part.outputs = copies.of(outputs)
        with record_on(()), part.as_default():
            counted = {variable: copies[value] for variable, value in counts.items()}
            for variable, value in (counted | _updated(graph, needed, copies)).items():
                trace.assign_variable(part, variable, value)
        self._concrete = Concrete(part)

    @property
    def inputs(self) -> list[GraphTensor]:
        """Its own tensors for the inputs."""
        return self._concrete.graph.inputs

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Runs it.

        Args:
            values: numbers, lists, arrays or Tensors, one for each input.

        Returns:
            NumPy arrays and scalars.

        Raises:
            ValueError: a value does not fit its input.
        """
        engine = next((v._engine for v in values if type(v) is Tensor), None) or current_engine()
        given = []
        for tensor, value in zip(self.inputs, values, strict=True):
            _check_value(tensor, value)
            given.append(arguments.as_tensor(value, tensor.dtype, engine)._value)
        return [np.array(engine.to_numpy(result))[()] for result in self._concrete.run(given, engine)]


def tensor_of(graph: DefaultGraph, value: Any) -> GraphTensor:
    """Any value as a tensor of a default graph.

    Raises:
        ValueError: it is a tensor of another graph, or was removed.
    """
    if type(value) is GraphTensor and value.graph is not graph:
        others = "a branch's or a loop's own, another thread's, or one from before K.clear_session"
        raise ValueError(f"{value!r} belongs to another graph than the other tensors: {others}.")
    if type(value) is GraphTensor:
        graph.check_tensor(value)
    return trace.to_graph(value, promote([dtype_of(value)]), graph, OPS["Identity"])


def _check_fed(operations: Iterable[Operation]) -> None:
    missing = [op for op in operations if op.type == "Placeholder"]
    if missing:
        made = ", ".join(f"{op.name!r} ({op.outputs[0].spec!r}, made at {place(op.where)})" for op in missing)
        raise ValueError(f"a value is needed for the placeholder {made}: give it as an input.")


def _check_value(tensor: GraphTensor, value: Any) -> None:
    name = tensor.op.name
    if value is None or type(value) is GraphTensor:
        raise TypeError(f"the input {name!r} needs a value, a number or an array, not {value!r}.")
    shape = static_shape(value)
    if not fits(tuple(shape), tensor.shape):
        raise ValueError(f"the input {name!r} is {tensor.spec!r}: a value of shape {tuple(shape)} does not fit.")


def _updated(graph: DefaultGraph, operations: Iterable[Operation], copies: Copies) -> dict[Variable, GraphTensor]:
    """The variables that the updates of a program change, and their new values.

    Args:
        graph: what the program is cut out of.
        operations: what it consists of, in program order.
        copies: what stands for it in the program.
    """
    found: dict[Variable, GraphTensor] = {}
    for tensor in [t for op in operations for t in op.outputs]:
        update = graph.updates.get(tensor)
        if update is not None:
            before = found.get(update.variable)
            if before is None or update.step is None:
                found[update.variable] = copies[tensor]
            else:
                op, operand = update.step
                found[update.variable] = op(before, copies[operand])
    return found
