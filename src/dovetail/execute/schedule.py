"""Schedule: segments in order, with the transfers between them; it runs like one executable.

A graph at one place is one segment, with the arguments and results of the schedule.  With several segments, values
have numbers: first the schedule's arguments, then the results of segments and transfers, in order.

A branch or a loop of which a part is computed at another place is a segment by itself: Python runs it, and each branch
and body is a schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.base.pin import Pin
from dovetail.core.base.texts import count_text, size_text, time_text
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.edit.transplant import transplant
from dovetail.execute.exchanges import exchange_text, exchanges_of
from dovetail.execute.placement import Cut, Place, cut, place_of
from dovetail.execute.segment import Segment
from dovetail.ops.control.plumbing import STRUCTURAL
from dovetail.passes.pure_program import PureProgram

MOST_NAMED = 6  # operations of a segment that are printed by type; more are counted


class Transfer(NamedTuple):
    """A move of a value to another place; two engines share its memory if DLPack can describe it.

    Attributes:
        tensor: the tensor of the optimised graph whose value is moved.
        sender, receiver: the places of its memory.
        takes, target, done: the numbers of the value, of the moved value, and of values that no later step takes.
        seconds: the time that a move takes, once `locality` has measured it; else empty.
    """

    tensor: GraphTensor
    sender: Place
    receiver: Place
    takes: list[int]
    target: int
    done: list[int]
    seconds: list[float]

    @property
    def size(self) -> int | None:
        """The bytes that are moved; None if the shape is not known."""
        return self.tensor.spec.nbytes

    def run(self, values: list[Any]) -> None:
        engine, device, _ = self.receiver
        values[self.target] = engine.receive(values[self.takes[0]], self.sender.engine, device)

    def __str__(self) -> str:
        size = [] if self.size is None else [size_text(self.size)]
        first = f"move {self.tensor.name} from {self.sender} to {self.receiver}"
        return ", ".join([first, *size, *map(time_text, self.seconds)])


class SegmentCall(NamedTuple):
    """A call of a segment, which takes some values and adds its results."""

    segment: Segment
    takes: list[int]
    first: int
    done: list[int]

    def run(self, values: list[Any], **options: Any) -> None:
        results = self.segment.run([values[i] for i in self.takes], **options)
        values[self.first : self.first + len(results)] = results

    def __str__(self) -> str:
        engine = self.segment.engine
        types = [op.type for op in self.segment.graph.operations if op.type not in STRUCTURAL]
        what = ", ".join(types) if len(types) <= MOST_NAMED else f"{len(types)} operations"
        part = "" if self.segment.part is None else f", part {self.segment.part}"
        lines = [f"{engine.name} ({self.segment.devices}){part}: {what or 'nothing to compute'}{self._buffers}"]
        if self.segment.bodies is not None:
            lines += [f"  {line}" for line in str(self.segment.bodies).splitlines()]
        else:
            lines += [f"  {op.type} {op.name!r}: {exchange_text(op)}" for op in exchanges_of(self.segment.graph)]
        return "\n".join(lines)

    @property
    def _buffers(self) -> str:
        """The buffers of the segment, as text."""
        specs = self.segment.buffers.specs
        sizes = [spec.nbytes or 0 for spec in specs]
        return f"; {count_text(len(specs), 'buffer')}, {size_text(sum(sizes))}" if specs else ""


Step: TypeAlias = SegmentCall | Transfer


class Region(NamedTuple):
    """A part of a graph that becomes a segment.

    Attributes:
        cut: its operations, with no constants except returned ones.
        takes: the tensors that it takes.
        gives: the tensors that it makes for others, the new values of variables last.
        states: the numbers of these variables.
    """

    cut: Cut
    takes: Sequence[GraphTensor]
    gives: Sequence[GraphTensor]
    states: Sequence[int]


class Schedule:
    """The program of a graph at the places of its operations.

    Args:
        program: the program of the optimised graph, which belongs to the schedule.
        place: the place of the graph's inputs and results, except values of variables.
        donates: whether the arrays of variables that are both read and assigned may be consumed.
        home: the plan's place, if the graph is a subgraph of the plan's; then results are returned at `place`, even if
            another device of its engine computes them.

    Attributes:
        steps: the segments and transfers, in order; each has the numbers of the values that it takes, and of the
            values that no later step takes.
        places: the places of inputs, results and segments.
        homes: per input, the place of the memory in which it is given.
        made: per state, the place of the memory in which it is returned, and whether nobody else knows its memory.
        consumed: per variable of `changed`, whether its array is consumed.
        spares: the numbers of the states that are written into spare arrays; these follow the inputs, in this order.
        leaves: per input, whether a returned or moved value may be a view of it.
        run: (arrays) → tuple of arrays; if arrays are consumed, it takes a list `into`, as executables do.
    """

    def __init__(
        self,
        program: PureProgram,
        place: Place,
        donates: bool = False,
        home: Place | None = None,
    ) -> None:
        self._place = place
        self._is_inner = home is not None
        graph, read, changed = program.graph, len(program.read), len(program.changed)
        inputs, returned = graph.inputs, graph.outputs
        results, states = returned[: program.results], returned[program.results :]
        first, *others = cut(graph.operations, home or place)
        constants = _constants(returned, place, self._is_inner)
        is_one = not others and {first.place, *[at for at, _ in constants]} == {place}
        if is_one:
            regions = [Region(first, inputs, returned, range(len(states)))]
        else:
            regions = _regions([first, *others], constants, results, states)
        self.places = tuple(dict.fromkeys([place, *[region.cut.place for region in regions]]))
        memory = place.memory
        self.made = [(memory, False)] * len(states)
        only_read = dict(zip(inputs[len(inputs) - read :], program.only_read, strict=False))
        segments = []
        is_whole = is_one and not first.is_divided and not self._is_inner  # nobody else has the graph
        for region in regions:
            weights = {number: only_read[t] for number, t in enumerate(region.takes) if t in only_read}
            segment = (
                Segment(graph, place, len(states), part=first.part, weights=weights)
                if is_whole
                else _segment(graph.name, region, home or place, weights)
            )
            for number, owned in zip(region.states, segment.buffers.owned, strict=True):
                self.made[number] = region.cut.place.memory, owned
            segments.append(segment)
        taker = {t: region.cut.place for region in reversed(regions) for t in region.takes}
        given = len(inputs) - read
        self.homes = [*[memory] * given, *(taker.get(t, place).memory for t in inputs[given:])]
        self.homes[len(inputs) - changed :] = [made for made, _ in self.made[:changed]]
        self.steps: list[Step] = []
        self._given = len(inputs)
        self._returns = self._connect(regions, segments, inputs, returned)
        leaving = self._leaving()
        self.leaves = [number in leaving for number in range(self._given)]
        numbers = range(len(inputs) - changed, len(inputs))
        self.consumed = _donate(self.steps, numbers, leaving if donates else leaving.union(numbers))
        self.spares = self._give_spares(regions)
        for segment in segments:
            segment.executable  # noqa: B018  # compiled now, not at the first call
        self.run: Callable[..., tuple[Any, ...]] = segments[0].run if is_one else self._run

    @property
    def segments(self) -> list[Segment]:
        return [step.segment for step in self.steps if isinstance(step, SegmentCall)]

    @property
    def place(self) -> Place:
        """The place of its arguments and results."""
        return self._place

    @property
    def returned(self) -> list[int]:
        """The numbers of the values that it returns: results, then states."""
        return self._returns

    @property
    def transfers(self) -> list[Transfer]:
        return [step for step in self.steps if isinstance(step, Transfer)]

    def _run(self, arguments: Sequence[Any], into: list[Any] | None = None) -> tuple[Any, ...]:
        values = [*arguments[: self._given], *[None] * (self._count - self._given), *arguments[self._given :]]
        *steps, last = self.steps
        for step in steps:
            step.run(values)
            for i in step.done:
                values[i] = None
        if into is None or isinstance(last, Transfer):
            last.run(values)
            return self._returned(values)
        results: list[tuple[Any, ...]] = []  # the results, as soon as they exist; see `Engine.compile`
        try:
            last.run(values, into=results)
            into.append(self._returned(values))
        except BaseException:
            if results and not into:
                values[last.first : last.first + len(results[0])] = results[0]
                into.append(self._returned(values))
            raise
        return into[0]

    def _returned(self, values: list[Any]) -> tuple[Any, ...]:
        return tuple([values[i] for i in self._returns])

    def _connect(
        self,
        regions: Sequence[Region],
        segments: Sequence[Segment],
        inputs: Sequence[GraphTensor],
        returned: Sequence[GraphTensor],
    ) -> list[int]:
        """Make the steps, and return the numbers of the returned values."""
        values = _Numbers(self.steps, len(inputs))
        for number, (tensor, home) in enumerate(zip(inputs, self.homes, strict=True)):
            values.add(tensor, home, number)
        for region, segment in zip(regions, segments, strict=True):
            takes = [values.on(t, region.cut.place) for t in region.takes]
            self.steps.append(SegmentCall(segment, takes, values.count, []))
            for tensor in region.gives:
                values.add(tensor, region.cut.place, values.new())
        results = returned[: len(returned) - len(self.made)]
        where = [*map(partial(self._left, values), results), *[place for place, _ in self.made]]
        returns = [values.on(t, place) for t, place in zip(returned, where, strict=True)]
        self._count = values.count
        _let_go(self.steps, {*range(len(inputs)), *returns})
        return returns

    def _give_spares(self, regions: Sequence[Region]) -> list[int]:
        """Let segments take the spare arrays that they write into, and return the numbers of the states in these."""
        spares: list[int] = []
        calls = [step for step in self.steps if isinstance(step, SegmentCall)]
        for region, step in zip(regions, calls, strict=True):
            numbers = step.segment.buffers.spare_numbers
            first = self._count + len(spares)
            step.takes.extend(range(first, first + len(numbers)))
            spares += [region.states[i] for i in numbers]
        return spares

    def _left(self, values: _Numbers, result: GraphTensor) -> Place:
        """The place at which a result is returned: the schedule's, or any on its engine if this is no subgraph."""
        made = values.home(result)
        return made if made.engine is self._place.memory.engine and not self._is_inner else self._place

    def _leaving(self) -> set[int]:
        """The numbers of the values of which a returned or moved value, or a segment's result, may be a view."""
        leaving = {*self._returns, *[number for step in self.transfers for number in step.takes]}
        for step in self.steps:
            if isinstance(step, SegmentCall):
                leaving.update(
                    [i for i, leaves in zip(step.takes, step.segment.buffers.leaves, strict=False) if leaves]
                )
        return leaving


class _Numbers:
    """The numbers of values while steps are made; it adds a transfer to the steps if a value must move."""

    def __init__(self, steps: list[Step], count: int) -> None:
        self.count = count
        self._steps = steps
        self._home: dict[GraphTensor, tuple[Place, int]] = {}
        self._moved: dict[tuple[GraphTensor, Place], int] = {}

    def new(self) -> int:
        self.count += 1
        return self.count - 1

    def add(self, tensor: GraphTensor, place: Place, number: int) -> None:
        self._home[tensor] = place.memory, number

    def home(self, tensor: GraphTensor) -> Place:
        """The place of the memory in which a tensor's value is made, or given."""
        return self._home[tensor][0]

    def on(self, tensor: GraphTensor, place: Place) -> int:
        """The number of a tensor's value at a place."""
        home, source = self._home[tensor]
        place = place.memory
        if home == place:
            return source
        if (tensor, place) not in self._moved:
            self._moved[tensor, place] = target = self.new()
            self._steps.append(Transfer(tensor, home, place, [source], target, [], []))
        return self._moved[tensor, place]


class Bodies:
    """The branches, or the condition and body, of an operation that Python runs.

    Args:
        place: the place of the operation's inputs and results.
        home: the plan's place.
    """

    def __init__(self, place: Place, home: Place) -> None:
        self._place = place
        self._home = home
        self._schedules: dict[Graph, Schedule] = {}

    @property
    def schedules(self) -> list[Schedule]:
        """The schedules of the branches and bodies."""
        return [*self._schedules.values()]

    def __call__(self, graph: Graph) -> Callable[..., tuple[Any, ...]]:
        """Return a branch or a body as a function of native arrays."""
        schedule = self._schedules.get(graph)  # a profile lowers the operation once more
        if schedule is None:
            schedule = self._schedules[graph] = Schedule(PureProgram(graph), self._place, home=self._home)
        run = schedule.run
        return lambda *arguments: run(arguments)

    def __str__(self) -> str:
        lines: list[str] = []
        for graph, schedule in self._schedules.items():
            steps = [line for step in schedule.steps for line in str(step).splitlines()]
            lines += [f"{graph.name}:", *(f"  {line}" for line in steps)]
        return "\n".join(lines)


def _constants(returned: Sequence[GraphTensor], place: Place, is_inner: bool) -> list[tuple[Place, Operation]]:
    """The constants that are returned, each with its place; see `Schedule._left`."""
    operations = dict.fromkeys([t.op for t in returned if t.op.type == "Const"])
    places = [(place_of(op, place), op) for op in operations]
    return [(at if at.engine.holder is place.engine.holder and not is_inner else place, op) for at, op in places]


def _regions(
    cuts: list[Cut],
    constants: Sequence[tuple[Place, Operation]],
    results: Sequence[GraphTensor],
    states: Sequence[GraphTensor],
) -> list[Region]:
    """The regions of several segments; the last region at a returned constant's place gives it."""
    for place, constant in constants:
        there = [segment for segment in cuts if segment.place == place and not segment.is_divided]
        if not there:
            cuts.append(Cut(place, []))
        (there or cuts)[-1].operations.append(constant)
    taken = [_taken(segment.operations) for segment in cuts]
    wanted = {*results, *(t for tensors in taken for t in tensors)}
    regions = []
    for segment, takes in zip(cuts, taken, strict=True):
        made = [t for op in segment.operations for t in op.outputs]
        own = set(made)
        numbers = [number for number, t in enumerate(states) if t in own]
        gives = [*(t for t in made if t in wanted), *(states[number] for number in numbers)]
        regions.append(Region(segment, takes, gives, numbers))
    return regions


def _taken(operations: list[Operation]) -> list[GraphTensor]:
    """The tensors that operations take and do not make."""
    made = {t for op in operations for t in op.outputs}
    return list(dict.fromkeys(t for op in operations for t in op.inputs if t not in made and t.op.type != "Const"))


def _segment(name: str, region: Region, home: Place, weights: Mapping[int, Variable]) -> Segment:
    """The segment of a region, whose graph has copies of the operations, and of the constants that they take."""
    graph = Graph(name)
    place, of_region, is_divided, part = region.cut
    needed = [t for op in of_region for t in op.inputs]
    constants = dict.fromkeys(t.op for t in (*needed, *region.gives) if t.op.type == "Const")
    operations = [*constants, *(op for op in of_region if op not in constants)]
    copies = transplant(operations, graph, inputs=region.takes)
    graph.outputs = copies.of(region.gives)
    if is_divided:
        for operation in of_region:  # operations inside are computed here, too, unless pinned themselves
            copies.operations[operation].pin = Pin(place.engine.name, place.device)
    bodies = Bodies(place, home) if is_divided else None
    return Segment(graph, place, len(region.states), bodies=bodies, part=part, weights=weights)


def _let_go(steps: Sequence[Step], kept: Iterable[int]) -> None:
    """Note in each step the values that no later step takes, except kept ones."""
    seen = set(kept)
    for step in reversed(steps):
        step.done.extend(dict.fromkeys([i for i in step.takes if i not in seen]))
        seen.update(step.done)


def _donate(steps: Sequence[Step], changed: Sequence[int], leaving: Collection[int]) -> list[bool]:
    """Let each segment consume values that it is the last to take: results of others, and arrays of variables.

    A run that fails must leave the variables as they were, so their arrays are consumed in the last step alone.  A
    program that runs rule by rule consumes nothing else: an array that another segment made may be a view.

    Args:
        steps: the steps of a schedule.
        changed: the numbers of the arrays of variables.
        leaving: the numbers of the arrays of which others may have a view, see `Schedule._leaving`.

    Returns:
        Per number of `changed`, whether its array is consumed.
    """
    calls = [step for step in steps if isinstance(step, SegmentCall)]
    made = {number for step in calls for number in range(step.first, step.first + len(step.segment.outputs))}
    consumed: set[int] = set()
    for step in calls:
        segment = step.segment
        if not segment.engine.consumes or segment.bodies is not None:
            continue
        own = made.intersection(step.done) if segment.engine.compiles_programs else set()
        last = set(changed) if step is steps[-1] else set()
        free = {n for n in (own | last).difference(leaving) if step.takes.count(n) == 1}
        if segment.engine.compiles_programs:
            segment.donated = tuple(_reused(step, free))
        else:
            segment.donated = tuple(segment.buffers.overwrite({i for i, n in enumerate(step.takes) if n in free}))
        consumed.update(step.takes[i] for i in step.segment.donated)
    return [number in consumed for number in changed]


def _reused(step: SegmentCall, free: set[int]) -> Iterator[int]:
    """The numbers of a segment's inputs whose memory can hold results; variables come first."""
    room = Counter(t.spec for t in step.segment.outputs)
    inputs = step.segment.inputs
    for i in sorted(range(len(inputs)), key=step.takes.__getitem__):
        if step.takes[i] in free and room[inputs[i].spec] > 0:
            room[inputs[i].spec] -= 1
            yield i
