"""Traces of profilers: the wall time of the instructions of compiled programs, by the operations that they compute.

A library writes its trace as an XSpace, a message of named spans in threads.  A span `dovetail#7` is the seventh call
of a program.  The spans of instructions inside of it share its time: an instant belongs to the innermost span of each
thread, and threads that compute at once share it equally.  So the shares add up to no more than the call.

Source: https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.edit.graph import Operation

MARK = "dovetail#"  # begins the name of the span of a call
FUSED = "Fused"  # in the type of a kernel of TensorFlow that computes several operations
INSTRUCTION, RUN = "hlo_op", "run_id"  # the statistics of a span that name an instruction of XLA, and its run


class Span(NamedTuple):
    """A span of a trace: its name, start and end in nanoseconds, its thread, and the run of a program; 0 if unknown."""

    name: str
    start: float
    end: float
    thread: tuple[int, int]
    run: int = 0


def marked(number: int) -> str:
    """The name of the span of a call."""
    return f"{MARK}{number}"


def spans_of(folder: Path) -> Iterator[Span]:
    """The spans below a folder that are calls, instructions, or kernels of TensorFlow.

    Raises:
        ImportError: protobuf is not installed.
        FormatError: a file is damaged.
    """
    from dovetail.formats.wire.messages import PROFILER, parsed  # few programs read traces

    for file in folder.rglob("*.xplane.pb"):
        for number, plane in enumerate(parsed(PROFILER.XSpace, file.read_bytes(), file).planes):
            yield from _spans_of_plane(number, plane)


def _spans_of_plane(number: int, plane: Any) -> Iterator[Span]:
    names = {key: entry.name for key, entry in plane.event_metadata.items()}
    stats = {key: entry.name for key, entry in plane.stat_metadata.items()}
    keys = {name: key for key, name in stats.items() if name in (INSTRUCTION, RUN)}
    for line in plane.lines:
        thread = number, line.id
        for event in line.events:
            name = names.get(event.metadata_id, "")
            told = {s.metadata_id: s for s in event.stats} if keys else {}
            stat, run = told.get(keys.get(INSTRUCTION)), told.get(keys.get(RUN))
            if stat is not None:
                name = stat.str_value or stats.get(stat.ref_value, "")
            elif not (name.startswith(MARK) or _KERNEL.fullmatch(name)):
                continue
            start = line.timestamp_ns + event.offset_ps / 1e3
            end, number_of_run = start + event.duration_ps / 1e3, (run.int64_value or run.uint64_value) if run else 0
            yield Span(name, start, end, thread, number_of_run)


_KERNEL = re.compile(r"[A-Za-z0-9.][\w.\-/]*:_?[A-Z]\w*")  # the name of a node and the type of its kernel


def calls(spans: Iterable[Span]) -> dict[int, tuple[Span, list[Span]]]:
    """The calls of a trace by number: the span of each, and the spans inside of it.

    An earlier run may still be computed when a call begins, so only the spans of the latest run in a call are its own.
    """
    every = sorted(spans, key=lambda span: span.start)
    marks = [span for span in every if span.name.startswith(MARK)]
    by_number: dict[int, tuple[Span, list[Span]]] = {int(m.name.removeprefix(MARK)): (m, []) for m in marks}
    latest = -1
    for span in every:
        if span.name.startswith(MARK):
            latest = int(span.name.removeprefix(MARK))
        elif latest in by_number and span.start < by_number[latest][0].end:
            by_number[latest][1].append(span)
    return {
        number: (mark, [span for span in inside if span.run == inside[-1].run])
        for number, (mark, inside) in by_number.items()
    }


def shares(spans: Iterable[Span], end: float) -> dict[str, float]:
    """The nanoseconds of wall time of each instruction, by its name.

    Args:
        spans: the spans of a call.
        end: the end of the call, after which nothing counts.

    Example:
        >>> a, b = Span("a", 0.0, 10.0, (0, 0)), Span("b", 4.0, 10.0, (0, 1))
        >>> shares([a, b], 8.0)
        {'a': 6.0, 'b': 2.0}
    """
    changes: list[tuple[float, int, str]] = []
    threads: dict[tuple[int, int], list[Span]] = {}
    for span in spans:
        threads.setdefault(span.thread, []).append(span)
    for number, own in enumerate(threads.values()):
        changes += [(at, number, name) for at, name in _innermost(own)]
    changes.sort(key=lambda change: change[0])
    nanoseconds: dict[str, float] = {}
    running: dict[int, str] = {}
    before = 0.0
    for at, number, name in changes:
        passed = min(at, end) - before
        if running and passed > 0:
            for other in running.values():
                nanoseconds[other] = nanoseconds.get(other, 0.0) + passed / len(running)
        before = min(at, end)
        running[number] = name
        if not name:
            del running[number]
    return nanoseconds


def _innermost(spans: list[Span]) -> Iterator[tuple[float, str]]:
    """The changes of the innermost span of one thread: the time, and its name; "" if there is none."""
    stack: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        while stack and stack[-1].end <= span.start:
            ended = stack.pop()
            yield ended.end, stack[-1].name if stack else ""
        stack.append(span)
        yield span.start, span.name
    while stack:
        ended = stack.pop()
        yield ended.end, stack[-1].name if stack else ""


# -- from scopes to operations ----------------------------------------------------------------------------------------

_SCOPE = re.compile(r"dt(\d+)\.(\w+)")


def operation_of(path: str, operations: Mapping[int, Operation]) -> Operation | None:
    """The operation of a path of scopes, as `jit(program)/dt3.MatMul/dot_general`; None if it is none of these.

    A program that a library has kept on disk may have the names of another one.  So types must agree.
    """
    operation = None
    for number, kind in _SCOPE.findall(path):
        inner = operations.get(int(number))
        if inner is None or inner.type != kind or (operation is not None and not operation.subgraphs()):
            return operation
        operation = inner
    return operation


class Program:
    """A compiled program, whose instructions compute its operations.

    Args:
        scopes: the operations by the numbers of their scopes; see `Lowered`.
        instructions: name → its scopes and bytes; None if the library names kernels by scopes, as `dt3.MatMul:_MatMul`.
    """

    def __init__(
        self, scopes: Mapping[int, Operation], instructions: Mapping[str, tuple[list[str], int]] | None = None
    ) -> None:
        self._scopes, self._instructions = scopes, instructions

    def parts(self, names: Iterable[str]) -> dict[str, tuple[list[Operation], int]]:
        """The instructions of a call: name → the operations that each computes, and the bytes of its result."""
        if self._instructions is None:
            return self._of_kernels(names)
        known = self._instructions
        return {name: (self._operations(known[name][0]), known[name][1]) for name in names if name in known}

    def _operations(self, paths: Iterable[str]) -> list[Operation]:
        operations = (operation_of(path, self._scopes) for path in paths)
        return list(dict.fromkeys(op for op in operations if op is not None))

    def _of_kernels(self, names: Iterable[str]) -> dict[str, tuple[list[Operation], int]]:
        """The same for kernels; a fused one also computes the operations next to its own that no kernel computes."""
        by_name = {name: self._operations([name]) for name in names}
        present = {op for ops in by_name.values() for op in ops}
        absent = {op for op in self._scopes.values() if op not in present}
        for name, ops in by_name.items():
            if FUSED in name.rpartition(":")[2] and ops:
                absent.difference_update(ops := _connected(ops, absent))
                by_name[name] = ops
        return {name: (ops, _bytes(ops[0])) for name, ops in by_name.items() if ops}


def _bytes(operation: Operation) -> int:
    """The bytes of the results of one kernel; a loop or a branch has many, which pass results on."""
    return 0 if operation.subgraphs() else sum(t.spec.nbytes or 0 for t in operation.outputs)


def _connected(operations: list[Operation], absent: set[Operation]) -> list[Operation]:
    """Operations, and the members of a set that they reach through other members."""
    connected = list(operations)
    for op in connected:
        near = (*(t.op for t in op.inputs), *(user for t in op.outputs for user in t.consumers()))
        connected += [other for other in dict.fromkeys(near) if other in absent and other not in connected]
    return connected
