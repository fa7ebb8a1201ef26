"""Bodies as programs: composites on an engine's own values of which some dimensions are not known yet.

A body that is traced to a graph takes its shapes from operations wherever they are open, and holds its loops as
operations.  So where an engine traces a function of its user's for shapes that it does not know, the body goes into a
graph first, and the graph's program adds to what the engine traces.
"""

from __future__ import annotations

from typing import Any

from dovetail.engines import engine as engine_context
from dovetail.engines.base import Engine
from dovetail.graph.ir import Graph
from dovetail.graph.trace import to_graph
from dovetail.ops.arguments import dtype_of
from dovetail.ops.op import Op
from dovetail.ops.spec import TensorSpec
from dovetail.plan.lower import lower
from dovetail.plan.optimize import optimized_copy
from dovetail.tensor import Tensor, record_on


def run_body(op: Op, engine: Engine, *values: Any) -> Any:
    """The results of a composite's body.

    Args:
        op: the composite.
        engine: runs the body's program.
        values: the arguments in parameter order, of which tensors are Tensors of the engine.
    """
    graph = Graph(op.name)
    given: list[Any] = []

    def place(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(place, value))
        if type(value) is not Tensor:
            return value
        given.append(value._value)
        return graph.placeholder(TensorSpec(value.shape, value.dtype), "given")

    with record_on(()), graph.as_default(), engine_context("numpy"):  # where constants keep their numbers
        result = op.body(*map(place, values))  # type: ignore[misc]
        leaves = result if op.returns_tuple else (result,)
        graph.outputs = [to_graph(leaf, dtype_of(leaf), graph, op) for leaf in leaves]
    whole = optimized_copy(graph, engine)
    outputs = [Tensor(v, engine) for v in lower(whole, engine, whole.inputs, whole.outputs).function(*given)]
    return tuple(outputs) if op.returns_tuple else outputs[0]
