"""Running the default graph: functions that are cut out of it, and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from dovetail import backend as K
from dovetail.backend.program import Program
from dovetail.backend.symbolic import DefaultGraph, symbolic_graph
from dovetail.backend.table import k_error, k_function
from dovetail.dtypes import promote
from dovetail.graph import trace
from dovetail.graph.ir import GraphTensor
from dovetail.ops import arguments
from dovetail.ops.op import OPS
from dovetail.structure import flatten, flatten_like, unflatten
from dovetail.tensor import building

__all__ = ["clear_session", "function"]


class GraphFunction:
    """A function of NumPy arrays that is cut out of the default graph; made by `K.function`.

    Attributes:
        inputs, outputs, updates, name: as they were given.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Sequence[Any], name: str) -> None:
        self.inputs, self.outputs, self.updates, self.name = inputs, outputs, updates, name
        sources, self._structure = flatten(inputs)
        results, self._result = flatten(outputs)
        pairs = [u for u in updates if isinstance(u, tuple)]
        others = [u for u in updates if u is not None and not isinstance(u, tuple)]
        graph = _graph_of([*sources, *results, *others, *(value for _, value in pairs)])
        self._program = Program(
            graph,
            [_tensor_of(graph, x) for x in sources],
            [_tensor_of(graph, x) for x in results],
            others,
            [(v, _tensor_of(graph, value, v.dtype)) for v, value in pairs],
            name,
        )

    def __call__(self, inputs: Any) -> Any:
        return unflatten(self._result, self._program(flatten_like(self._structure, inputs)))


def _graph_of(values: Sequence[Any]) -> DefaultGraph:
    found = next((v.graph for v in values if type(v) is GraphTensor), None)
    return cast("DefaultGraph", found) if found is not None else symbolic_graph() or DefaultGraph()


def _tensor_of(graph: DefaultGraph, value: Any, dtype: Any = None) -> GraphTensor:
    return trace.to_graph(value, dtype or promote([arguments.dtype_of(value)]), graph, OPS["Identity"])


@k_function
def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function that computes tensors of the default graph from others."""
    if kwargs:
        raise k_error(ValueError, "function", f"it takes inputs, outputs, updates and name, not {', '.join(kwargs)}.")
    return GraphFunction(inputs, outputs, updates or (), name or "function")


@k_function
def clear_session() -> None:
    """Closes this thread's default graph, and starts the numbers of names again.

    Source: `tf.keras.backend.clear_session`.

    Modern: `keras.backend.clear_session()`.

    Example:
        >>> x = K.placeholder((2,))
        >>> K.clear_session()
    """
    building.default = None
    K.reset_uids()
