"""The variables of a graph while it is traced: their values, reads and assignments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.core.base.scopes import scopes
from dovetail.graph.journal import note

if TYPE_CHECKING:
    from dovetail.graph.operation import GraphTensor, Operation


class State:
    """The variables of a graph while it is traced.

    Attributes:
        values: variable → its value at this point of the program.
        assigned: the variables that were assigned.
        unread: the variables that were not read since their last assignment.
        inputs: variable → its value at the start; in a subgraph, the input for it.
        last: variable → the operation that assigned it last.
        ordered: the variables that `assign_in_order` assigned: in program order, even if a graph records effects.
    """

    def __init__(self) -> None:
        self.values: dict[Any, GraphTensor] = {}
        self.assigned: dict[Any, None] = {}
        self.unread: set[Any] = set()
        self.inputs: dict[Any, GraphTensor] = {}
        self.last: dict[Any, Operation] = {}
        self.ordered: set[Any] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no variable was read or assigned."""
        return not (self.inputs or self.values or self.assigned or self.last)

    def keep(self, variable: Any) -> None:
        """Let a failed edit restore the present state of a variable."""
        if scopes().undo is None:
            return
        tables: tuple[dict[Any, Any], ...] = (self.values, self.assigned, self.inputs, self.last)
        before = [(table, variable in table, table.get(variable)) for table in tables]
        was_unread = variable in self.unread

        def undo() -> None:
            for table, was_there, value in before:
                table[variable] = value
                if not was_there:
                    del table[variable]
            (self.unread.add if was_unread else self.unread.discard)(variable)

        note(undo)

    def copied(self, mapped: Mapping[GraphTensor, GraphTensor]) -> State:
        """The state of a copy of the graph, in which `mapped` gives the copies of tensors."""
        copy = State()
        copy.values = {v: mapped[t] for v, t in self.values.items() if t in mapped}
        copy.assigned, copy.unread = dict(self.assigned), set(self.unread)
        copy.inputs = {v: mapped[t] for v, t in self.inputs.items() if t in mapped}
        copy.last = {v: mapped[op.outputs[0]].op for v, op in self.last.items() if op.outputs[0] in mapped}
        copy.ordered = set(self.ordered)
        return copy

    def forget(self, operation: Operation) -> None:
        """Forget a removed operation; its variable must be read or assigned again."""
        variable = operation.attrs.get("variable")
        for known in (self.values, self.inputs):
            value = known.get(variable)
            if value is not None and value.op is operation:
                del known[variable]
                note(partial(known.__setitem__, variable, value))
        if self.last.get(variable) is operation:
            self.keep(variable)
            self._take_back(variable, operation)

    def _take_back(self, variable: Any, assignment: Operation) -> None:
        """Undo the last assignment of a variable: its value is the one before, or the one at the start."""
        for known in (self.last, self.values, self.assigned):
            known.pop(variable, None)
        self.unread.discard(variable)
        for earlier in assignment.control_inputs:
            if earlier.attrs.get("variable") is variable and earlier.type == assignment.type:
                self.last[variable], self.values[variable] = earlier, earlier.inputs[0]
                self.assigned[variable] = None
                self.unread.add(variable)
