"""Programs of composites: the body of a composite on one engine, as one function of native arrays.

In a graph, operations compute the shapes that are unknown, and loops are operations.  So if an engine traces a user's
function for unknown shapes, the body is traced to a graph first.  The graph's segment then adds to the engine's trace.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.base.context import context
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import record_on
from dovetail.core.engine import Engine
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values.places import engine as engine_context
from dovetail.core.values.signature import is_plain, static_key
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.value_kinds import dtype_of
from dovetail.edit.graph import Graph, GraphTensor
from dovetail.execute.claims import require_claimed
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.execute.segment import Segment
from dovetail.trace.trace import to_graph

_segments: dict[Any, Segment] = {}
_LIMIT = 1_000
_UNKNOWN = object()  # in a key: an argument that equals no other


def run_body(op: Op, engine: Engine, *values: Any) -> Any:
    """The results of a composite's body.

    Args:
        op: the composite.
        engine: runs the body's program.
        values: the arguments in parameter order; tensors are Tensors of the engine.
    """
    given: list[Tensor] = []
    key = op, engine, context(), *(_key(value, given) for value in values)
    segment = _segments.get(key) or _segment(op, engine, values, key)
    # The function, not the executable: the engine's library traces it together with the code around it.
    outputs = [Tensor(v, engine) for v in segment.function(*[t._value for t in given])]
    return tuple(outputs) if op.returns_tuple else outputs[0]


def _segment(op: Op, engine: Engine, values: tuple[Any, ...], key: Any) -> Segment:
    with engine_context("numpy"):  # constants keep their numbers there
        graph = _traced(op, values)
    optimized, place = optimized_copy(graph, engine), Place(engine)
    require_claimed(optimized, place)
    segment = Segment(optimized, place)
    # A kept segment keeps its buffers, too.  Only rules with `out=` need buffers, and no library that traces has these.
    # Constants that torch's compilers trace are of no use in a later trace.
    is_kept = not engine.out_rules and (engine.compiles_programs or not engine.is_tracing())
    if is_kept and not any(part is _UNKNOWN for part in key):
        if len(_segments) >= _LIMIT:
            _segments.clear()
        _segments[key] = segment
    return segment


def _key(value: Any, given: list[Tensor]) -> Any:
    """Return the key of an argument, the same for equivalent ones; append its Tensors to `given`."""
    if type(value) is Tensor:
        given.append(value)
        return value.shape, value.dtype
    if type(value) in (tuple, list) and not is_plain(value, type(value)):
        keys = [_key(v, given) for v in value]
        return _UNKNOWN if any(k is _UNKNOWN for k in keys) else (type(value), *keys)
    return static_key(value) if is_plain(value, type(value)) else _UNKNOWN


def _traced(op: Op, args: tuple[Any, ...]) -> Graph:
    """The graph that an op's body records; the Tensors among the arguments become its inputs."""
    graph = Graph(op.name)

    def place(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(map(place, value))
        return graph.placeholder(TensorSpec(value.shape, value.dtype), "given") if type(value) is Tensor else value

    with record_on(()), graph.as_default():
        result = op.body(*map(place, args))  # type: ignore[misc]  # a composite
        leaves = result if op.returns_tuple else (result,)
        graph.outputs = [
            leaf if type(leaf) is GraphTensor else to_graph(leaf, dtype_of(leaf), graph, op) for leaf in leaves
        ]
    return graph


hooks.run_body = run_body
