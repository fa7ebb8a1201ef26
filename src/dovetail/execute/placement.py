"""Placement: the place at which each operation is computed, and the segments that follow from it.

A place is an engine, with one of its devices if there are several.  `operation.pin` pins an operation.  An operation
that is not pinned is computed at the plan's place; in a branch or in the body of a loop, at the place of the branch or
loop.  If the engine does not have the device of a pin, the nearest one stands in for it; see `core.engines.devices`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from typing import Any, NamedTuple

from dovetail.core.base.errors import EngineNotInstalled, UnknownEngine, describe, did_you_mean, op_error
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.engine import Engine
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.engines.devices import device_for, found_device, soft_placement
from dovetail.core.engines.engine_registry import device_owner, get_engine, known_engines
from dovetail.core.wish import as_wish
from dovetail.edit.graph import Graph, Operation
from dovetail.graph.nesting import holders_of
from dovetail.graph.parts import in_parts
from dovetail.ops.control.plumbing import HOST_CALLS, STRUCTURAL

_INSTEAD = "place it on one of them, or allow the nearest one (set_soft_placement, allow_soft_placement=True)"
STATEFUL = frozenset(["PyFunc", "EagerPyFunc"])
USERS_CALLS = frozenset(HOST_CALLS).difference(COLLECTIVES)
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
        return (
            self if holder is self.engine else Place(holder, self.device if self.device in holder.devices() else None)
        )

    def __str__(self) -> str:
        return self.engine.name if self.device is None else f"{self.engine.name} ({self.device})"


def placed(operations: Iterable[Operation], engine: Engine) -> list[tuple[Operation, str]]:
    """The operations of a graph that an engine runs, with the device of each."""
    home = Place(engine, device_for(engine.holder.name) or first_device(engine))
    places = [(operation, place_of(operation, home)) for operation in operations]
    return [(operation, place.device or place.engine.devices()[0]) for operation, place in places]


def place_of(operation: Operation, home: Place) -> Place:
    """The place at which an operation is computed.

    Args:
        operation: an operation of the plan's graph, or of a subgraph.
        home: the plan's place.

    Raises:
        UnknownEngine, EngineNotInstalled: the operation's engine is unknown, or its library is not installed.
        ValueError: it is pinned to a device that its engine does not have, and none may stand in for it.
    """
    holders = holders_of(operation.graph)
    around = place_of(holders[0], home) if holders else home
    if operation._pin == ANYWHERE:
        return around
    engine = _engine(operation, around.engine)
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


def _engine(operation: Operation, around: Any) -> Any:
    """The engine of an operation: the one of its pin, else the one that owns its device, else the one around."""
    if operation.engine is not None:
        return _pinned_to(operation)
    wish = as_wish(operation.device) if operation.device else None
    owner = None if wish is None else device_owner(wish.kind)
    return around if owner is None else get_engine(owner)


def _device(operation: Operation, engine: Engine) -> str | None:
    """The device of an operation, or the nearest one; None if its pin leaves the device open."""
    return found_device(engine, operation.device, lambda: _missing_device(operation, engine))


def _missing_device(operation: Operation, engine: Engine) -> Exception:
    there = ", ".join(engine.devices())
    problem = f"{operation.name!r} is to be computed on the device {describe(operation.device)}"
    problem = f"{problem}, but {engine.name} has the devices {there} here; {_INSTEAD}."
    return op_error(ValueError, operation.type, problem, where=operation.where)


def pinned_engines(operations: Iterable[Operation]) -> list[Engine]:
    """The engines that operations are pinned to, themselves or by their devices; it raises the errors of `place_of`."""
    pinned = (op for op in operations if op.pin[:2] != ANYWHERE[:2])
    return list(dict.fromkeys(filter(None, (_engine(op, None) for op in pinned))))


def is_pinned(graph: Graph) -> bool:
    """Whether an operation of a graph or subgraph is pinned to an engine or a device, or calls the user's Python."""
    for part in graph.everywhere():
        if not part.by_type.keys().isdisjoint(USERS_CALLS):
            return True
        for operation in part:
            if operation._pin[:2] != ANYWHERE[:2]:
                return True
    return False


def fixes_engine(graph: Graph) -> bool:
    """Whether pins of a graph or subgraph say the engine, or a device for which no other may stand in."""
    parts = graph.everywhere()
    if any(op.engine is not None for part in parts for op in part.operations):
        return True
    devices = {op.device for part in parts for op in part.operations if op.device}
    if not devices:
        return False
    wishes = [as_wish(device) for device in devices]
    return not soft_placement() or any(wish is None or device_owner(wish.kind) is not None for wish in wishes)


def has_pinned_devices(graph: Graph) -> bool:
    """Whether an operation of a graph or subgraph is pinned to a device."""
    return any(op.device for part in graph.everywhere() for op in part.operations)


def pin_host_calls(graph: Graph, home: Place) -> None:
    """Pin Python's operations to NumPy if their engine compiles whole programs, which cannot call Python."""
    for part in graph.everywhere():
        for operation in part.of_types(HOST_CALLS):
            if place_of(operation, home).engine.compiles_programs:
                operation.pin = Pin("numpy", part=operation.part)


def pin_unknown_shapes(graph: Graph, home: Place) -> int:
    """Pin operations to NumPy whose shapes depend on values, if the engine needs every shape and nobody named it.

    Args:
        graph: a graph in which all shapes are known that follow from its inputs.
        home: the plan's place.

    Returns:
        The number of operations that were pinned.
    """
    if not home.engine.static_shapes:
        return 0
    count = 0
    for operation in graph.operations:
        if operation.engine is None and _has_unknown_shapes(operation):
            operation.pin = Pin("numpy", part=operation.part)
            count += 1
    return count


def _has_unknown_shapes(operation: Operation) -> bool:
    """Whether a shape of an operation depends on values, also of one inside of its branches or its body."""
    inner = (op for graph in operation.subgraphs() for part in graph.everywhere() for op in part.operations)
    return any(
        not all(t.spec.is_static for t in (*op.inputs, *op.outputs))
        or any(op.layout[index] is not None for index in op.op.ints_positions)
        for op in (operation, *inner)
    )


def check_pins(graph: Graph, home: Place) -> None:
    """Refuse pins that a plan cannot follow, with the errors of `place_of`; `cut` checks the order of parts."""
    for inner in graph.everywhere():
        for operation in inner.operations:
            if operation._pin != ANYWHERE:
                place_of(operation, home)
                if inner is not graph:
                    _check_inner_part(operation)


def _check_inner_part(operation: Operation) -> None:
    """Refuse a part that begins inside of a branch or a loop."""
    holder = next(iter(holders_of(operation.graph)), None)
    if holder is not None and operation.part not in (None, holder.part):
        problem = f"{operation.name!r} is in the part {operation.part!r}, but {holder.name!r}, which runs it, is not."
        problem = f"{problem} Put the whole {holder.type} into the part."
        raise op_error(ValueError, operation.type, problem, where=operation.where)


def is_divided(operation: Operation, home: Place) -> bool:
    """Whether an operation is a branch or a loop of which a part is computed at another place than the rest."""
    graphs = operation.subgraphs()
    if not graphs:
        return False
    inner = [part for graph in graphs for part in graph.everywhere()]
    pinned = [op for part in inner for op in part.operations if op.pin != ANYWHERE and op.type not in STRUCTURAL]
    return bool(pinned) and {place_of(op, home) for op in pinned} != {place_of(operation, home)}


class Cut(NamedTuple):
    """The operations of a segment, in program order.

    Attributes:
        place: the place at which they are computed.
        operations: the operations; none if there is nothing to compute.
        is_divided: whether it is one operation, of which parts are computed at other places.
        part: the user's part; None if the graph has none.
    """

    place: Place
    operations: list[Operation]
    is_divided: bool = False
    part: int | str | None = None


def cut(operations: Iterable[Operation], home: Place) -> list[Cut]:
    """Divide operations into few segments, each at one place, that need only the results of earlier segments.

    The parts of the graph are divided by themselves, one after another.

    Args:
        operations: in program order; operations that compute nothing are left out.
        home: the plan's place.
    """
    parts = in_parts(operations)
    return [piece._replace(part=part) for part, inner in parts for piece in _cut(inner, home)]


def _cut(operations: Iterable[Operation], home: Place) -> list[Cut]:
    """Do `cut` for one part.

    The places take turns in one order, again and again.  Each operation goes into the first segment of its place that
    does not come before its inputs' segments.  The user's Python is called in program order.  With two places, one of
    the two orders gives the fewest segments that are possible.
    """
    where = {op: _place_of(op, home) for op in operations}
    keys = list(dict.fromkeys(where.values()))
    if len(keys) < 2 and not any(divided for _, divided in keys):
        return [Cut(keys[0][0] if keys else home, list(where))]
    in_order = set(filter(_calls_python, where))
    return min((_divided(where, order, in_order) for order in islice(permutations(keys), ORDERS)), key=len)


def _place_of(operation: Operation, home: Place) -> tuple[Place, bool]:
    """The place of an operation, and whether it is divided; the engine of its values runs the loop of such a one."""
    place, divided = place_of(operation, home), is_divided(operation, home)
    return place.memory if divided else place, divided


def _calls_python(operation: Operation) -> bool:
    """Whether an operation, or one inside of it, calls a function of the user's that may have effects."""
    inner = (part for graph in operation.subgraphs() for part in graph.everywhere())
    return operation.type in STATEFUL or any(not part.by_type.keys().isdisjoint(STATEFUL) for part in inner)


def _divided(
    where: dict[Operation, tuple[Place, bool]], order: Sequence[tuple[Place, bool]], in_order: set[Operation]
) -> list[Cut]:
    turn = {key: number for number, key in enumerate(order)}
    rounds: dict[Operation, int] = {}
    segments: dict[int, list[Operation]] = {}
    latest = 0
    for op, key in where.items():
        earliest = max((rounds[t.op] for t in op.inputs if t.op in rounds), default=0)
        earliest = max(earliest, latest) if op in in_order else earliest
        rounds[op] = number = earliest + (turn[key] - earliest) % len(order)
        latest = number if op in in_order else latest
        segments.setdefault(number, []).append(op)
    cuts: list[Cut] = []
    for number in sorted(segments):
        place, divided = order[number % len(order)]
        parts = [[op] for op in segments[number]] if divided else [segments[number]]
        cuts += [Cut(place, part, divided) for part in parts]
    return cuts
