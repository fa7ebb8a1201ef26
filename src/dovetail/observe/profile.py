"""Profile: the time, calls and bytes of each operation, with the user's line that made it.

`with dt.profile() as p:` records the block's operations: single calls, functions, sessions, Keras' `fit` and `predict`.
`events` records; this module sums up and prints.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import describe, did_you_mean, op_error, place
from dovetail.core.base.files import replacing
from dovetail.core.base.notebook import table_html
from dovetail.core.base.texts import aligned, count_text, size_text, time_text
from dovetail.execute.events import OPERATION, SPAN, Event, Recorder, Subject, Sum
from dovetail.formats.pictures import chrome
from dovetail.observe import watch
from dovetail.observe.compiled_calls import CompiledCalls

TITLE = "profile"
PYTHON, PROFILER = "Python", "the profile itself"  # rows that are no operations
MOST_NAMED = 4  # operations of a fusion that a table names
SHOWN = 30  # rows of a table
NUMBERS = 5  # of its columns; texts follow


@dataclass(frozen=True)
class Row:
    """The sum of the events of one subject.

    Attributes:
        name: the types of the operations; "Python" for the time outside of all events.
        kind: "operation", "fusion", "program", "transfer", "compiling", or "" for the rows that are no operations.
        types: the types of the operations.
        operations: their names in the user's graph; of single calls, their types.
        lines: the user's lines that made them, (file, number).
        place: the engine, and the device if it has several.
        program: the name of the graph; "" for single calls.
        thread: the name of the thread, if it is not the one that opened the profile.
        calls: the number of events.
        seconds: the time of all of them, without the events inside of them.
        bytes: the bytes of their results.
        peak: the most bytes alive at the end of an event.
    """

    name: str
    kind: str = ""
    types: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    place: str = ""
    program: str = ""
    thread: str = ""
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    peak: int = 0

    @property
    def line(self) -> str:
        """The lines as text, as `train.py:12`."""
        return ", ".join(map(place, self.lines[:MOST_NAMED])) + _more(self.lines)


class Peak(NamedTuple):
    """The most memory: bytes, and the name and the user's line of the operation that made the last of them."""

    bytes: int = 0
    operation: str = ""
    line: str = ""


SORTS: dict[str, Callable[[Row], Any]] = {
    "time": lambda row: -row.seconds,
    "calls": lambda row: -row.calls,
    "bytes": lambda row: -row.bytes,
    "peak": lambda row: -row.peak,
    "name": lambda row: row.name,
    "line": lambda row: row.lines,
}
_open: Profile | None = None
_lock = threading.Lock()


class Profile:
    """The record of a `with` block; `dt.profile` makes it.

    Attributes:
        schedule: the steps to wait, to warm up and to record; None if all is recorded.
        steps: the steps that were recorded.
        seconds: the time that was recorded.
    """

    def __init__(self, schedule: tuple[int, int, int] | None = None) -> None:
        self.schedule = schedule
        self._begin()

    def _begin(self) -> None:
        self.steps = 0
        self.seconds = 0.0
        self._passed = 0  # steps since the block began
        self._recorder: Recorder | None = None
        self._compiled: CompiledCalls | None = None
        self._start = 0
        self._thread = threading.get_ident()
        self._marks: list[int] = []
        self._is_recording = False

    # the block

    def __enter__(self) -> Profile:
        global _open
        with _lock:
            if _open is not None:
                problem = "another profile is open in this process; close it first, since times of the two would mix."
                raise op_error(RuntimeError, TITLE, problem)
            _open = self
        try:
            self._begin()  # a block that begins again records anew
            self._follow()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        global _open
        try:
            self._stop()
        finally:
            _open = None

    def step(self, count: int = 1) -> None:
        """Tell the profile that steps of the program are done; Keras' loops on Dovetail tell it themselves.

        Args:
            count: the number of steps.
        """
        if self._is_recording:
            self.steps += count
            self._marks.append(time.perf_counter_ns())
        self._passed += count
        self._follow()

    def _follow(self) -> None:
        """Record or not, as the schedule says."""
        wait, warm_up, active = self.schedule or (0, 0, 0)
        if self.schedule is not None and self._passed >= wait + warm_up + active:
            self._stop()
        elif self._passed >= wait and self._recorder is None:
            self._recorder = Recorder()
            self._compiled = watch.open_with(self._recorder)
        if self._passed >= wait + warm_up and watch.current() is self._recorder and not self._is_recording:
            assert self._recorder is not None and self._compiled is not None
            self._compiled.restart()
            self._recorder.restart()
            self._is_recording, self._start = True, time.perf_counter_ns()

    def _stop(self) -> None:
        if self._is_recording:
            self.seconds, self._is_recording = (time.perf_counter_ns() - self._start) / 1e9, False
        if self._recorder is not None and watch.current() is self._recorder:
            watch.close()

    # the results

    @property
    def rows(self) -> list[Row]:
        """All rows, also of Python and of the profile itself; the longest is first."""
        tallies = [] if self._recorder is None else self._recorder.tallies
        listed = [
            _row(subject, total, "" if tally.thread == self._thread else tally.name)
            for tally in tallies
            for subject, total in tally.sums.items()
        ]
        own = sum(tally.overhead for tally in tallies if tally.thread == self._thread) / 1e9
        inside = sum(row.seconds for row in listed if not row.thread)
        listed += [Row(PYTHON, seconds=self.seconds - inside - own), Row(PROFILER, seconds=own)]
        return sorted(listed, key=SORTS["time"])

    @property
    def peak(self) -> Peak:
        """The most memory that arrays took at once, as far as the profile saw them."""
        size, subject = (0, None) if self._recorder is None else self._recorder.peak
        return Peak() if subject is None else Peak(size, _name(subject), _row(subject, Sum(), "").line)

    @property
    def events(self) -> Sequence[Event]:
        """The latest events, at most 100 000."""
        return () if self._recorder is None else tuple(self._recorder.events)

    def table(self, sort: str = "time", limit: int | None = SHOWN) -> str:
        """The rows as text.

        Args:
            sort: "time", "calls", "bytes", "peak", "name" or "line".
            limit: the number of rows; None for all.  The others are summed in the last one.

        Raises:
            ValueError: there is no such order.

        Example:
            >>> import dovetail as dt
            >>> with dt.profile() as p:
            ...     _ = dt.ops.tanh(dt.ops.ones((2, 2)))
            >>> print(p.table("calls").splitlines()[1].split())
            ['time', 'share', 'calls', 'bytes', 'peak', 'operation', 'place', 'line']
        """
        cells, notes = self._report(sort, limit)
        return "\n".join([self._title(), *aligned(cells, NUMBERS), *notes])

    def _repr_html_(self) -> str:
        cells, notes = self._report()
        return table_html(self._title(), cells, NUMBERS, notes)

    def _report(self, sort: str = "time", limit: int | None = SHOWN) -> tuple[list[list[str]], list[str]]:
        """The rows as text, under a heading, and the lines that follow them."""
        rows = sorted(self.rows, key=_sort(sort))
        shown = rows if limit is None else rows[:limit]
        cells = [["time", "share", "calls", "bytes", "peak", "operation", "place", "line"]]
        cells += [self._cells(row) for row in shown]
        if rest := rows[len(shown) :]:
            total = sum(row.seconds for row in rest)
            cells.append([time_text(total), self._share(total), "", "", "", f"{len(rest)} more rows", "", ""])
        problem = "" if self._compiled is None else self._compiled.problem
        return cells, [*self._memory(), *filter(None, [problem])]

    def _title(self) -> str:
        steps = f" in {count_text(self.steps, 'step')}" if self.steps else ""
        if self._start == 0:
            wait, warm_up, _ = self.schedule or (0, 0, 0)
            return (
                f"{TITLE}: nothing, after {count_text(self._passed, 'step')} of {wait + warm_up} before the first one"
            )
        return f"{TITLE}: {time_text(self.seconds)}{steps}"

    def _cells(self, row: Row) -> list[str]:
        if not row.kind:
            return [time_text(row.seconds), self._share(row.seconds), "", "", "", row.name, "", ""]
        where = f"{row.place}, thread {row.thread}" if row.thread else row.place
        sizes = [size_text(row.bytes) if row.bytes else "", size_text(row.peak) if row.peak else ""]
        return [time_text(row.seconds), self._share(row.seconds), str(row.calls), *sizes, _shown(row), where, row.line]

    def _share(self, seconds: float) -> str:
        return f"{100 * seconds / self.seconds:.1f} %" if self.seconds else ""

    def _memory(self) -> list[str]:
        size, operation, line = self.peak
        return [f"most memory: {size_text(size)}, at {operation}{line and f' ({line})'}"] if size else []

    def by_operation(self, program: str | None = None) -> dict[str, dict[str, Any]]:
        """The sums by the names of operations in the user's graph, as `graph.show(path, data=...)` takes them.

        Args:
            program: the name of a graph, whose operations alone count; None for all.

        Returns:
            name → {"time": microseconds, "calls": number, "bytes": number}.  If a library fused operations, each has
            an even share of the fusion's time and bytes, and "fusion": their names.  So times and bytes sum to those
            of the rows; "calls" are the fusion's.
        """
        sums: dict[str, dict[str, Any]] = {}
        for row in self.rows if program is None else (row for row in self.rows if row.program == program):
            parts = len(row.operations)
            for i, name in enumerate(row.operations):
                entry = sums.setdefault(name, {"time": 0.0, "calls": 0, "bytes": 0})
                entry["time"] += row.seconds * 1e6 / parts
                entry["calls"] += row.calls
                entry["bytes"] += row.bytes * (i + 1) // parts - row.bytes * i // parts
                if parts > 1:
                    entry["fusion"] = tuple(dict.fromkeys((*entry.get("fusion", ()), *row.operations)))
        return sums

    def by_layer(self, program: str | None = None) -> dict[str, dict[str, Any]]:
        """The sums by name scopes of operations, which are the layers of a Keras model; the longest is first.

        Args:
            program: as in `by_operation`.

        Returns:
            scope → {"time": microseconds, "calls": number, "bytes": number}; "" for operations without a scope.  The
            time of a fusion counts in equal parts.
        """
        sums: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            for name in row.operations if program in (None, row.program) else ():
                entry = sums.setdefault(name.rpartition("/")[0], {"time": 0.0, "calls": 0, "bytes": 0})
                entry["time"] += row.seconds * 1e6 / len(row.operations)
                entry["calls"] += row.calls
                entry["bytes"] += row.bytes // len(row.operations)
        return dict(sorted(sums.items(), key=lambda item: -item[1]["time"]))

    def by_line(self) -> dict[str, dict[str, Any]]:
        """The sums by the user's lines; a fusion of several lines counts under their joined text.

        Returns:
            `train.py:12` → {"time": microseconds, "calls": number, "bytes": number}; the name of a row without a line,
            as "Python", → the same.
        """
        sums: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            entry = sums.setdefault(row.line or row.name, {"time": 0.0, "calls": 0, "bytes": 0})
            entry["time"] += row.seconds * 1e6
            entry["calls"] += row.calls
            entry["bytes"] += row.bytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]["time"]))

    def diff(self, other: Profile, limit: int | None = SHOWN) -> str:
        """The difference to another profile as text: by operation and line, the largest change first.

        Args:
            other: the profile to compare with, made before or of another version of the program.
            limit: the number of rows; None for all.

        Raises:
            TypeError: `other` is no profile.
        """
        if not isinstance(other, Profile):
            raise op_error(TypeError, f"{TITLE}.diff", f"it takes another profile, not {describe(other)}.")
        here, there = (_by_key(p.rows, max(1, p.steps)) for p in (self, other))
        keys = sorted({*here, *there}, key=lambda key: -abs(here.get(key, 0.0) - there.get(key, 0.0)))
        per = " a step" if self.steps or other.steps else ""
        cells = [["change", "here", "there", "operation", "line"]]
        for key in keys[:limit]:
            mine, its = here.get(key, 0.0), there.get(key, 0.0)
            sign = "+" if mine >= its else "-"
            cells.append([f"{sign}{time_text(abs(mine - its))}", time_text(mine), time_text(its), *key])
        totals = [p.seconds / max(1, p.steps) for p in (self, other)]
        return "\n".join(
            [f"{TITLE}: {time_text(totals[0])} here, {time_text(totals[1])} there{per}", *aligned(cells, 3)]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the latest events as a trace of Chrome, which https://ui.perfetto.dev shows.

        Args:
            path: a name that ends with ".json", or with ".json.gz" for a compressed file.

        Raises:
            ValueError: the name ends otherwise.
            OSError: the folder does not exist or cannot be written to.
        """
        chrome.write(Path(path), self._trace())

    def save_for_tensorboard(self, folder: str | os.PathLike[str]) -> Path:
        """Write the libraries' own traces, and the trace of `save`, for TensorBoard's profile plugin.

        Args:
            folder: TensorBoard's folder of logs.

        Returns:
            The folder of the traces: `plugins/profile/`, and the time.

        Raises:
            OSError: the folder cannot be written to.
        """
        run = Path(folder) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
        run.mkdir(parents=True, exist_ok=True)
        for library, data in ({} if self._compiled is None else self._compiled.traces).items():
            with replacing(run / f"{library}.xplane.pb") as file:
                file.write(data)
        chrome.write(run / "dovetail.trace.json.gz", self._trace())
        return run

    def _trace(self) -> dict[str, Any]:
        tallies = [] if self._recorder is None else self._recorder.tallies
        spans = [
            chrome.Span(_name(e.subject), e.subject.kind, e.start - self._start, e.duration, e.thread, _details(e))
            for e in self.events
        ]
        threads = {tally.thread: tally.name for tally in tallies}
        marks = [(f"step {number}", at - self._start) for number, at in enumerate(self._marks, 1)]
        return chrome.document(spans, threads, marks)

    def __str__(self) -> str:
        return self.table()


def profile(schedule: Sequence[int] | None = None) -> Profile:
    """Record the operations that run in a `with` block: time, calls, bytes, memory, and the user's line.

    The profile records single calls, functions, sessions, and Keras' `fit`, `evaluate` and `predict`, in all threads.
    Each event waits for its results, so engines do not compute in the background.  On numpy and torch, each operation
    of a program has its own row.  jax and TensorFlow compile a whole program, and their traces tell the time of each
    kernel.  A kernel of several operations is one row.

    Args:
        schedule: (wait, warm-up, active), the numbers of steps: the first ones run as always, the next ones warm up the
            profile, then the active ones are recorded.  `step` counts them, and Keras' loops do by themselves.  If not
            given, the whole block is recorded.

    Returns:
        A `Profile`, with the results once steps were recorded.

    Raises:
        TypeError, ValueError: the schedule does not have three whole numbers, or records no step.
        RuntimeError: another profile is open in the process.

    Example:
        >>> import dovetail as dt
        >>> f = dt.function(lambda x: dt.ops.tanh(x @ x), engine="numpy")
        >>> with dt.profile() as p:
        ...     _ = f(dt.ops.ones((3, 3)))
        >>> sorted(name for name, found in p.by_operation().items() if found["calls"] == 1)
        ['Fill', 'MatMul', 'Tanh']
    """
    if schedule is None:
        return Profile()
    numbers = tuple(schedule) if isinstance(schedule, Iterable) else ()
    if len(numbers) != 3 or not all(type(n) is int for n in numbers):
        problem = f"a schedule has three whole numbers, (wait, warm-up, active), not {describe(schedule)}."
        raise op_error(TypeError, TITLE, problem)
    if min(numbers) < 0 or numbers[2] == 0:
        raise op_error(ValueError, TITLE, f"a schedule has numbers from 0, and an active step, not {numbers}.")
    return Profile((numbers[0], numbers[1], numbers[2]))


def step(count: int) -> None:
    """Tell the open profile, if there is one, that steps are done."""
    if _open is not None:
        _open.step(count)


def is_open() -> bool:
    """Whether a profile is open in this process."""
    return _open is not None


@contextmanager
def named(name: str) -> Iterator[None]:
    """A span of the open profile's trace, which counts in no row."""
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        recorder = watch.current()
        if recorder is not None:
            took = time.perf_counter_ns() - start
            recorder.events.append(Event(Subject(SPAN, (name,), (), (), ""), start, took, 0, threading.get_ident()))


def _row(subject: Subject, total: Sum, thread: str) -> Row:
    kind, types, operations, lines, at, program = subject
    numbers = total.calls, total.time / 1e9, total.bytes, total.peak
    return Row(_name(subject), kind, types, operations, lines, at, program, thread, *numbers)


def _shown(row: Row) -> str:
    """An operation's own name, with its type if the name does not say it; else the types of the operations."""
    if row.kind != OPERATION or not row.operations:
        return row.name
    name = row.operations[0]
    return name if row.name in name else f"{name} ({row.name})"


def _name(subject: Subject) -> str:
    return " + ".join(subject.types[:MOST_NAMED]) + _more(subject.types)


def _more(items: Sequence[Any]) -> str:
    return f" and {len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else ""


def _details(event: Event) -> dict[str, Any]:
    subject = event.subject
    details = {"operations": list(subject.operations), "lines": [f"{file}:{number}" for file, number in subject.lines]}
    return {**details, "place": subject.place, "program": subject.program, "bytes": event.bytes}


def _sort(name: str) -> Callable[[Row], Any]:
    if name not in SORTS:
        problem = f"a table is sorted by {', '.join(SORTS)}, not by {name!r}. {did_you_mean(str(name), SORTS)}"
        raise op_error(ValueError, f"{TITLE}.table", problem.rstrip())
    return SORTS[name]


def _by_key(rows: Sequence[Row], steps: int) -> dict[tuple[str, str], float]:
    seconds: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row.name, row.line
        seconds[key] = seconds.get(key, 0.0) + row.seconds / steps
    return seconds
