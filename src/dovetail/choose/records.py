"""Records: times that were measured, kept on disk, so that the next process goes on where this one stops.

There is a file for each graph with its shapes, on one machine with one set of libraries.  Each line of it has the
times of calls by one strategy.  Lines are appended as they come.  A lock lets several processes write to one file, and
rewrite it when it has grown long.

The files are in `$DOVETAIL_CACHE`, or `dovetail/plans` in the user's folder of caches; with DOVETAIL_CACHE="" nothing
is kept.  A line that is damaged, or of another version, is ignored.  Names of engines and numbers are read and checked,
and nothing is executed.  Only regular files of a limited size are read.  If a folder cannot be used, one line of the
log says so.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
import stat
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail.choose.rates import DRIVER
from dovetail.choose.report import Report
from dovetail.core.base.cache_folder import VARIABLE, place, processor, text_of
from dovetail.core.base.config import keep_memory
from dovetail.core.base.files import locked, replacing
from dovetail.core.base.version import VERSION
from dovetail.core.engines.collectives import WORLD
from dovetail.core.engines.engine_registry import BUILT_IN, list_candidates, threads
from dovetail.execute.choice import Row, Strategy, strategy_of
from dovetail.graph.attributes import Beside, encode

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph, GraphTensor, Operation

logger = logging.getLogger("dovetail.plan")

FORMAT = 2
LARGEST = 1 << 16  # bytes of a file
HALF = LARGEST // 2  # bytes: a file of this size or more is rewritten with one line for each strategy
MOST = 2000  # files that are kept
LONGEST = 1e9  # seconds: a line with a longer time is ignored
IS_KEY = re.compile("[0-9a-f]{40}").fullmatch
# A file is opened at once, and read only if it is a regular one: a pipe without a writer would block.
AT_ONCE = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY"))
ALONE = AT_ONCE | getattr(os, "O_NOFOLLOW", 0)
QUOTAS = (Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))  # of cgroups 2 and 1
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Measured(NamedTuple):
    """The times of calls by a strategy.

    Attributes:
        median, best: seconds of a step.
        calls: the number of measured calls.
        is_disturbed: whether a candidate was prepared at that time, so that the times only order strategies.
        is_pressed: whether other programs took processor time from this one, so that the times order nothing.
    """

    median: float
    best: float
    calls: int
    is_disturbed: bool = False
    is_pressed: bool = False


class Kept(NamedTuple):
    """The records of a graph.

    Attributes:
        key: the hexadecimal key of the graph and everything else on which its speed depends; the file's name.
        name: the name of the graph.
        made: the time of the latest line, in UTC.
        steps: the largest number of steps that one process ran.
        times: the times by strategy, the fastest first.
        report: the report of the process that ended last.
        script: the name of the program that ran it, without its folder.
    """

    key: str = ""
    name: str = ""
    made: str = ""
    steps: int = 0
    times: Mapping[Strategy, Measured] = MappingProxyType({})
    report: Report = Report()
    script: str = ""

    @property
    def quiet(self) -> dict[Strategy, Measured]:
        """The times that order strategies."""
        return {strategy: measured for strategy, measured in self.times.items() if not measured.is_pressed}


def folder() -> Path | None:
    """The folder of entries; None if nothing is kept."""
    path = place()
    if isinstance(path, Path):
        return path
    if os.environ.get(VARIABLE) != "":
        _warn(path)
    return None


_warned: list[str] = []


def _warn(problem: str) -> None:
    """Log that nothing is kept, once a process."""
    if not _warned:
        _warned.append(problem)
        advice = f'Set {VARIABLE} to a folder, or to "" to keep nothing'
        logger.warning("measurements of engines are not kept, since %s. %s.", problem.rstrip("."), advice)


def read(key: str) -> Kept:
    """The records of a key; empty if there are none that can be used."""
    where = folder()
    kept = None if where is None else _read(where / f"{key}.jsonl")
    return Kept(key) if kept is None else kept


def append(
    key: str,
    name: str,
    strategy: Strategy,
    times: Sequence[float],
    steps: int,
    is_disturbed: bool = False,
    is_pressed: bool = False,
) -> None:
    """Append the times of a strategy; if that fails, one line of the log says so."""
    measured = Measured(statistics.median(times), min(times), len(times), is_disturbed, is_pressed)
    _append_line(Kept(key, name, _now(), steps, {strategy: measured}))


def append_report(key: str, name: str, steps: int, report: Report) -> None:
    """Append the report of a process that ends; if that fails, one line of the log says so."""
    _append_line(Kept(key, name, _now(), steps, report=report))


def _append_line(kept: Kept) -> None:
    where = folder()
    if where is None:
        return
    path = where / f"{kept.key}.jsonl"
    try:
        where.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        with locked(where / "lock"):  # else lines of others are lost when the file is rewritten
            _append(path, kept)
        for old in _files(where)[MOST:] if is_new else []:
            old.unlink(missing_ok=True)
    except OSError as error:
        _warn(f"{str(where)!r} cannot be written to: {error}")


def _append(path: Path, kept: Kept) -> None:
    """Append lines in one call, so that lines of several processes do not mix; follow no link."""
    try:
        with open(path, "ab", buffering=0, opener=lambda place, flags: os.open(place, flags | ALONE, 0o600)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size < HALF:
                file.write(_lines(kept))
                return
    except OSError:  # a link, a pipe, a folder
        pass
    kept_before = _read(path) if path.is_file() and not path.is_symlink() else None
    with replacing(path) as file:
        file.write(b"" if kept_before is None else _lines(kept_before))
        file.write(_lines(kept))


def _lines(kept: Kept) -> bytes:
    """A line for each strategy, and one for the report."""
    common = {"format": FORMAT, "key": kept.key, "name": kept.name, "made": kept.made, "steps": kept.steps}
    common |= {"script": kept.script or _script()}
    lines = [{**common, "strategy": strategy, **m._asdict()} for strategy, m in kept.times.items()]
    if kept.report.rows:
        lines.append({**common, **kept.report._asdict()})
    return b"".join(b"\n" + json.dumps(line).encode() for line in lines)  # the line before may lack its end


def _script() -> str:
    """The name of the program that runs; of a module that runs, its package's if it is called `__main__`."""
    path = Path(next(iter(sys.argv), ""))
    return path.parent.name if path.stem == "__main__" else path.name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def entries() -> Iterator[Kept]:
    """All records, the latest first."""
    where = folder()
    for path in [] if where is None else _files(where):
        kept = _read(path)
        if kept is not None:
            yield kept


def clear(key: str = "") -> int:
    """Remove all records, or only the ones whose keys begin with `key`; return the number of files.

    Raises:
        OSError: a file cannot be removed.
    """
    where = folder()
    files = [] if where is None else [path for path in _files(where) if path.stem.startswith(key)]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _files(where: Path) -> list[Path]:
    """The files of entries, the latest first, without the other files in the folder."""
    dated = []
    try:
        paths = [path for path in where.iterdir() if path.suffix == ".jsonl" and IS_KEY(path.stem)]
    except OSError:
        return []
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # another process has removed it
            continue
        if stat.S_ISREG(status.st_mode):
            dated.append((status.st_mtime, path))
    return [path for _, path in sorted(dated, reverse=True)]


# -- the content of a file --------------------------------------------------------------------------------------------


def _read(path: Path) -> Kept | None:
    """The usable lines of a file: for each strategy, the latest of the quietest ones."""
    try:
        lines = content(path).splitlines()
    except (OSError, ValueError):
        return None
    kept, times = Kept(path.stem), dict[Strategy, Measured]()
    for line in lines:
        try:
            given = json.loads(line)
            steps = _checked_steps(given, path.stem)
            name, made, script = map(_text, (given["name"], given["made"], given.get("script", "")))
            said = kept._replace(name=name, made=made, script=script, steps=max(kept.steps, steps))
            if "rows" in given:
                kept = said._replace(report=_checked_report(given))
                continue
            strategy, measured = strategy_of(given["strategy"]), _checked(given)
            kept = said
            if _quietness(measured) >= _quietness(times.get(strategy, measured)):
                times[strategy] = measured
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    if not times:
        return None
    ordered = sorted(times.items(), key=lambda item: item[1].median)
    return kept._replace(times=MappingProxyType(dict(ordered)))


def _quietness(measured: Measured) -> tuple[bool, bool]:
    return not measured.is_pressed, not measured.is_disturbed


def content(path: Path) -> bytes:
    """The bytes of a regular file of a limited size.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is not a regular file, or is too large for an entry.
    """
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | AT_ONCE)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    return content


def _checked_steps(given: Any, key: str) -> int:
    """The number of steps of a line.

    Raises:
        ValueError, TypeError, KeyError: it is not a line of this version for this graph.
    """
    if type(given["format"]) is not int or given["format"] != FORMAT or given["key"] != key:
        raise ValueError("it is of another version, or of another graph")
    steps = given["steps"]
    if type(steps) is not int or steps < 0:
        raise ValueError("its number of steps is none")
    return steps


def _checked(given: Any) -> Measured:
    """The times of a line.

    Raises:
        ValueError, TypeError, KeyError: they are not times.
    """
    is_pressed = given.get("is_pressed", False)  # older files lack it
    measured = Measured(given["median"], given["best"], given["calls"], given["is_disturbed"], is_pressed)
    if list(map(type, measured)) != [float, float, int, bool, bool] or measured.calls < 1:
        raise ValueError("its numbers are none")
    if not 0 <= measured.best <= measured.median < LONGEST or measured.median == 0:
        raise ValueError("it says no time")
    return measured


def _checked_report(given: Any) -> Report:
    """The report of a line.

    Raises:
        ValueError, TypeError, KeyError: it is not a report.
    """
    rows = [Row(strategy_of(strategy), *others) for strategy, *others in given["rows"]]
    numbers = [number for row in rows for number in (row.predicted, row.measured, row.gain, row.cost)]
    numbers += [given["lost"], given["elapsed"]]
    if {type(n) for n in numbers} != {float} or not all(0 <= n < LONGEST for n in numbers):
        raise ValueError("its numbers are none")
    if not all((type(row.calls), type(row.problem)) == (int, str) for row in rows):
        raise ValueError("its rows are none")
    return Report(rows, given["lost"], given["elapsed"])


def _text(given: Any) -> str:
    if type(given) is not str:
        raise TypeError("it is no text")
    return given


# -- keys -------------------------------------------------------------------------------------------------------------


def key_of(graph: Graph, shapes: Sequence[Any]) -> str:
    """The key of a graph, the shapes of its arguments, and everything else on which its speed depends.

    Example:
        >>> import dovetail as dt
        >>> first, second = (dt.function(lambda x, n=n: x + n).graph(dt.spec((3,))) for n in (1.0, 2.0))
        >>> key_of(first, [(3,)]) == key_of(second, [(3,)]), key_of(first, [(3,)]) == key_of(first, [(4,)])
        (True, False)
    """
    ranks = [f"{WORLD.size} ranks"] if WORLD.size > 1 else []  # they share the machine, and wait for each other
    return digest([str(tuple(shapes)), *ranks, *_described(graph)])


_forked: list[str] = []  # "forked" in a forked process, where torch computes with one thread
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forked.extend(["forked"] * (not _forked)))


def digest(parts: Sequence[str]) -> str:
    """A hash of some lines, of the machine, and of the settings on which speed depends."""
    settings = [str(keep_memory()), str(threads()), *(os.environ.get(name, "") for name in THREADS), *_forked]
    return hashlib.sha256("\n".join([*parts, *settings, *machine()]).encode()).hexdigest()[:40]


def _described(graph: Graph) -> Iterator[str]:
    """A line for each operation: its type, tensors and static arguments, but not the numbers of constants."""
    numbers: dict[GraphTensor, int] = {}
    for op in graph.operations:
        takes = [numbers.get(t, -1) for t in op.inputs]
        for t in op.outputs:
            numbers[t] = len(numbers)
        yield f"{op.type} {takes} {[(t.shape, t.dtype.name) for t in op.outputs]} {_static(op)}"
        for part in op.subgraphs():
            yield from _described(part)
    yield str([numbers.get(t, -1) for t in graph.outputs])


def _static(op: Operation) -> str:
    """The static arguments of an operation, without constants, variables and subgraphs."""
    from dovetail.graph.base import GraphBase  # lists do without it

    left_out = "value", "variable"
    plain = {name: v for name, v in op.attrs.items() if name not in left_out and not isinstance(v, GraphBase)}
    beside = Beside(keeps_objects=True)
    return json.dumps({name: encode(value, beside) for name, value in sorted(plain.items())})


@functools.cache
def machine() -> tuple[str, ...]:
    """The versions of the libraries, the processor, the share that the process may use, and whether there are GPUs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = [f"{name} {_version(name)}" for name in list_candidates()]
    quota = list(map(text_of, QUOTAS))
    return (f"dovetail {VERSION}", *libraries, processor(), str(cores), *quota, str(DRIVER.exists()))


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # lists do without it

    library = BUILT_IN[name].library if name in BUILT_IN else name
    for distribution in (library, f"{library}-cpu"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return ""
