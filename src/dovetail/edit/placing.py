"""Placing: pins for existing operations, set as one edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from dovetail.core.base.errors import describe, did_you_mean, op_error
from dovetail.core.base.hooks import hooks
from dovetail.core.base.pin import Pin
from dovetail.core.base.table import OPS
from dovetail.core.values.places import place as Place
from dovetail.graph.journal import all_or_nothing
from dovetail.graph.operation import Operation
from dovetail.graph.parts import in_parts
from dovetail.graph.places import inside
from dovetail.trace.captures import subgraph_names

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

Placing: TypeAlias = "Callable[[Operation], str | Place | None] | Mapping[str, str | Place | None]"


def place(graph: Graph, placing: Placing) -> int:
    """Pin operations of the graph, and of branches and bodies inside it, as one edit; the next run follows the pins.

    Args:
        placing: a function of an operation, or a map of op types.  It gives the name of an engine, or a
            `dovetail.place`, whose engine, device and part replace those of the operation as far as they are given;
            `dovetail.place()` takes the whole pin away, and None leaves the operation as it is.

    Returns:
        The number of operations whose pin changed.

    Raises:
        TypeError: it is neither a function nor a map, or gives something else.
        LookupError: a key of the map is not the type of an op.
        UnknownEngine: there is no engine of a name.
        ValueError: parts need each other.  After an error the graph is as it was.

    Source: `tf.device` with a function, for a graph that was built.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.tanh(x @ x)).graph(dt.spec((2, 2)))
        >>> graph.place({"MatMul": "torch"})
        1
        >>> graph.place(lambda op: dt.place(part=1) if op.type == "Tanh" else None)
        1
        >>> [op.pin[::2] for op in graph.operations]
        [(None, None), ('torch', None), (None, 1)]
    """
    graph.check_changeable()
    choose = _chooser(placing)
    with all_or_nothing():
        count = _place(graph, choose)
        in_parts(graph.operations)
    return count


def _chooser(placing: Any) -> Callable[[Operation], Any]:
    if isinstance(placing, Mapping):
        for name in placing:
            if name not in OPS:
                problem = f"there is no op {describe(name)}. {did_you_mean(name, OPS)}"
                raise op_error(LookupError, "Graph.place", problem.rstrip())
        return lambda operation: placing.get(operation.type)
    if not callable(placing) or isinstance(placing, Place):
        problem = f'it takes a function of an operation, or a map as {{"MatMul": "torch"}}, not {describe(placing)}.'
        raise op_error(TypeError, "Graph.place", problem)
    return placing


def _place(graph: Graph, choose: Callable[[Operation], Any]) -> int:
    count = 0
    for operation in graph.operations:
        pin = _pin(operation, choose(operation))
        if pin != operation.pin:
            operation.pin = pin
            count += 1
        count += sum(_place(hooks.own_subgraph(operation, name), choose) for name in subgraph_names(operation))
    return count


def _pin(operation: Operation, said: Any) -> Pin:
    if said is None:
        return operation.pin
    if isinstance(said, str):
        said = Place(said)
    if not isinstance(said, Place):
        problem = f"it got {describe(said)} for {operation.name!r}: give an engine's name, a dovetail.place, or None."
        raise op_error(TypeError, "Graph.place", problem)
    pin = Pin(said.engine, said.device, said.part)
    return pin if pin == Pin() else inside(pin, operation.pin)
