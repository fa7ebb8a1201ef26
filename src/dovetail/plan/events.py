"""Events: operations that ran, with their times, as an open profile records them.

An event is a single call, a line of a generated program, a call of a compiled program, or a transfer.  While no profile
is open, nothing of this module runs in a call.  Opening a profile replaces the rules of single calls, the
executables of segments, and the methods of engines that move arrays.  Closing it puts the former ones back.

Each thread adds up its own rows.  An event's own time leaves out the events inside of it, so no time counts twice.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter_ns as clock
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.core import config, engine_registry
from dovetail.core.accounting import Account
from dovetail.core.engine import Engine
from dovetail.core.errors import user_line
from dovetail.core.hooks import hooks

if TYPE_CHECKING:
    from dovetail.edit.graph import Operation
    from dovetail.plan.placement import Place
    from dovetail.plan.segment import Segment

EVENTS = 100_000  # the events of the timeline; older ones count in the rows alone
ROWS = 10_000  # the rows of a thread; further ones are summed in one

OPERATION, FUSION, PROGRAM, TRANSFER = "operation", "fusion", "program", "transfer"

Line = tuple[str, int]


class Subject(NamedTuple):
    """The operations that an event ran, and where.

    Attributes:
        kind: "operation", "fusion" of several operations, "program" or "transfer".
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


class Event(NamedTuple):
    """An event: its subject, start and duration in nanoseconds of `time.perf_counter_ns`, bytes, and thread."""

    subject: Subject
    start: int
    duration: int
    bytes: int
    thread: int


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
    """

    __slots__ = ("inner", "moves", "name", "overhead", "sums", "thread")

    def __init__(self) -> None:
        self.thread, self.name = threading.get_ident(), threading.current_thread().name
        self.sums: dict[Subject, Sum] = {}
        self.inner = self.overhead = 0
        self.moves = False

    def sum_of(self, subject: Subject) -> Sum:
        found = self.sums.get(subject)
        if found is None:
            key = subject if len(self.sums) < ROWS else OTHERS
            found = self.sums.setdefault(key, Sum())
        return found


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

    def add(self, subject: Subject, start: int, end: int, own: int, size: int, live: int = 0) -> None:
        """Add an event of this thread."""
        tally = self._of_thread.tally
        tally.sum_of(subject).add(own, size, live)
        self.events.append(Event(subject, start, end - start, size, tally.thread))
        if live > self.peak[0]:
            self.peak = live, subject

    def call(
        self, engine: Engine, subject: Callable[[], Subject], run: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Call a function of arrays as an event; an error passes through, and leaves no event.

        Args:
            engine: makes the results, and waits for them.
            subject: gives the event's subject, once the results exist.
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
            own = end - start - tally.inner
            self.add(subject(), start, end, own, sum(_bytes(engine, r) for r in given), self.live(engine, given))
            tally.overhead += clock() - end
            return results
        finally:
            tally.inner = outer + clock() - start

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
                size = sum(_bytes(engine, r) for r in results) if size is None else size
                self.add(subject, start, end, end - start - tally.inner, size, self.live(engine, results))
                number += 1
                start = clock()
                tally.overhead += start - end
                tally.inner = 0 if number <= last else outer + start - begun

            return lap

        return begin


def _bytes(engine: Engine, value: Any) -> int:
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


# -- opening and closing ----------------------------------------------------------------------------------------------

_recorder: Recorder | None = None
_segments: weakref.WeakSet[Segment] = weakref.WeakSet()  # those with an executable
_lock = threading.RLock()
_METHODS = "receive", "asarray", "argument", "to_numpy"  # of engines: they move arrays


def current() -> Recorder | None:
    """The recorder of the open profile; None if none records now."""
    return _recorder


def watched(segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    """The executable of a segment that was made now; in a profile, the form of it that records events."""
    with _lock:
        _segments.add(segment)
        return run if _recorder is None else _timed(_recorder, segment, run)


def open_with(recorder: Recorder) -> None:
    """Let a recorder take in events, of all threads, until `close`."""
    global _recorder
    with _lock:
        _recorder = recorder
        for engine in engine_registry.loaded():
            _watch(recorder, engine)
        hooks.engine_loaded = partial(_watch, recorder)
        for segment in list(_segments):
            segment.__dict__["executable"] = _timed(recorder, segment, segment.executable)
        config.note_profile(True)


def close() -> None:
    """Let no recorder take in events, and put back the rules, methods and executables that were replaced."""
    global _recorder
    with _lock:
        config.note_profile(False)
        hooks.engine_loaded = None
        for engine in engine_registry.loaded():
            _unwatch(engine)
        for segment in list(_segments):
            former = getattr(segment.executable, "former", None)
            if former is not None:
                segment.__dict__["executable"] = former
        _recorder = None


def _timed(recorder: Recorder, segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    """The executable of a segment that records events: of each line, or of the whole if the library compiles it."""
    timed = partial(_first_call, recorder, segment, run)
    for method in ("prepare", "source"):
        if hasattr(run, method):
            setattr(timed, method, getattr(run, method))
    timed.former = run  # type: ignore[attr-defined]
    return timed


def _first_call(
    recorder: Recorder, segment: Segment, run: Callable[..., Any], *args: Any, **options: Any
) -> tuple[Any, ...]:
    """Make the executable that records events, and call it; only the call counts."""
    tally, start = recorder.tally, clock()
    moves, tally.moves = tally.moves, True  # the program's constants are made once more
    try:
        timed = _recording(recorder, segment, run)
    finally:
        tally.moves = moves
    with _lock:
        known = segment.executable
        if getattr(known, "former", None) is run:  # the profile is still open
            segment.__dict__["executable"] = _with_attributes(partial(timed), known)
    passed = clock() - start
    tally.inner += passed
    tally.overhead += passed
    return timed(*args, **options)


def _with_attributes(run: Any, other: Any) -> Any:
    run.__dict__.update(other.__dict__)
    return run


def _recording(recorder: Recorder, segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
    engine = segment.engine
    if not engine.compiles_programs or segment.bodies is not None:
        return segment.with_laps(partial(recorder.laps, engine.holder))
    subject = subject_of([op for op in segment.graph.operations if op.type != "Const"], segment.place)
    subject = subject._replace(kind=PROGRAM, program=segment.graph.name)
    return partial(recorder.call, engine.holder, lambda: subject, run)


class _TimedRules(dict[str, Any]):
    """The rules of single calls of an engine, each in a form that records events."""

    def __init__(self, engine: Engine, former: Any) -> None:
        self.former, self._engine = former, engine

    def __missing__(self, name: str) -> Any:
        rule = self.former[name]
        return rule if rule is None else _timed_rule(self._engine, name, rule)


def _timed_rule(engine: Engine, name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    def subject() -> Subject:
        where = user_line()
        return Subject(OPERATION, (name,), (name,), () if where is None else (where,), engine.name)

    return partial(_call_rule, engine, subject, rule)


def _call_rule(engine: Engine, subject: Callable[[], Subject], rule: Callable[..., Any], *values: Any) -> Any:
    """Call a rule as an event of the profile that is open, which may be a later one."""
    recorder = _recorder
    return rule(*values) if recorder is None else recorder.call(engine, subject, rule, *values)


def _watch(recorder: Recorder, engine: Engine) -> None:
    """Replace the rules of single calls of an engine, and its methods that move arrays."""
    if engine.refused is not None or engine.holder is not engine:
        return
    engine.eager_rules = _TimedRules(engine, engine.eager_rules)
    into = engine.into_allocated

    def into_allocated(name: str, rule: Any, spec: Any) -> Any:
        made = into(name, rule, spec)
        return made if made is rule else _timed_rule(engine, name, made)

    _replace(engine, "into_allocated", into_allocated)
    for method in _METHODS:
        if (engine.name, method) != (engine_registry.HOME, "to_numpy"):  # which moves nothing
            _replace(engine, method, partial(_move, recorder, engine, method, getattr(engine, method)))


def _replace(engine: Engine, method: str, made: Any) -> None:
    """Set a method that knows the former one, and whether the engine itself had that."""
    made = partial(made)
    made.former, made.was_own = getattr(engine, method), method in engine.__dict__
    setattr(engine, method, made)


def _unwatch(engine: Engine) -> None:
    if isinstance(engine.eager_rules, _TimedRules):
        engine.eager_rules = engine.eager_rules.former
    for method in ("into_allocated", *_METHODS):
        made: Any = engine.__dict__.get(method)
        if hasattr(made, "was_own"):  # else a limit of memory has replaced it since
            del engine.__dict__[method]
            if made.was_own:
                setattr(engine, method, made.former)


def _move(recorder: Recorder, engine: Engine, method: str, run: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a method of an engine that moves an array; one inside of another is a part of it."""
    tally = recorder.tally
    if tally.moves:
        return run(*args, **options)

    def subject() -> Subject:
        sender = args[1].name if method == "receive" else "Python"
        ends = (engine.name, "NumPy") if method == "to_numpy" else (sender, engine.name)
        where = user_line()
        return Subject(TRANSFER, (" → ".join(ends),), (), () if where is None else (where,), engine.name)

    maker = engine_registry.get_engine(engine_registry.HOME) if method == "to_numpy" else engine
    tally.moves = True
    try:
        return recorder.call(maker, subject, run, *args, **options)
    finally:
        tally.moves = False
