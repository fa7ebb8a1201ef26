"""Calls of compiled programs as events: one for each instruction, by the libraries' traces, or one for the call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.core.engine import Engine
from dovetail.execute.events import PROGRAM, Event, Recorder, Subject, Tally, Times, bytes_of, subject_of
from dovetail.execute.footprint import footprint
from dovetail.observe.profiler_traces import Program, Span, calls, marked, shares, spans_of
from dovetail.ops.control.plumbing import STRUCTURAL

if TYPE_CHECKING:
    from dovetail.execute.segment import Segment

SPANS = 100_000  # a guess of the spans after which traces are read, and begin anew
TURNS = 32  # of a loop, in that guess
LARGEST = 2**26  # bytes of a trace that is kept as the library wrote it


class _Call(NamedTuple):
    """A call of a compiled program, whose trace is still to be read."""

    program: CompiledProgram
    tally: Tally
    times: Times
    size: int
    live: int


class CompiledProgram:
    """A segment that a library compiles as a whole, with the instructions that the library's traces name."""

    def __init__(self, segment: Segment, run: Callable[..., Any]) -> None:
        self.segment, self.run, self.engine = segment, run, segment.engine
        operations = [op for op in segment.graph.operations if op.type not in STRUCTURAL]
        self.whole = subject_of(operations, segment.place)._replace(kind=PROGRAM, program=segment.graph.name)
        self.rest = self.whole._replace(types=(f"call of {segment.graph.name}",), operations=(), lines=())
        if not operations:
            self.whole = self.rest
        self.footprint = footprint(segment.graph, segment.engine, segment.buffers)[0]
        self.spans = 1 + len(operations) + TURNS * sum(len(part.operations) for part in segment.graph.subgraphs())

    @cached_property
    def instructions(self) -> Program:
        told = getattr(self.run, "instructions", None)
        return Program(self.segment.lowered.scopes, None if told is None else told())


class CompiledCalls:
    """The calls of compiled programs in a profile; the libraries trace them if they can."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._calls: dict[int, _Call] = {}
        self._count = count(1)
        self._spans = 0
        self._traced: dict[Engine, tuple[TemporaryDirectory[str], Callable[[], None] | None]] = {}  # and what ends it
        self.traces: dict[str, bytes] = {}  # the latest trace of each library, as it wrote it
        self.problem = ""  # the reason why traces cannot be read

    def of(self, segment: Segment, run: Callable[..., Any]) -> Callable[..., Any]:
        """The executable of a segment that records its calls."""
        self._start(segment.engine)
        return partial(self._called, CompiledProgram(segment, run))

    def _called(self, program: CompiledProgram, *args: Any, **options: Any) -> Any:
        recorder, engine = self._recorder, program.engine
        number = next(self._count)

        def take_in(times: Times, results: Any) -> None:
            size = sum(bytes_of(engine.holder, r) for r in results)
            live = recorder.live(engine.holder, results, program.footprint)
            self._calls[number] = _Call(program, recorder.tally, times, size, live)

        with engine.traced_as(marked(number)):
            results = recorder.call(engine.holder, take_in, program.run, *args, **options)
        self._spans += program.spans
        if self._spans >= SPANS:
            recorder.unseen(self._read_and_go_on)
        return results

    def _start(self, engine: Engine) -> None:
        """Let the library of an engine trace, if it can."""
        if engine not in self._traced:
            folder = TemporaryDirectory(prefix="dovetail-profile-")
            self._traced[engine] = folder, engine.start_trace(folder.name)

    def _read_and_go_on(self) -> None:
        engines = list(self._traced)
        self.end()
        for engine in engines:
            self._start(engine)

    def restart(self) -> None:
        """Forget the calls so far."""
        self._calls.clear()

    def end(self) -> None:
        """End the libraries' traces, and take in the calls."""
        spans: list[Span] = []
        for engine, (folder, stop) in self._traced.items():
            if stop is not None:
                stop()
                spans += self._read(engine, folder)
        self._traced, self._spans = {}, 0
        made, self._calls = self._calls, {}
        by_number = calls(spans)
        for number, call in made.items():
            mark, inside = by_number.get(number, (None, []))
            self._take_in(call, mark, inside)

    def _read(self, engine: Engine, folder: TemporaryDirectory[str]) -> list[Span]:
        with folder as name:
            try:
                for file in Path(name).rglob("*.xplane.pb"):
                    if file.stat().st_size <= LARGEST:
                        self.traces[engine.name] = file.read_bytes()
                return list(spans_of(Path(name)))
            except ImportError as error:
                self.problem = str(error)
                return []

    def _take_in(self, call: _Call, mark: Span | None, spans: list[Span]) -> None:
        """Add the events of a call: one for each instruction, and the rest of the call's time."""
        program, tally, (start, end, own), size, live = call
        shared = {} if mark is None else shares(spans, mark.end)
        parts = program.instructions.parts(shared) if shared else {}
        subjects = {name: subject_of(ops, program.segment.place) for name, (ops, _) in parts.items() if ops}
        scale = min(1.0, own / max(1.0, sum(shared[name] for name in subjects)))
        runs = Counter(span.name for span in spans)
        rest = own
        for subject, names in _grouped(subjects).items():  # an operation may take several kernels
            took = int(sum(shared[name] for name in names) * scale)
            rest -= took
            written = max(parts[name][1] * runs[name] for name in names)
            tally.sum_of(subject).add(took, written, 0, max(runs[name] for name in names))
        whole = program.rest if subjects else program.whole
        tally.sum_of(whole).add(rest, size, live)
        events = self._recorder.events
        events.append(Event(whole, start, end - start, size, tally.thread))
        self._recorder.note_peak(live, whole)
        for span in spans:
            if mark is not None and span.name in subjects:
                at, took = start + int(span.start - mark.start), int(span.end - span.start)
                events.append(Event(subjects[span.name], at, took, parts[span.name][1], hash(span.thread) & 0xFFFF))


def _grouped(subjects: dict[str, Subject]) -> dict[Subject, list[str]]:
    """The names of instructions by subject."""
    grouped: dict[Subject, list[str]] = {}
    for name, subject in subjects.items():
        grouped.setdefault(subject, []).append(name)
    return grouped
