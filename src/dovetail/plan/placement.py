"""Placement: at which place each operation is computed, and the segments that follow from it.

A place is an engine and, where that has several, one of its devices.  `operation.engine` and `operation.device` pin an
operation.  What is not pinned is computed at the plan's place, or, in a branch or the body of a loop, where the branch
or loop is.  A device as TensorFlow writes it, "/device:GPU:0", is a wish: where the engine has none such, it counts as
if it was not said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from typing import Any, NamedTuple

from dovetail.core.device_spec import granted, is_wish, names_device
from dovetail.core.engine import Engine
from dovetail.core.engine_registry import get_engine, known_engines
from dovetail.core.errors import EngineNotInstalled, UnknownEngine, describe, did_you_mean, op_error
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.operation import NOT_PINNED
from dovetail.ops.control.plumbing import HOST_CALLS, NOT_COMPUTED

ORDERS = 24  # of the places that are tried; all there are of four


class Place(NamedTuple):
    """Where something is computed.

    Attributes:
        engine: what computes it.
        device: one of the engine's; None where the engine has but one, or where nobody said which: then values are
            computed wherever their arguments are.
        variants: the names of the rules that are taken there before others, where an op has several.
    """

    engine: Engine
    device: str | None = None
    variants: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.engine.name if self.device is None else f"{self.engine.name} ({self.device})"


def place_of(operation: Operation, home: Place) -> Place:
    """The place at which an operation is computed.

    Args:
        operation: of the plan's graph, or of one inside of it.
        home: the plan's.

    Raises:
        UnknownEngine, EngineNotInstalled: the operation is pinned to an engine that is not there.
        ValueError: it is pinned to a device that its engine does not have.
    """
    holders = operation.graph.holders()
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
    """The device on which an engine computes where nobody says another; None if it has but one."""
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
    """Of a kind without a number, as "cpu", the first; None for a wish that the engine cannot grant."""
    name, known = operation.device, engine.devices()
    if is_wish(name):
        return granted(name, tuple(known))
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
    """Refuses devices that are wishes and cannot be granted.

    Raises:
        ValueError: an operation is to be computed on a device that its engine does not have.
    """
    home = Place(engine)
    for part in (graph, *graph.subgraphs()):
        for operation in part.operations:
            if is_wish(operation.device):
                own = place_of(operation, home).engine
                if names_device(operation.device) and _device(operation, own) is None:
                    raise _missing_device(operation, own, "say allow_soft_placement=True to have it computed elsewhere")


def pinned_engines(graph: Graph) -> list[Engine]:
    """The engines that operations of a graph are pinned to; errors as of `place_of`."""
    return list({_pinned_to(operation): None for operation in graph.operations if operation.engine is not None})


def is_pinned(graph: Graph) -> bool:
    """Whether something in a graph, or inside of it, is pinned to an engine or a device, or computed by Python."""
    for part in (graph, *graph.subgraphs()):
        if not part.by_type.keys().isdisjoint(HOST_CALLS):
            return True
        for operation in part:
            if operation._pin != NOT_PINNED:
                return True
    return False


def has_pinned_devices(graph: Graph) -> bool:
    """Whether an operation of a graph, or of one inside of it, is pinned to a device."""
    return any(op.device for part in (graph, *graph.subgraphs()) for op in part.operations)


def pin_host_calls(graph: Graph, home: Place) -> None:
    """Pins what Python computes to NumPy, where its engine compiles whole programs, which cannot call Python."""
    for part in (graph, *graph.subgraphs()):
        for operation in part.of_types(HOST_CALLS):
            if place_of(operation, home).engine.compiles_programs:
                operation.pin = "numpy", None


def check_pins(graph: Graph, home: Place) -> None:
    """Refuses pins that a plan cannot follow; errors as of `place_of`."""
    for part in (graph, *graph.subgraphs()):
        for operation in part.operations:
            if operation._pin != NOT_PINNED:
                place_of(operation, home)


def is_divided(operation: Operation, home: Place) -> bool:
    """Whether it is a branch or a loop of which something is computed at another place than the rest."""
    graphs = operation.subgraphs()
    if not graphs:
        return False
    inner = [part for graph in graphs for part in (graph, *graph.subgraphs())]
    pinned = [op for part in inner for op in part.operations if op.pin != NOT_PINNED and op.type not in NOT_COMPUTED]
    return bool(pinned) and {place_of(op, home) for op in pinned} != {place_of(operation, home)}


class Cut(NamedTuple):
    """The operations of a segment, in program order.

    Attributes:
        place: where they are computed.
        operations: none, where there is nothing to compute.
        is_divided: whether it is one operation, of which parts are computed at other places.
    """

    place: Place
    operations: list[Operation]
    is_divided: bool = False


def cut(operations: Iterable[Operation], home: Place) -> list[Cut]:
    """Divides operations into segments: few, each of operations of one place, that need only what earlier ones make.

    With the places in some order, again and again, each operation goes into the first segment of its place that does
    not come before what it needs.  Of two places one of the two orders gives the fewest segments that there can be.

    Args:
        operations: in program order; those that are no computation are left out.
        home: the plan's place.
    """
    where = {op: (place_of(op, home), is_divided(op, home)) for op in operations if op.type not in NOT_COMPUTED}
    keys = list(dict.fromkeys(where.values()))
    if len(keys) < 2 and not any(divided for _, divided in keys):
        return [Cut(keys[0][0] if keys else home, list(where))]
    return min((_divided(where, order) for order in islice(permutations(keys), ORDERS)), key=len)


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
