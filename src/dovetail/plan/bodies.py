"""Bodies as programs: what the body of a composite comes to on one engine, as one function of native arrays.

A body that is traced to a graph takes its shapes from operations wherever they are open, and holds its loops as
operations.  So where an engine traces a function of its user's for shapes that it does not know, the body goes into a
graph first, and the graph's program adds to what the engine traces.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.arguments import dtype_of
from dovetail.core.engine import Engine
from dovetail.core.engine_registry import engine as engine_context
from dovetail.core.op import Op
from dovetail.core.recording import record_on
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph, GraphTensor
from dovetail.graph.trace import to_graph
from dovetail.plan.lower import lower
from dovetail.plan.optimize import optimized_copy


def run_body(op: Op, engine: Engine, *values: Any) -> Any:
    """The results of a composite's body.

    Args:
        op: the composite.
        engine: runs the body's program.
        values: the arguments in parameter order, of which tensors are Tensors of the engine.
    """
    with engine_context("numpy"):  # where constants keep their numbers
        graph, given = _traced(op, values)
    whole = optimized_copy(graph, engine)
    program = lower(whole, engine, whole.inputs, whole.outputs).function
    outputs = [Tensor(v, engine) for v in program(*[t._value for t in given])]
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _traced(op: Op, args: tuple[Any, ...]) -> tuple[Graph, list[Tensor]]:
    """What an op's body records for its Tensors, which become the inputs; and these Tensors."""
    graph = Graph(op.name)
    given: list[Tensor] = []

    def place(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(map(place, value))
        if type(value) is not Tensor:
            return value
        given.append(value)
        return graph.placeholder(TensorSpec(value.shape, value.dtype), "given")

    with record_on(()), graph.as_default():
        result = op.body(*map(place, args))  # type: ignore[misc]  # a composite
        leaves = result if op.returns_tuple else (result,)
        graph.outputs = [
            leaf if type(leaf) is GraphTensor else to_graph(leaf, dtype_of(leaf), graph, op) for leaf in leaves
        ]
    return graph, given
