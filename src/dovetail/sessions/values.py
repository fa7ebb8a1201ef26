"""The values that the variables of a session graph have in one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.errors import op_error
from dovetail.core.locks import holding, make_lock
from dovetail.core.recording import not_building
from dovetail.core.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor


class SessionValues:
    """The values of a graph's variables in a session; each has its first value until another is assigned.

    Args:
        graph: the graph of the session.
        compute: computes the value of a tensor in the session.
    """

    def __init__(self, graph: Graph, compute: Callable[[GraphTensor], Any]) -> None:
        self._graph = graph
        self._compute = compute
        self._holders: dict[Variable, Variable] = {}
        self._owners: dict[Variable, Variable] = {}  # the other way around
        self._lock = make_lock()

    def __contains__(self, holder: Variable) -> bool:
        return holder in self._owners

    def holder(self, variable: Variable) -> Variable:
        """The variable that holds a variable's value; for one of another graph, that graph's sessions decide."""
        if getattr(variable, "session_graph", None) is not self._graph:
            return variable.holder()
        found = self._holders.get(variable)
        return holding(self._lock, self._made, variable) if found is None else found

    def _made(self, variable: Variable) -> Variable:
        if variable not in self._holders:
            made = Variable.without_value(variable.shape, variable.dtype, variable.name)
            self._holders[variable], self._owners[made] = made, variable
        return self._holders[variable]

    def require(self, holder: Variable) -> None:
        """Give a variable its first value, if it has none.

        Raises:
            ValueError: the first value cannot be computed, as it needs a placeholder.
        """
        if not holder.is_held:
            holding(self._lock, self._begin, holder)

    def _begin(self, holder: Variable) -> None:
        if not holder.is_held:
            first = self._first_value(self._owners[holder])
            with not_building():
                holder.assign(first)

    def _first_value(self, variable: Any) -> Any:
        if variable.carried is not None:
            return variable.carried
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
