"""Bodies as programs: what an op call comes to on one engine, as one function of native arrays.

A body that is traced to a graph takes its shapes from operations wherever they are open, and holds its loops as
operations.  So where an engine traces a function of its user's for shapes that it does not know, the body goes into a
graph first, and the graph's program adds to what the engine traces.  And an eager call that is made again and again
goes into a graph once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.core.arguments import dtype_of
from dovetail.core.calls import Program, repeatable
from dovetail.core.engine import Engine
from dovetail.core.engine_registry import engine as engine_context
from dovetail.core.engine_registry import pop_engine, push_engine
from dovetail.core.op import Op
from dovetail.core.recording import record_on
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.graph.ir import Graph, GraphTensor
from dovetail.graph.trace import to_graph
from dovetail.ops.control.plumbing import EFFECTS, SHOWN
from dovetail.passes import base as passes
from dovetail.passes.composites import inline_composites
from dovetail.passes.prune import prune
from dovetail.plan.aliases import Aliases
from dovetail.plan.buffers import BufferPlan
from dovetail.plan.lower import lower
from dovetail.plan.optimize import ROUNDS, no_garbage_collection, optimized_copy


def run_body(op: Op, engine: Engine, *values: Any) -> Any:
    """The results of a composite's body.

    Args:
        op: the composite.
        engine: runs the body's program.
        values: the arguments in parameter order, of which tensors are Tensors of the engine.
    """
    with engine_context("numpy"):  # where constants keep their numbers
        graph, given = _traced(op, op.body, values, {})  # type: ignore[arg-type]
    whole = optimized_copy(graph, engine)
    program = lower(whole, engine, whole.inputs, whole.outputs).function
    outputs = [Tensor(v, engine) for v in program(*[t._value for t in given])]
    return tuple(outputs) if op.returns_tuple else outputs[0]


def call_program(called: Op | repeatable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program | None:
    """The rules that an eager call comes to, as a function of the native arrays of its tensors, in their order.

    It gives the numbers that the call gives: nothing is simplified or fused, no result is written into a buffer.

    Returns:
        The function, and the engine that it runs on; None where the next such call may come to other rules, or must
        not share what this one gave.
    """
    try:
        with no_garbage_collection():
            return _call_program(called, args, kwargs)
    except Exception:  # the body reads values that a graph does not have
        return None


def _call_program(called: Op | repeatable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program | None:
    given = [value for value in _leaves((args, tuple(kwargs.values()))) if type(value) is Tensor]
    engine = given[0]._engine
    if any(t._engine is not engine for t in given) or (isinstance(called, Op) and _has_lengths(called, args, kwargs)):
        return None
    token = push_engine(engine)
    try:
        graph, _ = _traced(called, called, args, kwargs)
    finally:
        pop_engine(token)
    passes.run(graph, [partial(inline_composites, claimed=engine.rules), prune], ROUNDS)
    return (engine.eager_rule(_lowered(graph, engine)), engine) if _is_fixed(graph, engine) else None


def _has_lengths(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether it gets dimensions or positions as Tensors, which may be others at the next call."""
    values = op.bind(args, dict(kwargs))
    return any(type(leaf) is Tensor for index in op.ints_positions for leaf in _leaves(values[index]))


def _lowered(graph: Graph, engine: Engine) -> Callable[..., tuple[Any, ...]]:
    return lower(graph, engine, graph.inputs, graph.outputs, buffers=BufferPlan()).function


def _is_fixed(graph: Graph, engine: Engine) -> bool:
    """Whether it has no effects and no open shapes, and its results share no memory with constants."""
    operations = list(graph.operations)
    aliases = Aliases(operations, engine)
    kept = {aliases.root(op.outputs[0]) for op in operations if op.type == "Const"}
    return not any(
        op.type in EFFECTS or op.type in SHOWN or any(t.shape is None or None in t.shape for t in op.outputs)
        for op in operations
    ) and not any(aliases.root(t) in kept for t in graph.outputs)


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, (list, tuple)) else [value]


def _traced(
    op: Op | repeatable, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Graph, list[Tensor]]:
    """What a function of an op's arguments records for their Tensors, which become its inputs; and these Tensors."""
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
        placed = [place(value) for value in args]  # before those with names, as a call is read
        result = function(*placed, **{name: place(value) for name, value in kwargs.items()})
        leaves = result if op.returns_tuple else (result,)
        graph.outputs = [
            leaf if type(leaf) is GraphTensor else to_graph(leaf, dtype_of(leaf), graph, op)  # type: ignore[arg-type]  # whose name errors give
            for leaf in leaves
        ]
    return graph, given
