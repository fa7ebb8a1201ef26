"""SessionVariable: a variable of a session graph, for which each session has its own value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.dtypes import as_dtype
from dovetail.core.hooks import hooks
from dovetail.core.scopes import scopes
from dovetail.core.state import Buffer
from dovetail.core.tensor_shape import shape_of
from dovetail.core.value_kinds import register
from dovetail.core.variable import STATE, Variable, is_of_default_graph
from dovetail.edit.graph import GraphTensor
from dovetail.sessions.session import session_of


class SessionVariable(Variable):
    """A variable of a session graph: each session has its own value; a `dt.Variable` has one value in the process.

    Outside of runs it has the value of the session that `tensor.eval` would use.

    Args:
        first: the tensor of the first value; nothing is computed before the value is needed.
        dtype, name, trainable, constraint: as for `Variable`.

    Attributes:
        session_graph: the graph; None for a copy that was unpickled without it, which holds its value itself.
        carried: the value that was pickled with the variable; None if it was not unpickled.

    Source: `tf.compat.v1.Variable`, in a graph.

    Example:
        >>> import dovetail as dt
        >>> import numpy as np
        >>> graph = dt.SessionGraph()
        >>> v = SessionVariable(graph.constant(np.array(1.0)))
        >>> with graph.as_default():
        ...     step = v.assign_add(5.0)
        >>> one, other = dt.Session(graph), dt.Session(graph)
        >>> one.run(step), one.run(v), other.run(v)
        (np.float64(6.0), np.float64(6.0), np.float64(1.0))
    """

    carried: np.ndarray | None = None

    def __init__(
        self,
        first: GraphTensor,
        dtype: Any = None,
        name: str | None = None,
        trainable: bool = True,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self.initial_value = first
        self.dtype = first.dtype if dtype is None else as_dtype(dtype)
        self._begin(shape_of(first.shape), name, trainable, constraint)
        self.session_graph: Any = first.graph
        hooks.variable_made(first.graph, self)

    def holder(self) -> Variable:
        if self.session_graph is None:
            return self
        values = session_of(self.session_graph).values
        found = values.holder(self)
        values.require(found)
        return found

    def _elsewhere(self) -> Variable | None:
        """The variable that holds the value, if it is another one; else None."""
        found = self.holder()
        return None if found is self else found

    def read(self, engine: Any = None) -> Any:
        other = None if scopes().graphs else self._elsewhere()
        return super().read(engine) if other is None else other.read(engine)

    def shared_buffer(self, engine: Any, device: str | None = None) -> Buffer:
        other = self._elsewhere()
        return super().shared_buffer(engine, device) if other is None else other.shared_buffer(engine, device)

    def array_on(self, engine: Any, device: str | None = None) -> Any:
        other = self._elsewhere()
        return super().array_on(engine, device) if other is None else other.array_on(engine, device)

    def numpy(self) -> np.ndarray:
        other = self._elsewhere()
        return super().numpy() if other is None else other.numpy()

    def _held(self) -> Buffer:
        other = self._elsewhere()
        return super()._held() if other is None else other._held()

    def assign(self, value: Any) -> Any:
        other = None if scopes().graphs or is_of_default_graph(value) else self._elsewhere()
        if other is None:
            return super().assign(value)
        other.assign(value)
        return self

    def assign_changed(self, change: Callable[..., Any], *operands: Any) -> Any:
        other = None if scopes().graphs or any(map(is_of_default_graph, operands)) else self._elsewhere()
        if other is None:
            return super().assign_changed(change, *operands)
        other.assign_changed(change, *operands)
        return self

    def delete(self) -> None:
        other = self._elsewhere()
        super().delete() if other is None else other.delete()

    def __getstate__(self) -> dict[str, Any]:
        try:
            held = self.shared_buffer(None).tensor
        except ValueError:  # the first value needs a placeholder
            held = None
        return {**super().__getstate__(), "session_graph": None, "_buffer": held}

    def adopted(self, graph: Any) -> None:
        self.session_graph = graph
        if self._buffer is not None:
            self.carried, self._buffer = self._buffer.engine.to_numpy(self._buffer.value), None


register(SessionVariable, STATE)
