"""The values that the variables of a session graph have in one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.core.base.locks import holding, make_lock
from dovetail.core.base.scopes import not_building
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation


class SessionValues:
    """The values of a graph's variables in a session.

    A variable that `begins_alone` has its first value until another is assigned; others have none before.

    Args:
        graph: the graph of the session.
        compute: computes the value of a tensor in the session.
    """

    def __init__(self, graph: Graph, compute: Callable[[GraphTensor], Any]) -> None:
        self._graph = graph
        self._compute = compute
        self._holders: dict[Variable, Variable] = {}
        self._owners: dict[Variable, Any] = {}  # the other way around
        self._lock = make_lock()

    def __contains__(self, holder: Variable) -> bool:
        return holder in self._owners

    def holder(self, variable: Variable, written: bool = False) -> Variable:
        """The variable that holds a variable's value; for one of another graph, that graph's sessions decide.

        Args:
            variable: the variable.
            written: as for `Variable.holder`.
        """
        if getattr(variable, "session_graph", None) is not self._graph:
            return variable.holder(written)
        holder = self._holders.get(variable)
        if holder is None:
            return holding(self._lock, self._made, variable)
        holder.shape = variable.shape  # which an assignment may have changed
        return holder

    def _made(self, variable: Variable) -> Variable:
        if variable not in self._holders:
            made = Variable.without_value(variable.shape, variable.dtype, variable.name)
            self._holders[variable], self._owners[made] = made, variable
        return self._holders[variable]

    def has(self, variable: Variable) -> bool:
        """Whether a variable has a value in this session."""
        return self.holder(variable).is_held

    def is_first(self, assignment: Operation) -> bool:
        """Whether an assignment of a program gives a variable its first value, as initializers do."""
        first = getattr(self._owners.get(assignment.attrs["variable"]), "initial_value", None)
        return first is not None and assignment.inputs[0].op.origin is first.op

    def require(self, holder: Variable, begins: bool = False) -> bool:
        """Give a variable its first value, if it has none.

        Args:
            holder: the variable that holds the value.
            begins: whether a variable that does not begin alone gets its first value, too.

        Returns:
            Whether the value may change without an assignment, so that the next run must require it again.

        Raises:
            RuntimeError: the variable has no value, and does not begin alone.
            ValueError: the first value cannot be computed, as it needs a placeholder.
        """
        of = self._owners[holder].of
        if of is not None:
            with not_building():
                holder.assign(np.array(self.has(of)))
            return not self.has(of)
        if not holder.is_held:
            holding(self._lock, self._begin, holder, begins)
        return False

    def _begin(self, holder: Variable, begins: bool) -> None:
        if not holder.is_held:
            first = self._first_value(self._owners[holder], begins)
            with not_building():
                holder.assign(first)

    def _first_value(self, variable: Any, begins: bool) -> Any:
        if variable.carried is not None:
            return variable.carried
        if not (begins or variable.begins_alone):
            problem = f"Attempting to use uninitialized value {variable.op_name}"
            raise op_error(RuntimeError, "ReadVariableOp", f"{problem}: run its initializer first.")
        try:
            return self._compute(variable.initial_value)
        except ValueError as error:
            problem = f"{variable.name!r} has no value in this session, and its first one cannot be computed: {error}"
            raise op_error(ValueError, "ReadVariableOp", f"{problem} Run its initializer.") from error

    def clear(self) -> None:
        """Free all values."""
        holding(self._lock, self._cleared)

    def _cleared(self) -> None:
        for holder in self._owners:
            holder.delete()
        self._holders, self._owners = {}, {}
