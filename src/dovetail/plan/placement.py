"""Placement: the place at which each operation is computed, and the segments that follow from it.

A place is an engine, with one of its devices if there are several.  `operation.engine` and `operation.device` pin an
operation.  An operation that is not pinned is computed at the plan's place; in a branch or in the body of a loop, at
the place of the branch or loop.  A device that is a `Wish` is ignored if the engine has no such device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from typing import Any, NamedTuple

from dovetail.core.engine import Engine
from dovetail.core.engine_registry import get_engine, known_engines
from dovetail.core.errors import EngineNotInstalled, UnknownEngine, describe, did_you_mean, op_error
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.nesting import holders_of
from dovetail.graph.operation import NOT_PINNED
from dovetail.graph.wish import Wish
from dovetail.ops.control.plumbing import HOST_CALLS, STRUCTURAL

ORDERS = 24  # orders of the places that are tried; all orders of four places


class Place(NamedTuple):
    """A place of computation.

    Attributes:
        engine: the engine that computes.
        device: one of the engine's devices; None if the engine has only one, or if nobody named one: then values are
            computed on the devices of their arguments.
        variants: the names of the rules that are preferred there, if an op has several.
    """

    engine: Engine
    device: str | None = None
    variants: tuple[str, ...] = ()

    @property
    def memory(self) -> Place:
        """The place where the values are: they are arrays of the engine that holds them."""
        holder = self.engine.holder
        return self if holder is self.engine else Place(holder, self.device)

    def __str__(self) -> str:
        return self.engine.name if self.device is None else f"{self.engine.name} ({self.device})"


def place_of(operation: Operation, home: Place) -> Place:
    """The place at which an operation is computed.

    Args:
        operation: an operation of the plan's graph, or of a subgraph.
        home: the plan's place.

    Raises:
        UnknownEngine, EngineNotInstalled: the operation's engine is unknown, or its library is not installed.
        ValueError: it is pinned to a device that its engine does not have.
    """
    holders = holders_of(operation.graph)
    around = place_of(holders[0], home) if holders else home
    if operation._pin == NOT_PINNED:
        return around
    engine = around.engine if operation.engine is None else _pinned_to(operation)
    device = _device(operation, engine) if operation.device else None
    if device is not None:
        return Place(engine, device if engine.has_devices else None)
    if engine is around.engine:
        return around
    return home if engine is home.engine else Place(engine, first_device(engine))


def first_device(engine: Engine) -> str | None:
    """The device on which an engine computes if nobody names another one; None if it has only one."""
    return engine.devices()[0] if engine.has_devices else None


def _pinned_to(operation: Operation) -> Engine:
    name: Any = operation.engine
    try:
        return get_engine(name)
    except (TypeError, UnknownEngine, EngineNotInstalled) as error:
        known = known_engines()
        reason = f"there is no such engine; there are {', '.join(known)}. {did_you_mean(name, known)}".rstrip()
        problem = str(error) if isinstance(error, EngineNotInstalled) else reason
        problem = f"{operation.name!r} is to be computed on {name!r}, but {problem}"
        raise op_error(type(error), operation.type, problem, where=operation.where) from None


def _device(operation: Operation, engine: Engine) -> str | None:
    """The device of an operation, for "cpu" the first of this kind; None for a wish that the engine cannot grant."""
    name, known = operation.device, engine.devices()
    if isinstance(name, Wish):
        return name.granted(known)
    found = next((device for device in known if name in (device, device.partition(":")[0])), None)
    if found is None:
        raise _missing_device(operation, engine, "set the operation's device to one of them, or to None")
    return found


def _missing_device(operation: Operation, engine: Engine, what_to_do: str) -> Exception:
    there = ", ".join(engine.devices())
    problem = f"{operation.name!r} is to be computed on the device {describe(operation.device)}"
    problem = f"{problem}, but {engine.name} has the devices {there} here; {what_to_do}."
    return op_error(ValueError, operation.type, problem, where=operation.where)


def require_wishes(graph: Graph, engine: Engine) -> None:
    """Refuse wishes for devices that cannot be granted.

    Raises:
        ValueError: an operation is to be computed on a device that its engine does not have.
    """
    home = Place(engine)
    for part in (graph, *graph.subgraphs()):
        for operation in part.operations:
            if isinstance(operation.device, Wish):
                own = place_of(operation, home).engine
                if operation.device.names_device and _device(operation, own) is None:
                    raise _missing_device(operation, own, "say allow_soft_placement=True to have it computed elsewhere")


def pinned_engines(graph: Graph) -> list[Engine]:
    """The engines that operations of a graph are pinned to; it raises the errors of `place_of`."""
    return list({_pinned_to(operation): None for operation in graph.operations if operation.engine is not None})


def is_pinned(graph: Graph) -> bool:
    """Whether an operation of a graph or subgraph is pinned to an engine or a device, or computed by Python."""
    for part in (graph, *graph.subgraphs()):
        if not part.by_type.keys().isdisjoint(HOST_CALLS):
            return True
        for operation in part:
            if operation._pin != NOT_PINNED:
                return True
    return False


def has_pinned_devices(graph: Graph) -> bool:
    """Whether an operation of a graph or subgraph is pinned to a device."""
    return any(op.device for part in (graph, *graph.subgraphs()) for op in part.operations)


def pin_host_calls(graph: Graph, home: Place) -> None:
    """Pin Python's operations to NumPy if their engine compiles whole programs, which cannot call Python."""
    for part in (graph, *graph.subgraphs()):
        for operation in part.of_types(HOST_CALLS):
            if place_of(operation, home).engine.compiles_programs:
                operation.pin = "numpy", None


def check_pins(graph: Graph, home: Place) -> None:
    """Refuse pins that a plan cannot follow, with the errors of `place_of`."""
    for part in (graph, *graph.subgraphs()):
        for operation in part.operations:
            if operation._pin != NOT_PINNED:
                place_of(operation, home)


def is_divided(operation: Operation, home: Place) -> bool:
    """Whether an operation is a branch or a loop of which a part is computed at another place than the rest."""
    graphs = operation.subgraphs()
    if not graphs:
        return False
    inner = [part for graph in graphs for part in (graph, *graph.subgraphs())]
    pinned = [op for part in inner for op in part.operations if op.pin != NOT_PINNED and op.type not in STRUCTURAL]
    return bool(pinned) and {place_of(op, home) for op in pinned} != {place_of(operation, home)}


class Cut(NamedTuple):
    """The operations of a segment, in program order.

    Attributes:
        place: the place at which they are computed.
        operations: the operations; none if there is nothing to compute.
        is_divided: whether it is one operation, of which parts are computed at other places.
    """

    place: Place
    operations: list[Operation]
    is_divided: bool = False


def cut(operations: Iterable[Operation], home: Place) -> list[Cut]:
    """Divide operations into few segments, each at one place, that need only the results of earlier segments.

    The places take turns in one order, again and again.  Each operation goes into the first segment of its place that
    does not come before its inputs' segments.  With two places, one of the two orders gives the fewest segments that
    are possible.

    Args:
        operations: in program order; operations that compute nothing are left out.
        home: the plan's place.
    """
    where = {op: _part_of(op, home) for op in operations if op.type not in STRUCTURAL}
    keys = list(dict.fromkeys(where.values()))
    if len(keys) < 2 and not any(divided for _, divided in keys):
        return [Cut(keys[0][0] if keys else home, list(where))]
    return min((_divided(where, order) for order in islice(permutations(keys), ORDERS)), key=len)


def _part_of(operation: Operation, home: Place) -> tuple[Place, bool]:
    """The place of an operation, and whether it is divided; the engine of its values runs the loop of such a one."""
    place, divided = place_of(operation, home), is_divided(operation, home)
    return place.memory if divided else place, divided


def _divided(where: dict[Operation, tuple[Place, bool]], order: Sequence[tuple[Place, bool]]) -> list[Cut]:
    turn = {key: number for number, key in enumerate(order)}
    rounds: dict[Operation, int] = {}
    segments: dict[int, list[Operation]] = {}
    for op, key in where.items():
        earliest = max((rounds[t.op] for t in op.inputs if t.op in rounds), default=0)
        rounds[op] = number = earliest + (turn[key] - earliest) % len(order)
        segments.setdefault(number, []).append(op)
    found: list[Cut] = []
    for number in sorted(segments):
        place, divided = order[number % len(order)]
        parts = [[op] for op in segments[number]] if divided else [segments[number]]
        found += [Cut(place, part, divided) for part in parts]
    return found
