"""Chrome's trace events: spans of time as JSON, which Perfetto (https://ui.perfetto.dev) and `chrome://tracing` show.

Source: Google, "Trace Event Format".
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import op_error
from dovetail.core.base.files import replacing


class Span(NamedTuple):
    """A piece of work in one thread.

    Attributes:
        name, category: as they are shown.
        start, duration: nanoseconds.
        thread: the identifier of the thread.
        details: further values, which JSON can hold.
    """

    name: str
    category: str
    start: int
    duration: int
    thread: int
    details: Mapping[str, Any]


def document(
    spans: Iterable[Span], threads: Mapping[int, str], marks: Sequence[tuple[str, int]] = (), process: str = "dovetail"
) -> dict[str, Any]:
    """The trace as plain data.

    Args:
        spans: the spans, in any order.
        threads: identifier → name.
        marks: (name, nanoseconds) of moments that concern the whole process.
        process: the name of the process.

    Example:
        >>> made = document([Span("MatMul", "operation", 2000, 1500, 7, {})], {7: "main"})
        >>> made["traceEvents"][-1]["ts"], made["traceEvents"][-1]["dur"]
        (2.0, 1.5)
    """
    pid = os.getpid()
    named = [("process_name", 0, process), *(("thread_name", thread, name) for thread, name in threads.items())]
    events: list[dict[str, Any]] = [
        {"name": kind, "ph": "M", "pid": pid, "tid": thread, "args": {"name": name}} for kind, thread, name in named
    ]
    events += [{"name": name, "ph": "i", "s": "p", "pid": pid, "tid": 0, "ts": at / 1000} for name, at in marks]
    events += [
        {
            "name": span.name,
            "cat": span.category,
            "ph": "X",
            "pid": pid,
            "tid": span.thread,
            "ts": span.start / 1000,
            "dur": span.duration / 1000,
            "args": dict(span.details),
        }
        for span in spans
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def write(path: Path, trace: Mapping[str, Any]) -> None:
    """Write a trace, compressed if the name of the file ends with ".gz".

    Raises:
        ValueError: the name ends neither with ".json" nor with ".json.gz".
        OSError: the folder does not exist or cannot be written to.
    """
    if not path.name.endswith((".json", ".json.gz")):
        problem = f"a trace is written to a file whose name ends with .json or .json.gz, not to {path.name!r}."
        raise op_error(ValueError, "save", problem)
    data = json.dumps(trace, separators=(",", ":")).encode()
    with replacing(path) as file:
        file.write(gzip.compress(data) if path.suffix == ".gz" else data)
