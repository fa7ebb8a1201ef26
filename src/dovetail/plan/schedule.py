"""Schedule: segments in order, with the transfers between them; it runs like one executable.

A graph on one engine is one segment, whose arguments and results are those of the schedule.  Of several segments,
values are kept by number: what the schedule is given, then what each segment makes and what each transfer brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.engine import Engine
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.graph.transplant import transplant
from dovetail.ops.control.plumbing import NOT_COMPUTED
from dovetail.plan.placement import cut
from dovetail.plan.segment import Segment

MOST_NAMED = 6  # operations of a segment, when it is printed


class Transfer(NamedTuple):
    """A value goes from one engine to another; in the same memory, where DLPack can say what it is."""

    tensor: GraphTensor
    sender: Engine
    receiver: Engine
    takes: list[int]
    target: int
    done: list[int]

    def run(self, values: list[Any]) -> None:
        values[self.target] = self.receiver.receive(values[self.takes[0]], self.sender)

    def __str__(self) -> str:
        return f"move {self.tensor.name} from {self.sender.name} to {self.receiver.name}"


class SegmentCall(NamedTuple):
    """A segment takes some values, and adds its results."""

    segment: Segment
    takes: list[int]
    first: int
    done: list[int]

    def run(self, values: list[Any]) -> None:
        results = self.segment.run([values[i] for i in self.takes])
        values[self.first : self.first + len(results)] = results

    def __str__(self) -> str:
        types = [op.type for op in self.segment.graph.operations if op.type not in NOT_COMPUTED]
        what = ", ".join(types) if len(types) <= MOST_NAMED else f"{len(types)} operations"
        return f"{self.segment.engine.name} ({self.segment.device}): {what or 'nothing to compute'}"


Step: TypeAlias = SegmentCall | Transfer


class Region(NamedTuple):
    """What becomes a segment.

    Attributes:
        engine: where it is computed.
        operations: what it computes; of constants, those that are returned.
        takes: the tensors that it is given.
        gives: the tensors that it makes for others, the new values of variables last.
        states: the numbers of these variables.
    """

    engine: Engine
    operations: list[Operation]
    takes: Sequence[GraphTensor]
    gives: Sequence[GraphTensor]
    states: Sequence[int]


class Schedule:
    """What a graph comes to on the engines of its operations.

    Args:
        graph: optimised; its variables are read and assigned by the plan.
        engine: the plan's.  The graph's inputs are given there, and its results are returned there.
        inputs: the tensors that are given: the graph's inputs, then reads of variables.
        states: the new values of variables, returned after the graph's outputs.
        changed: how many variables are both read and assigned: the last inputs, and the first states, are theirs.
        donates: whether the arrays of these variables may be consumed; only where there is one segment, since another
            may fail after it.

    Attributes:
        steps: the segments and transfers, in order; each with the numbers of the values that it takes, and of those
            that nobody takes after it.
        engines: those that take part.
        homes: per input, the engine on which it is given.
        made: per state, the engine on which it is returned, and whether nobody else knows its memory.
        donates: whether arrays are consumed.
        spares: the numbers of the states that are written into arrays which are given, in this order, after the inputs.
        leaves: per input, whether something that is returned or moved may be a view of it.
        run: (arrays) → tuple of arrays; where arrays are consumed it takes a list `into`, as executables do.
    """

    def __init__(
        self,
        graph: Graph,
        engine: Engine,
        inputs: Sequence[GraphTensor],
        states: Sequence[GraphTensor],
        changed: int,
        donates: bool,
    ) -> None:
        self._engine = engine
        returned = [*graph.outputs, *states]
        first, *others = cut(graph.operations, engine)
        self._is_one = not others and first[0] is engine
        self.donates = donates and engine.consumes and self._is_one
        if self._is_one:
            regions = [Region(*first, inputs, returned, range(len(states)))]
        else:
            regions = _regions([first, *others], engine, graph.outputs, states)
        donated = range(len(inputs) - changed, len(inputs)) if self.donates else ()
        self.engines = tuple(dict.fromkeys([engine, *(region.engine for region in regions)]))
        self.made = [(engine, False)] * len(states)
        self.spares: list[int] = []
        segments = []
        for region in regions:
            segment = Segment(_pure(graph.name, region), region.engine, len(region.states), donated)
            for number, owned in zip(region.states, segment.buffers.owned, strict=True):
                self.made[number] = region.engine, owned
            self.spares += [region.states[i] for i in segment.buffers.spare_numbers]
            segment.executable  # noqa: B018  # compiled now, not at the first call
            segments.append(segment)
        taker = {t: region.engine for region in reversed(regions) for t in region.takes}
        self.homes = [engine if t.op.type == "Placeholder" else taker.get(t, engine) for t in inputs]
        self.homes[len(inputs) - changed :] = [home for home, _ in self.made[:changed]]
        self.steps: list[Step] = []
        self._returns = self._connect(regions, segments, inputs, returned)
        self.leaves = self._leaving(len(inputs))
        self.run: Callable[..., tuple[Any, ...]] = segments[0].run if self._is_one else self._run

    @property
    def segments(self) -> list[Segment]:
        return [step.segment for step in self.steps if isinstance(step, SegmentCall)]

    @property
    def transfers(self) -> list[Transfer]:
        return [step for step in self.steps if isinstance(step, Transfer)]

    def _run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        values = [*arguments, *[None] * (self._count - len(arguments))]
        for step in self.steps:
            step.run(values)
            for i in step.done:
                values[i] = None
        return tuple([values[i] for i in self._returns])

    def _connect(
        self,
        regions: Sequence[Region],
        segments: Sequence[Segment],
        inputs: Sequence[GraphTensor],
        returned: Sequence[GraphTensor],
    ) -> list[int]:
        """Makes the steps; the numbers of what is returned."""
        values = _Numbers(self.steps, len(inputs) + len(self.spares))
        for number, (tensor, home) in enumerate(zip(inputs, self.homes, strict=True)):
            values.add(tensor, home, number)
        spare = len(inputs)
        for region, segment in zip(regions, segments, strict=True):
            takes = [values.on(t, region.engine) for t in region.takes]
            spares = range(spare, spare := spare + len(segment.buffers.spares))
            self.steps.append(SegmentCall(segment, [*takes, *spares], values.count, []))
            for tensor in region.gives:
                values.add(tensor, region.engine, values.new())
        where = [*[self._engine] * (len(returned) - len(self.made)), *(engine for engine, _ in self.made)]
        returns = [values.on(t, engine) for t, engine in zip(returned, where, strict=True)]
        self._count = values.count
        _let_go(self.steps, {*range(len(inputs) + len(self.spares)), *returns})
        return returns

    def _leaving(self, count: int) -> list[bool]:
        leaving = {*self._returns, *(number for step in self.transfers for number in step.takes)}
        for step in self.steps:
            if isinstance(step, SegmentCall):
                leaving.update(i for i, leaves in zip(step.takes, step.segment.buffers.leaves, strict=False) if leaves)
        return [number in leaving for number in range(count)]


class _Numbers:
    """The numbers of values while steps are made, which are added to where a value has to be moved."""

    def __init__(self, steps: list[Step], count: int) -> None:
        self.count = count
        self._steps = steps
        self._home: dict[GraphTensor, tuple[Engine, int]] = {}
        self._moved: dict[tuple[GraphTensor, Engine], int] = {}

    def new(self) -> int:
        self.count += 1
        return self.count - 1

    def add(self, tensor: GraphTensor, engine: Engine, number: int) -> None:
        self._home[tensor] = engine, number

    def on(self, tensor: GraphTensor, engine: Engine) -> int:
        """The number of a tensor's value on an engine."""
        home, source = self._home[tensor]
        if home is engine:
            return source
        if (tensor, engine) not in self._moved:
            self._moved[tensor, engine] = target = self.new()
            self._steps.append(Transfer(tensor, home, engine, [source], target, []))
        return self._moved[tensor, engine]


def _regions(
    cuts: list[tuple[Engine, list[Operation]]],
    engine: Engine,
    results: Sequence[GraphTensor],
    states: Sequence[GraphTensor],
) -> list[Region]:
    """Several segments: what each takes and gives."""
    constants = list(dict.fromkeys(t.op for t in (*results, *states) if t.op.type == "Const"))
    if constants:  # they are returned by a segment of the plan's engine
        if all(where is not engine for where, _ in cuts):
            cuts.append((engine, []))
        next(operations for where, operations in reversed(cuts) if where is engine).extend(constants)
    taken = [_taken(operations) for _, operations in cuts]
    wanted = {*results, *(t for tensors in taken for t in tensors)}
    regions = []
    for (where, operations), takes in zip(cuts, taken, strict=True):
        made = [t for op in operations for t in op.outputs]
        own = set(made)
        numbers = [number for number, t in enumerate(states) if t in own]
        gives = [*(t for t in made if t in wanted), *(states[number] for number in numbers)]
        regions.append(Region(where, operations, takes, gives, numbers))
    return regions


def _taken(operations: list[Operation]) -> list[GraphTensor]:
    """The tensors that operations take and do not make."""
    made = {t for op in operations for t in op.outputs}
    return list(dict.fromkeys(t for op in operations for t in op.inputs if t not in made and t.op.type != "Const"))


def _pure(name: str, region: Region) -> Graph:
    """A region as a graph of its own, with the constants that it takes."""
    graph = Graph(name)
    needed = [t for op in region.operations for t in op.inputs]
    constants = dict.fromkeys(t.op for t in (*needed, *region.gives) if t.op.type == "Const")
    operations = [*constants, *(op for op in region.operations if op not in constants)]
    copies = transplant(operations, graph, inputs=region.takes)
    graph.outputs = copies.of(region.gives)
    return graph


def _let_go(steps: Sequence[Step], kept: Iterable[int]) -> None:
    """Tells each step which values nobody takes after it; others are kept."""
    seen = set(kept)
    for step in reversed(steps):
        step.done.extend(dict.fromkeys(i for i in step.takes if i not in seen))
        seen.update(step.done)
