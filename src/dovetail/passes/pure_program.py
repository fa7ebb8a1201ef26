"""Pure program: a graph whose variables are arguments and results, so that engines compile a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.base.locks import join
from dovetail.core.engine import Engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.state import held_alone, put
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.edit.transplant import Variables, transplant
from dovetail.graph.base import add_input_at
from dovetail.graph.pass_edits import discard, rewire

LIFTED = frozenset(["ReadVariableOp", "AssignVariableOp", "NoOp"])


class PureProgram:
    """A graph with its variables as inputs, and their new values as outputs.

    Args:
        graph: it has no variables any more.  Its last inputs are the values of `read`.  Its outputs are its results,
            then the new values of `assigned`, then further values.
        results: the number of its results; all outputs if not given.
        read: the variables that it reads.
        assigned: the variables that it assigns.

    Attributes:
        graph, results, read, assigned: as given; a variable is the one that holds the value.
        only_read: the variables that it reads and does not assign.
        changed: the variables that it reads and assigns.
        ends: the number of its outputs without the further values.
        open: the places, among the new values, of those whose shape is only known in a run.
        guard: the lock of the variables that it assigns; None if there are none.

    Raises:
        ValueError: a new value does not fit its variable.
    """

    def __init__(
        self, graph: Graph, results: int | None = None, read: Sequence[Any] = (), assigned: Sequence[Any] = ()
    ) -> None:
        self.graph, self.results = graph, len(graph.outputs) if results is None else results
        self.read: list[Variable] = [v.holder() for v in read]
        self.assigned: list[Variable] = [v.holder() for v in assigned]
        known = set(self.assigned)
        self.only_read = [v for v in self.read if v not in known]
        self.changed = [v for v in self.read if v in known]
        self.ends = self.results + len(assigned)
        states = graph.outputs[self.results : self.ends]
        for variable, value in zip(self.assigned, states, strict=True):
            variable.check_shape(value)
        self.open = [i for i, value in enumerate(states) if not value.spec.is_static]
        self.guard = join(v.guard for v in self.assigned) if assigned else None

    def put(self, outputs: Sequence[Any], engine: Engine) -> None:
        """Give the variables their new values: the outputs of a run, as an engine's native arrays.

        Raises:
            ValueError: a value does not fit its variable; then all variables keep their values.
        """
        states = outputs[self.results : self.ends]
        for i in self.open:
            self.assigned[i].check_shape(Tensor(states[i], engine))
        put(self.assigned, [held_alone(value, engine) for value in states])


def pure_copy(graph: Graph, further: Sequence[GraphTensor] = (), results: int | None = None) -> PureProgram:
    """The pure program of a graph.

    Args:
        graph: the graph; it is not changed.
        further: its tensors that become inputs after its own.
        results: the number of its outputs that are results; the others come after the new values of variables.
    """
    pure = Graph(graph.name)
    copies = transplant(graph.operations, pure, inputs=[*graph.inputs, *further], variables=Variables.INPUTS)
    outputs = copies.of(graph.outputs)
    results = len(outputs) if results is None else results
    pure.outputs = [*outputs[:results], *copies.assigned.values(), *outputs[results:]]
    return PureProgram(pure, results, list(copies.read), list(copies.assigned))


def lift_variables(graph: Graph) -> PureProgram:
    """Make an input of each variable that is read, and an output of each value that is assigned.

    The variables that are both read and assigned are the last ones read, and the first ones assigned.

    Args:
        graph: the graph to edit: it reads each variable once, and assigns it once, and has no control inputs.
    """
    if LIFTED.isdisjoint(graph.by_type):
        return PureProgram(graph)
    results = len(graph.outputs)
    read = {op.attrs["variable"]: op for op in graph.of_types(("ReadVariableOp",))}
    written = {op.attrs["variable"]: op for op in graph.of_types(("AssignVariableOp",))}
    ordered = [*(v for v in read if v not in written), *(v for v in read if v in written)]
    assigned = [*(v for v in read if v in written), *(v for v in written if v not in read)]
    with graph.replacing() as replace:
        for op in (read[v] for v in ordered):
            replace(op)
            rewire(graph, op.outputs[0], add_input_at(graph, len(graph.inputs), op.outputs[0].spec, op.name))
    for op in written.values():
        rewire(graph, op.outputs[0], op.inputs[0])
    graph.outputs = [*graph.outputs, *(written[v].inputs[0] for v in assigned)]
    discard(graph, [*read.values(), *written.values(), *graph.find("NoOp")])
    return PureProgram(graph, results, ordered, assigned)
