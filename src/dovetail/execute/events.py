"""Events: operations that ran, with their times, as an open profile records them.

An event is a single call, a line of a generated program, a call of a compiled program, or a transfer.  `watch` lets
these tell a recorder.  Each thread adds up its own rows.  An event's own time leaves out the events inside of it, so no
time counts twice.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.core.engine import Engine
from dovetail.core.values.accounting import Account

if TYPE_CHECKING:
    from dovetail.edit.graph import Operation
    from dovetail.execute.placement import Place

EVENTS = 100_000  # the events of the timeline; older ones count in the rows alone
ROWS = 10_000  # the rows of a thread; further ones are summed in one

OPERATION, FUSION, PROGRAM, TRANSFER, SPAN = "operation", "fusion", "program", "transfer", "span"
COMPILE = "compiling"

Line = tuple[str, int]


class Subject(NamedTuple):
    """The operations that an event ran, and where.

    Attributes:
        kind: "operation", "fusion" of several operations, "program", "transfer" or "compiling".
        types: the types of the operations.
        operations: their names in the user's graph; of single calls, their types.
        lines: the user's lines that made them, (file, number).
        place: the engine, and the device if it has several.
        program: the name of the graph; "" for single calls.
    """

    kind: str
    types: tuple[str, ...]
    operations: tuple[str, ...]
    lines: tuple[Line, ...]
    place: str
    program: str = ""


OTHERS = Subject(OPERATION, ("other rows",), (), (), "")
COMPILING = Subject(COMPILE, ("compiling",), (), (), "")


class Event(NamedTuple):
    """An event: its subject, start and duration in nanoseconds of `time.perf_counter_ns`, bytes, and thread."""

    subject: Subject
    start: int
    duration: int
    bytes: int
    thread: int


class Times(NamedTuple):
    """The start and end of an event, and its own time, without the events inside of it; all in nanoseconds."""

    start: int
    end: int
    own: int


class Sum:
    """The sums of the events of one subject: calls, own time in nanoseconds, bytes of results, and the most memory."""

    __slots__ = ("bytes", "calls", "peak", "time")

    def __init__(self) -> None:
        self.calls = self.time = self.bytes = self.peak = 0

    def add(self, time: int, size: int, live: int, calls: int = 1) -> None:
        self.calls += calls
        self.time += time
        self.bytes += size
        self.peak = max(self.peak, live)


class Tally:
    """The sums of one thread.

    Attributes:
        thread: its identifier.
        name: its name.
        sums: the sums, by subject.
        inner: nanoseconds of the events inside of the one that is under way, with the recorder's own time.
        overhead: nanoseconds of the recorder itself.
        moves: whether a transfer is under way.
        compiles: whether something is being traced or compiled.
    """

    __slots__ = ("compiles", "inner", "moves", "name", "overhead", "sums", "thread")

    def __init__(self) -> None:
        self.thread, self.name = threading.get_ident(), threading.current_thread().name
        self.sums: dict[Subject, Sum] = {}
        self.inner = self.overhead = 0
        self.moves = self.compiles = False

    def sum_of(self, subject: Subject) -> Sum:
        total = self.sums.get(subject)
        if total is None:
            key = subject if len(self.sums) < ROWS else OTHERS
            total = self.sums.setdefault(key, Sum())
        return total


class _OfThread(threading.local):
    def __init__(self, tallies: list[Tally]) -> None:
        self.tally = Tally()
        tallies.append(self.tally)


class Recorder:
    """A recorder of events, which threads share.

    Attributes:
        events: the latest events.
        tallies: the sums of each thread.
        peak: the most bytes that were alive at once on a place, with the place and the operation that made the last.
    """

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=EVENTS)
        self.tallies: list[Tally] = []
        self._of_thread = _OfThread(self.tallies)
        self._accounts: dict[tuple[str, str], Account] = {}
        self.peak: tuple[int, Subject | None] = 0, None

    def restart(self) -> None:
        """Forget the events so far; arrays that are alive still count."""
        self.events.clear()
        self.peak = 0, None
        for tally in self.tallies:
            tally.sums, tally.overhead = {}, 0

    @property
    def tally(self) -> Tally:
        """The sums of this thread."""
        return self._of_thread.tally

    def add(self, subject: Subject, times: Times, size: int, live: int = 0) -> None:
        """Add an event of this thread."""
        tally = self._of_thread.tally
        tally.sum_of(subject).add(times.own, size, live)
        self.events.append(Event(subject, times.start, times.end - times.start, size, tally.thread))
        self.note_peak(live, subject)

    def note_peak(self, live: int, subject: Subject) -> None:
        """Keep the most bytes that were alive at once."""
        if live > self.peak[0]:
            self.peak = live, subject

    def call(
        self, engine: Engine, take_in: Callable[[Times, Any], None], run: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Call a function of arrays as an event; an error passes through, and leaves no event.

        Args:
            engine: makes the results, and waits for them.
            take_in: takes in the times and the results.
            run: the function, and its arguments.
        """
        tally = self._of_thread.tally
        outer, tally.inner = tally.inner, 0
        start = clock()
        try:
            results = run(*args, **options)
            given = results if type(results) in (tuple, list) else (results,)
            if given and engine.is_traced(given[0]):
                return results
            for result in given:
                engine.wait(result)
            end = clock()
            take_in(Times(start, end, end - start - tally.inner), given)
            tally.overhead += clock() - end
            return results
        finally:
            tally.inner = outer + clock() - start

    def as_event(self, engine: Engine, subject: Callable[[], Subject]) -> Callable[[Times, Any], None]:
        """The function that takes in a call as one event, whose subject is known once the results exist."""

        def take_in(times: Times, results: Any) -> None:
            self.add(subject(), times, sum(bytes_of(engine, r) for r in results), self.live(engine, results))

        return take_in

    def compiling(self, work: Callable[..., Any], *args: Any) -> Any:
        """The result of a function that traces or compiles; what it compiles inside of it is a part of it."""
        tally = self._of_thread.tally
        if tally.compiles:
            return work(*args)
        outer, tally.inner, tally.compiles = tally.inner, 0, True
        start = clock()
        try:
            return work(*args)
        finally:
            end = clock()
            tally.compiles = False
            self.add(COMPILING, Times(start, end, end - start - tally.inner), 0)
            tally.inner = outer + clock() - start

    def compiled(self, seconds: float) -> None:
        """Count what a library has just compiled for a single call as compiling, not as a part of the call."""
        tally = self._of_thread.tally
        if tally.compiles:
            return
        end, passed = clock(), int(seconds * 1e9)
        self.add(COMPILING, Times(end - passed, end, passed), 0)
        tally.inner += passed

    def unseen(self, work: Callable[[], Any]) -> Any:
        """The result of a function whose time is the recorder's own."""
        tally, start = self.tally, clock()
        before = tally.moves, tally.compiles
        tally.moves = tally.compiles = True
        try:
            return work()
        finally:
            tally.moves, tally.compiles = before
            passed = clock() - start
            tally.inner += passed
            tally.overhead += passed

    def live(self, engine: Engine, arrays: Iterable[Any], more: int = 0) -> int:
        """Count arrays until they are gone, and return the bytes alive on the engine's first device, and `more`."""
        device = engine.devices()[0] if engine.has_devices else "cpu:0"
        account = self._accounts.get((engine.name, device))
        if account is None:
            account = self._accounts[engine.name, device] = Account(engine, device, sys.maxsize)
        for array in arrays:
            if not engine.has_devices or engine.device_of(array) == device:
                account.adopt("profile", array, is_forced=True)
        return account.in_use + more

    def laps(
        self, engine: Engine, lines: Sequence[tuple[Subject, int | None]]
    ) -> Callable[[], Callable[..., None] | None]:
        """The function that a generated program calls first; its result is called with the results of each line.

        Args:
            engine: runs the program.
            lines: the subject of each line in order, and the bytes of its results, None if they are not known.
        """
        if not lines:
            return lambda: None
        last = len(lines) - 1

        def begin() -> Callable[..., None]:
            tally = self._of_thread.tally
            outer, tally.inner = tally.inner, 0
            number = 0
            start = begun = clock()

            def lap(*results: Any) -> None:
                nonlocal number, start
                for result in results:
                    engine.wait(result)
                end = clock()
                subject, size = lines[number]
                size = sum(bytes_of(engine, r) for r in results) if size is None else size
                self.add(subject, Times(start, end, end - start - tally.inner), size, self.live(engine, results))
                number += 1
                start = clock()
                tally.overhead += start - end
                tally.inner = 0 if number <= last else outer + start - begun

            return lap

        return begin


def bytes_of(engine: Engine, value: Any) -> int:
    """The bytes of an array; 0 if its shape is not known."""
    shape = engine.shape(value)
    return 0 if shape is None or None in shape else math.prod(shape) * engine.dtype(value).itemsize


def subject_of(operations: Sequence[Operation], place: Place) -> Subject:
    """The subject of operations that run together, by the names of the user's graph."""
    origins = list(dict.fromkeys(op.origin for op in operations))
    kind = OPERATION if len(origins) == 1 else FUSION
    lines = tuple(dict.fromkeys(op.where for op in origins if op.where is not None))
    types = tuple(op.type for op in (operations if len(operations) == 1 else origins))
    program = operations[0].graph.name if operations else ""
    return Subject(kind, types, tuple(op.name for op in origins), lines, str(place), program)
