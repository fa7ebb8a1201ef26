"""SessionVariable: a variable of a session graph, for which each session has its own value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import scopes
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.state import Buffer
from dovetail.core.values.value_kinds import register
from dovetail.core.values.variable import STATE, Variable, is_of_default_graph
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
        begins_alone: whether a session computes the first value where it is needed; else a run of the initializer does.
        of: the variable whose presence this one tells; see `Presence`.

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
    begins_alone = True
    of: Variable | None = None

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

    def holder(self, written: bool = False) -> Variable:
        if self.session_graph is None:
            return self
        values = session_of(self.session_graph).values
        holder = values.holder(self)
        if not written:
            values.require(holder)
        return holder

    def _elsewhere(self, written: bool = False) -> Variable | None:
        """The variable that holds the value, if it is another one, as for `holder`; else None."""
        return None if self.session_graph is None else self.holder(written)

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
        other = None if scopes().graphs or is_of_default_graph(value) else self._elsewhere(written=True)
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
        other = self._elsewhere(written=True)
        super().delete() if other is None else other.delete()

    def __getstate__(self) -> dict[str, Any]:
        try:
            held = self.shared_buffer(None).tensor
        except (ValueError, RuntimeError):  # the first value needs a placeholder, or an initializer's run
            held = None
        return {**super().__getstate__(), "session_graph": None, "_buffer": held}

    def adopted(self, graph: Any) -> None:
        self.session_graph = graph
        if self._buffer is not None:
            self.carried, self._buffer = self._buffer.engine.to_numpy(self._buffer.value), None


class Presence(SessionVariable):
    """Whether a session has a value of a variable: a bool, which each run reads at its start.

    Args:
        of: the variable.

    Source: `tf.compat.v1.is_variable_initialized`.

    Example:
        >>> import dovetail as dt
        >>> import numpy as np
        >>> graph = dt.SessionGraph()
        >>> v = SessionVariable(graph.constant(np.array(1.0)))
        >>> session = dt.Session(graph)
        >>> session.run(Presence(v)), session.run(v), session.run(Presence(v))
        (np.False_, np.float64(1.0), np.True_)
    """

    def __init__(self, of: SessionVariable) -> None:
        self.initial_value, self.of, self.dtype = None, of, as_dtype("bool")
        self._begin(shape_of(()), f"{of.op_name}/IsInitialized:0", False, None)
        self.session_graph = of.session_graph


register(SessionVariable, STATE)
register(Presence, STATE)
