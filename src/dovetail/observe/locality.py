"""Locality: the transfers that a placement costs, with the pins that cause them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from dovetail.core.base.errors import describe, op_error, place
from dovetail.core.base.texts import count_text, size_text, time_text
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.edit.graph import Graph, Operation
from dovetail.execute.placement import Place, place_of
from dovetail.execute.plan import Plan
from dovetail.execute.plan_base import Runnable
from dovetail.execute.schedule import Bodies, Schedule, SegmentCall, Transfer
from dovetail.graph.nesting import holders_of

TIMES = 20  # moves of which the median is taken


class Cause(NamedTuple):
    """A pin that causes a transfer.

    Attributes:
        operation: the name of the pinned operation.
        place: the engine and the device at which it is computed.
        where: the user's line that made it, as `train.py:12`.
    """

    operation: str
    place: str
    where: str


class Crossing(NamedTuple):
    """A transfer of a placement.

    Attributes:
        tensor: its name in the optimised graph.
        sender, receiver: the engine and the device from which and to which it moves.
        size: the bytes that move in a call, or in one turn of a loop; None if the shape is not known.
        seconds: the time that a move takes; None if it was not measured.
        loop: the name of the branch or loop that the transfer is in; "" if it is in none.
        causes: the pins that cause it.
    """

    tensor: str
    sender: str
    receiver: str
    size: int | None
    seconds: float | None
    loop: str
    causes: tuple[Cause, ...]


class Locality(NamedTuple):
    """The transfers of a plan, in the order in which they are made; `print` shows them.

    Attributes:
        name: of the graph.
        place: the place of the arguments and results.
        crossings: the transfers.
    """

    name: str
    place: str
    crossings: tuple[Crossing, ...]

    @property
    def size(self) -> int:
        """The bytes of all transfers whose sizes are known."""
        return sum(crossing.size or 0 for crossing in self.crossings)

    def __str__(self) -> str:
        count = len(self.crossings)
        total = f"{count_text(count, 'transfer')}, {size_text(self.size)}" if count else "no transfers"
        return "\n".join([f"locality of {self.name!r} on {self.place}: {total}", *chain(*map(_lines, self.crossings))])


def _lines(crossing: Crossing) -> list[str]:
    size = "unknown size" if crossing.size is None else size_text(crossing.size)
    seconds = "" if crossing.seconds is None else f", {time_text(crossing.seconds)}"
    inside = f", in each turn of {crossing.loop}" if crossing.loop else ""
    first = f"  {crossing.tensor} from {crossing.sender} to {crossing.receiver}: {size}{seconds}{inside}"
    return [first, *(f"    {cause.operation} is placed on {cause.place} ({cause.where})" for cause in crossing.causes)]


def locality(given: Graph | Runnable, engine: str | None = None, measure: bool = False) -> Locality:
    """List the transfers that the placement of a graph costs, with the pins that cause them.

    Args:
        given: a graph, or a plan of a function: `f.plan(x)`.
        engine: the engine of a graph's operations that are pinned to no other; if not given, the current one.
        measure: measure the time of each transfer, by moves of zeros of the same dtype and shape.  `print(plan)` shows
            it from then on.  A transfer of an unknown shape is not measured.

    Returns:
        The transfers in the order of a call, with sizes in bytes.  The turns of a loop are not counted.

    Raises:
        TypeError: it is neither a graph nor a plan.
        UnknownEngine, EngineNotInstalled: an engine is unknown, or its library is not installed.
        ValueError: a pin cannot be followed, as for `dovetail.place`.

    Source: `log_device_placement` of TensorFlow, with costs.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.tanh(dt.ops.exp(x)) * 2.0).graph(dt.spec((3,)))
        >>> graph.place({"Tanh": "torch"})
        1
        >>> found = dt.locality(graph, "numpy")
        >>> [(c.tensor, c.sender, c.receiver, c.size, c.causes[0].operation) for c in found.crossings]
        [('Exp:0', 'numpy', 'torch', 12, 'Tanh'), ('Tanh:0', 'torch', 'numpy', 12, 'Tanh')]
    """
    if isinstance(given, Graph):
        plan = Plan(given, current_engine() if engine is None else get_engine(engine))
    elif isinstance(given, Runnable) and engine is None:
        plan = given.parts[-1]
    else:
        problem = f"it takes a graph, with an engine or without, or a plan, not {describe(given)}."
        raise op_error(TypeError, "locality", problem)
    home = Place(plan.engine, plan.device)
    transfers = list(_transfers(plan.schedule, ""))
    if measure:
        for _, transfer, _ in transfers:
            _measure(transfer)
    return Locality(plan.graph.name, str(home), tuple(_crossing(*each, home) for each in transfers))


def _transfers(schedule: Schedule, loop: str) -> Iterator[tuple[Schedule, Transfer, str]]:
    """The transfers of a schedule, and of the branches and bodies that Python runs."""
    for step in schedule.steps:
        if isinstance(step, Transfer):
            yield schedule, step, loop
        elif isinstance(step, SegmentCall) and isinstance(step.segment.bodies, Bodies):
            names = [op.name for op in step.segment.graph.operations if op.subgraphs()]
            for inner in step.segment.bodies.schedules:
                yield from _transfers(inner, ", ".join(names))


def _crossing(schedule: Schedule, transfer: Transfer, loop: str, home: Place) -> Crossing:
    causes = [Cause(op.name, str(place_of(op, home)), place(op.where)) for op in _causes(schedule, transfer, home)]
    seconds = transfer.seconds[0] if transfer.seconds else None
    ends = str(transfer.sender), str(transfer.receiver)
    return Crossing(transfer.tensor.name, *ends, transfer.size, seconds, loop, tuple(dict.fromkeys(causes)))


def _causes(schedule: Schedule, transfer: Transfer, home: Place) -> Iterator[Operation]:
    """The pinned operations at the two ends of a transfer that are computed elsewhere than their schedule."""
    around = schedule.place.memory
    ends: Sequence[tuple[Operation, Place]] = [
        (transfer.tensor.op, transfer.sender),
        *((op, transfer.receiver) for op in transfer.tensor.consumers()),
    ]
    for op, memory in ends:
        if memory != around and place_of(op, home).memory == memory:
            yield from _pinned(op)


def _pinned(op: Operation) -> Iterator[Operation]:
    """An operation if it is pinned, else the pinned branch or loop around it."""
    if op.engine is not None or op.device:
        yield op
        return
    for holder in holders_of(op.graph)[:1]:
        yield from _pinned(holder)


def _measure(transfer: Transfer) -> None:
    """Measure a transfer by moves of zeros; the first one is not counted."""
    spec = transfer.tensor.spec
    if not spec.is_static:
        return
    sender, (engine, device, _) = transfer.sender, transfer.receiver
    value = sender.engine.asarray(np.zeros(spec.shape, spec.dtype.numpy), spec.dtype, sender.device)
    sender.engine.wait(value)
    times = []
    for _ in range(TIMES + 1):
        start = time.perf_counter()
        engine.wait(engine.receive(value, sender.engine, device))
        times.append(time.perf_counter() - start)
    transfer.seconds[:] = [statistics.median(times[1:])]
