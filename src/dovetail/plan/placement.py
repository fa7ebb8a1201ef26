"""Placement: which engine computes which operation, and the segments that follow from it.

`operation.engine` and `operation.device` pin an operation.  What is not pinned is computed on the plan's engine, or,
in a branch or the body of a loop, where the branch or loop is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from typing import Any

from dovetail.core.dtypes import as_dtype
from dovetail.core.engine import Engine
from dovetail.core.engine_registry import get_engine, known_engines
from dovetail.core.errors import EngineNotInstalled, UnknownEngine, did_you_mean, op_error
from dovetail.graph.ir import Graph, Operation
from dovetail.ops.control.plumbing import NOT_COMPUTED

ORDERS = 24  # of the engines that are tried; all there are of four


def engine_of(operation: Operation, engine: Engine) -> Engine:
    """The engine that computes an operation.

    Args:
        operation: of the plan's graph, or of one inside of it.
        engine: the plan's.

    Raises:
        UnknownEngine, EngineNotInstalled: the operation is pinned to an engine that is not there.
    """
    while operation.engine is None:
        holders = operation.graph.holders()
        if not holders:
            return engine
        operation = holders[0]
    return _pinned_to(operation)


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


def pinned_engines(graph: Graph) -> list[Engine]:
    """The engines that operations of a graph are pinned to; errors as of `engine_of`."""
    return list({_pinned_to(operation): None for operation in graph.operations if operation.engine is not None})


def check_pins(graph: Graph, engine: Engine) -> None:
    """Refuses pins that a plan on an engine cannot follow.

    Raises:
        UnknownEngine, EngineNotInstalled: an operation is pinned to an engine that is not there.
        ValueError: one is pinned to a device that its engine does not compute on, or to another engine than the branch
            or loop that it is in.
    """
    for part in (graph, *graph.subgraphs()):
        for operation in part.operations:
            if operation.device is not None:
                _check_device(operation, engine_of(operation, engine))
            if operation.engine is not None and (holders := part.holders()):
                _check_inside(operation, holders[0], engine_of(holders[0], engine))


def _check_inside(operation: Operation, holder: Operation, engine: Engine) -> None:
    if _pinned_to(operation) is not engine:
        problem = (
            f"{operation.name!r} is to be computed on {operation.engine!r}, but it is inside of {holder.name!r}, which "
            f"is computed on {engine.name!r} as a whole; set the engine of {holder.name!r}."
        )
        raise op_error(ValueError, operation.type, problem, where=operation.where)


def own_device(engine: Engine) -> str:
    """The device on which an engine puts arrays by itself."""
    return engine.device_of(engine.asarray(0.0, as_dtype("float32")))


def _check_device(operation: Operation, engine: Engine) -> None:
    own = own_device(engine)
    if operation.device not in (own, own.partition(":")[0]):
        problem = (
            f"{operation.name!r} is to be computed on the device {operation.device!r}, but {engine.name} computes on "
            f"{own!r} here; set the operation's device to that, or to None."
        )
        raise op_error(ValueError, operation.type, problem, where=operation.where)


def cut(operations: Iterable[Operation], engine: Engine) -> list[tuple[Engine, list[Operation]]]:
    """Divides operations into segments: few, each of operations of one engine, that need only what earlier ones make.

    With the engines in some order, again and again, each operation goes into the first segment of its engine that does
    not come before what it needs.  Of two engines one of the two orders gives the fewest segments that there can be.

    Args:
        operations: in program order; those that are no computation are left out.
        engine: the plan's.

    Returns:
        (engine, operations) for each segment; one without operations, where there is nothing to compute.
    """
    where = {op: engine_of(op, engine) for op in operations if op.type not in NOT_COMPUTED}
    engines = list(dict.fromkeys(where.values()))
    if len(engines) < 2:
        return [(engines[0] if engines else engine, list(where))]
    return min((_divided(where, order) for order in islice(permutations(engines), ORDERS)), key=len)


def _divided(where: dict[Operation, Engine], order: Sequence[Engine]) -> list[tuple[Engine, list[Operation]]]:
    turn = {engine: number for number, engine in enumerate(order)}
    rounds: dict[Operation, int] = {}
    segments: dict[int, list[Operation]] = {}
    for op, engine in where.items():
        earliest = max((rounds[t.op] for t in op.inputs if t.op in rounds), default=0)
        rounds[op] = number = earliest + (turn[engine] - earliest) % len(order)
        segments.setdefault(number, []).append(op)
    return [(order[number % len(order)], segments[number]) for number in sorted(segments)]
