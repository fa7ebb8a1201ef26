"""Plan: the segments of a graph, the transfers between them, and the executor that owns variables.

`Plan(graph, engine)` copies the graph, runs the passes and cuts the result into segments, which their engines compile.
A call of the plan passes the arguments and the variables' arrays, and gives the variables their new buffers.

An exception may come at any moment: by Ctrl-C, by another signal, or if memory runs out.  A run is done as a whole or
not at all, also then: the variables that it assigns are all new or all old, and their guard is free.  An engine that
consumes arrays destroys the old ones before Python has the new ones.  But the results are in a list at once, and the
handler of an exception finds them there.  So arrays of variables are consumed only in the last step, after which
nothing can fail.  One case remains: an engine that fails half-way, such as for lack of memory in the middle of a
program, has consumed the arrays for nothing.  Reading such a variable raises `StaleValueError`.

A program that runs rule by rule consumes arrays by C functions, called one after another with no bytecode between them
(`lower.commit`).  They write the new values over the old ones; the last of them appends the results to the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from dovetail.core.base.ending import stop_if_ending
from dovetail.core.base.texts import count_text
from dovetail.core.engine import Engine
from dovetail.core.engines.collectives import COLLECTIVES
from dovetail.core.tensor import Tensor
from dovetail.core.values.state import Arrays, Buffer, donate, held_by, put
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice, Strategy
from dovetail.execute.claims import require_claimed
from dovetail.execute.exchanges import ONE_BY_ONE, exchanges_of
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place, check_pins, first_device, has_pinned_devices
from dovetail.execute.plan_base import Runnable
from dovetail.execute.schedule import Schedule, Transfer
from dovetail.execute.segment import Segment
from dovetail.ops.control.plumbing import PRINTS
from dovetail.passes.pure_program import lift_variables

SHOWING = frozenset(PRINTS).difference(COLLECTIVES)


class Plan(Runnable):
    """A graph made ready to run.

    Args:
        graph: the graph to run; it is not changed.
        engine: the engine of operations that are pinned to no other.  Its `holder` has the arguments and results.
        shapes: the shapes of the inputs, if the graph leaves some unknown and an engine needs them.
        device: the device of that engine; if not given, its first one if operations are pinned to devices, else the
            device of the arguments.
        variants: the names of the rules that are preferred, if the engine has several for an op.

    Attributes:
        graph, engine, shapes: as given.
        holder: the engine of the arguments and results.
        device: the device of the arguments, and of results that are pinned to no other; None as in `Place`.
        variables: the variables that it reads, in the order in which their arrays are passed.
        only_read: the variables that it reads and does not assign; they come first among `variables`.
        assigned: the variables that it assigns, in the order of their new values; the ones that it also reads are
            first.

    Raises:
        UnknownEngine, EngineNotInstalled: an operation's engine is unknown, or its library is not installed.
        ValueError: an operation is pinned to a device that its engine does not have; or a value does not fit the
            variable that it is assigned to.
        NotClaimed: an engine does not claim an operation.

    Example:
        >>> import dovetail as dt
        >>> from dovetail.core.engines.engine_registry import get_engine
        >>> graph = dt.function(lambda x: dt.ops.tanh(dt.ops.exp(x)) * 2.0).graph(dt.spec((3,)))
        >>> graph.get_operation("Tanh").engine = "torch"
        >>> print(Plan(graph, get_engine("numpy")))
        plan of '<lambda>' on numpy: 3 segments, 2 transfers
          numpy (cpu:0): Exp
          move Exp:0 from numpy to torch, 12 B
          torch (cpu:0): Tanh
          move Tanh:0 from torch to numpy, 12 B
          numpy (cpu:0): Mul
    """

    def __init__(
        self,
        graph: Graph,
        engine: Engine,
        shapes: Sequence[tuple[int, ...]] | None = None,
        device: str | None = None,
        variants: tuple[str, ...] = (),
    ) -> None:
        collects = engine.has_devices and has_pinned_devices(graph)
        if collects and device is None:
            device = first_device(engine)
        place = Place(engine, device, variants)
        check_pins(graph, place)
        self.graph, self.engine, self.shapes, self._variants = graph, engine, shapes, variants
        self.holder = engine.holder
        self.device = device
        self._name = graph.name
        optimized = optimized_copy(graph, engine, shapes, device)
        self._input_count, self._result_count = len(optimized.inputs), len(optimized.outputs)
        program = lift_variables(optimized)
        self.only_read, changed = program.only_read, program.changed
        self.variables, self.assigned, self._open = program.read, program.assigned, program.open
        require_claimed(optimized, place)
        donates = not self._open and not shows(optimized)
        self._schedule = schedule = Schedule(program, place, donates)
        engines = [place.engine for place in schedule.places]
        self._engines = tuple(dict.fromkeys([*engines, *(e.holder for e in engines if e.eager is not None)]))
        self._run = self._collected if collects else schedule.run
        self._consumes = any(schedule.consumed)
        self._spares = schedule.spares
        self._made = [(place.engine, place.device) for place, _ in schedule.made]
        self._made_on = [place.engine for place, _ in schedule.made]
        self._shared = [not owned for _, owned in schedule.made]
        self._changed = [(i, v, *self._made[i]) for i, v in enumerate(changed)]
        first, second = self._input_count, self._input_count + len(self.only_read)
        homes = schedule.homes[first:second]
        self._lent = [(v, place.engine, place.device) for v, place in zip(self.only_read, homes, strict=True)]
        self._leaving_read = [
            lent for lent, leaving in zip(self._lent, schedule.leaves[first:], strict=False) if leaving
        ]
        self._leaving = [i for i, leaving in enumerate(schedule.leaves[second:]) if leaving]
        self._owner = object()
        made_on = self._made_on[: len(changed)]
        self._consumed_on = [e if is_last else None for e, is_last in zip(made_on, schedule.consumed, strict=True)]
        self._rewrites = not (
            self._leaving or self._open or any(self._shared) or any(device for _, device in self._made)
        )
        self._guard = program.guard

    @property
    def argument_count(self) -> int:
        """The number of its arguments; the arrays of `variables` follow them."""
        return self._input_count

    @property
    def parts(self) -> list[Plan]:
        """The plan alone."""
        return [self]

    @property
    def segments(self) -> list[Segment]:
        """Its segments, in the order in which they run."""
        return self._schedule.segments

    @property
    def schedule(self) -> Schedule:
        """Its program: segments and transfers."""
        return self._schedule

    @property
    def transfers(self) -> list[Transfer]:
        """Its transfers, in the order in which they are made."""
        return self._schedule.transfers

    @property
    def choice(self) -> Choice:
        """Its engine, with the variant of rules that it prefers; nothing was measured."""
        named = (name for name, rules in self.engine.strategies.items() if rules == self._variants)
        return Choice(Strategy(self.engine.name, next(named, "")))

    @property
    def can_run(self) -> bool:
        """Whether its engines can be used in this process: some cannot in a forked child."""
        return all(engine.around.refused is None for engine in self._engines)

    def prepare(self) -> None:
        """Do the long part of the first call beforehand, in any thread."""
        for segment in self.segments:
            stop_if_ending()
            segment.prepare()

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the plan on native arrays; the results are native arrays."""
        for engine in self._engines:
            if engine.around.refused is not None:
                engine.around.refused()
        if not self.variables and self._guard is None:
            return self._run(arguments)
        for variable, engine, device in self._leaving_read:
            variable.shared_buffer(engine, device)
        # Before the plan takes its guard: a thread holds one guard at a time.
        lent = [v.array_on(engine, device) for v, engine, device in self._lent] if self._lent else ()
        given = [*arguments, *lent]
        return self._run(given) if self._guard is None else self._guard.holding(self._step, given)

    def _collected(self, given: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        """Run the plan with its arguments moved to its device; results of such plans are on several devices."""
        engine, device, count = self.holder, self.device, self._input_count
        assert device is not None
        arguments = [a if engine.device_of(a) == device else engine.to_device(a, device) for a in given[:count]]
        return self._schedule.run([*arguments, *given[count:]], **options)

    def _step(self, given: list[Any]) -> tuple[Any, ...]:
        buffer = self.assigned[0]._buffer
        arrays = None if buffer is None else buffer.arrays
        if arrays is None or arrays.owner is not self._owner or not arrays.is_whole or arrays.claimed:
            return self._first_step(given)
        before, spares = arrays.values, arrays.spares
        lent = before
        computed: list[tuple[Any, ...]] = []
        try:
            if self._consumes:
                arrays.claimed = True
            if arrays.is_borrowed and not arrays.is_returned():
                spares = self._filled(arrays.unborrowed_spares())
                lent = arrays.unborrowed(self._consumed_on) if self._consumes else before
            arguments = [*given, *lent[: len(self._changed)], *spares]
            if self._consumes:
                self._run(arguments, into=computed)
            else:
                computed.append(self._run(arguments))
            self._write(arrays, computed[0], before)
        except BaseException:
            if computed:
                self._write(arrays, computed[0], before)
            raise
        return computed[0][: self._result_count]

    def _write(self, arrays: Arrays, results: Sequence[Any], before: Sequence[Any]) -> None:
        arrays.values = results[self._result_count :]  # the one assignment that gives all variables their new values
        arrays.spares = [before[i] for i in self._spares] if self._spares else ()
        arrays.claimed = False

    def _first_step(self, given: list[Any]) -> tuple[Any, ...]:
        """Run a step on variables that others have assigned, or read, since the latest step of this plan."""
        before = self._fetched()
        computed: list[tuple[Any, ...]] = []
        try:
            arguments = [*given, *self._changed_arrays(before), *self._spare_arrays(before)]
            if self._consumes:
                self._run(arguments, into=computed)
            else:
                results = self._run(arguments)
                for i in self._open:
                    self.assigned[i].check_shape(Tensor(results[self._result_count + i], self._made[i][0]))
                computed.append(results)
            self._put(computed[0][self._result_count :], before)
        except BaseException:
            if computed:
                self._put(computed[0][self._result_count :], before)
            raise
        return computed[0][: self._result_count]

    def _fetched(self) -> list[Any]:
        """Return the buffers of the assigned variables; move the ones that are also read to their places."""
        before: list[Any] = list(map(held_by, self.assigned))
        for i, variable, engine, device in self._changed:
            buffer = before[i]
            if (
                buffer is None
                or buffer.engine is not engine
                or buffer.claimed  # by a run that failed
                or (device is not None and buffer.device != device)
            ):
                before[i] = variable.buffer_on(engine, device)
        for i in self._leaving:
            before[i].share()
        return before

    def _changed_arrays(self, before: list[Any]) -> list[Any]:
        """The arrays of variables that are read and assigned."""
        buffers, consumed = before[: len(self._changed)], self._schedule.consumed
        if not self._consumes:
            return [buffer.value for buffer in buffers]
        given = iter(donate(buffer for buffer, is_last in zip(buffers, consumed, strict=True) if is_last))
        return [next(given) if is_last else b.value for b, is_last in zip(buffers, consumed, strict=True)]

    def _spare_arrays(self, before: list[Any]) -> list[Any]:
        """Arrays that the next values of variables may be written into."""
        arrays = [None if before[i] is None else before[i].arrays for i in self._spares]
        own = {a: a.unborrowed_spares() for a in dict.fromkeys(arrays) if a is not None and a.owner is self._owner}
        return self._filled([own[a][k] if a in own else None for k, a in enumerate(arrays)])

    def _filled(self, spares: list[Any]) -> list[Any]:
        """Fill the gaps in a list of spare arrays with new arrays."""
        for k, i in enumerate(self._spares):
            if spares[k] is None:
                (engine, device), variable = self._made[i], self.assigned[i]
                spares[k] = engine.allocate(variable.shape, variable.dtype, device)
        return spares

    def _put(self, values: Sequence[Any], before: list[Any]) -> None:
        held = [buffer for buffer in before if buffer is not None]
        spares = self._filled([_value_on(*self._made[i], before[i]) for i in self._spares])
        arrays = Arrays(values, spares, self._owner)
        arrays.is_whole = self._rewrites
        arrays.is_borrowed = any(buffer.arrays.is_borrowed for buffer in held)
        put(self.assigned, list(map(Buffer, repeat(arrays), range(len(values)), self._made_on, self._shared)))

    def __str__(self) -> str:
        counts = {"segment": len(self.segments), "transfer": len(self._schedule.transfers)}
        parts = [count_text(count, noun) for noun, count in counts.items() if count]
        parts += [f"assigns {', '.join(v.name for v in self.assigned)}"] if self.assigned else []
        first = f"plan of {self._name!r} on {Place(self.engine, self.device)}: {', '.join(parts)}"
        lines = [line for step in self._schedule.steps for line in str(step).splitlines()]
        lines += [ONE_BY_ONE] if exchanges_of(self.graph) else []
        return "\n  ".join([first, *lines])


def _value_on(engine: Engine, device: str | None, buffer: Buffer | None) -> Any:
    """The array of a buffer on an engine, if only variables and plans may know the array; else None."""
    if buffer is None or buffer.engine is not engine or buffer.shared or device not in (None, buffer.device):
        return None
    return buffer.value


def shows(graph: Graph) -> bool:
    """Whether a program calls the user's Python, for example to print, so that this runs while it computes."""
    return not all(part.by_type.keys().isdisjoint(SHOWING) for part in graph.everywhere())
