"""What was measured, kept on disk: a file for each graph with its shapes, on one machine with one set of libraries.

The files are in `$DOVETAIL_CACHE`, or `dovetail/plans` in the user's folder of caches; with DOVETAIL_CACHE="" nothing
is kept.  A file that is damaged, of another version, or no such file at all is as good as none: what is read are names
of engines and numbers, which are checked, and nothing is executed.  Only regular files of an entry's size are read: a
pipe or a device by the name of an entry is ignored.  A folder that cannot be used is no error: nothing is kept, and one
line of the log says so.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import platform
import re
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.config import keep_memory
from dovetail.core.engine_registry import BUILT_IN, list_engines
from dovetail.core.errors import op_error
from dovetail.core.files import replacing
from dovetail.core.signature import static_key
from dovetail.core.version import VERSION
from dovetail.graph.ir import Graph, GraphTensor, Operation

logger = logging.getLogger("dovetail.plan")

Way = tuple[str, str]  # to run a graph: an engine, and a strategy of it

VARIABLE = "DOVETAIL_CACHE"
FORMAT = 1
LARGEST = 1 << 16  # bytes of a file
MOST = 2000  # files that are kept
IS_KEY = re.compile("[0-9a-f]{40}").fullmatch
# A file is opened at once, and read only if it is a regular one: a pipe without a writer would block.
AT_ONCE = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY"))
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Measured(NamedTuple):
    """How long a way to run a graph took.

    Attributes:
        engine, strategy: the way.
        median, best: seconds a call.
        calls: how many were measured.
    """

    engine: str
    strategy: str
    median: float
    best: float
    calls: int

    @property
    def name(self) -> str:
        return f"{self.engine} {self.strategy}".rstrip()


class Entry(NamedTuple):
    """What is kept of a graph.

    Attributes:
        key: of what was measured and where, in hexadecimal digits; the file's name.
        name: the graph's.
        shapes: of the arguments, to be shown.
        made: when, in UTC.
        ranking: what was measured; the first was chosen.
    """

    key: str
    name: str
    shapes: str
    made: str
    ranking: tuple[Measured, ...]


def folder() -> Path | None:
    """The folder of entries; None if nothing is kept."""
    found = place()
    if isinstance(found, Path):
        return found
    if os.environ.get(VARIABLE) != "":
        _warn(found)
    return None


def place() -> Path | str:
    """The folder of entries, or the reason why nothing is kept."""
    said, caches = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME")
    if said == "":
        return f'{VARIABLE} is ""'
    try:
        if said is not None:
            return _absolute(said)
        is_set = caches is not None and os.path.isabs(caches)  # else it is to be ignored, as its specification says
        return _absolute(caches if is_set and caches is not None else "~/.cache") / "dovetail" / "plans"
    except (RuntimeError, OSError) as error:  # there is no such user's folder, or the working directory is gone
        return f"{said or '~/.cache'!r} is no folder here: {error}"


def _absolute(path: str) -> Path:
    found = Path(path).expanduser()
    return found if found.is_absolute() else _first_directory() / found


@functools.cache
def _first_directory() -> Path:
    """The working directory from which relative paths count, also after a program has changed it."""
    return Path.cwd()


_warned: list[str] = []


def _warn(problem: str) -> None:
    """Logs that nothing is kept, once a process."""
    if not _warned:
        _warned.append(problem)
        advice = f'Set {VARIABLE} to a folder, or to "" to keep nothing'
        logger.warning("what is measured to choose engines is not kept, since %s. %s.", problem.rstrip("."), advice)


def save(path: str | Path, way: Way) -> None:
    """Writes a way to run a graph to a file; see `replayed`.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(Path(path)) as file:
        file.write(json.dumps({"format": FORMAT, "engine": way[0], "strategy": way[1]}).encode())


def replayed(path: str | Path) -> Way:
    """The way that `save` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a file, or of another version.
    """
    with Path(path).open("rb") as file:
        text = file.read(LARGEST)
    try:
        found = json.loads(text)
        way = found["engine"], found["strategy"]
        if found["format"] == FORMAT and all(type(part) is str for part in way):
            return way
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    problem = f"{str(path)!r} is no plan that this version of Dovetail saved, as function.plan(...).save(path) does."
    raise op_error(ValueError, "function", problem)


def measured(graph: Graph, shapes: Sequence[Any]) -> Entry | None:
    """What is kept of a graph; None if it is nothing that can be used."""
    return None if folder() is None else read(key_of(graph, shapes))


def keep(graph: Graph, shapes: Sequence[Any], ranking: Sequence[Measured]) -> None:
    """Keeps what was measured of a graph, where anything is kept."""
    if folder() is not None:
        write(key_of(graph, shapes), graph.name, shapes, ranking)


def read(key: str) -> Entry | None:
    """What is kept under a key; None if it is nothing that can be used."""
    where = folder()
    return None if where is None else _read(where / f"{key}.json")


def write(key: str, name: str, shapes: Sequence[Any], ranking: Sequence[Measured]) -> None:
    """Keeps measurements; if it fails, one line of the log says so."""
    where = folder()
    if where is None:
        return
    made = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"format": FORMAT, **Entry(key, name, str(tuple(shapes)), made, tuple(ranking))._asdict()})
    try:
        where.mkdir(parents=True, exist_ok=True)
        with replacing(where / f"{key}.json") as file:
            file.write(text.encode())
        for path in _files(where)[MOST:]:
            path.unlink(missing_ok=True)
    except OSError as error:
        _warn(f"{str(where)!r} cannot be written to: {error}")


def entries() -> Iterator[Entry]:
    """All that is kept, the latest first."""
    where = folder()
    for path in [] if where is None else _files(where):
        entry = _read(path)
        if entry is not None:
            yield entry


def clear(key: str = "") -> int:
    """Forgets what is kept, all of it or what keys that begin so name; returns how many entries that were.

    Raises:
        OSError: a file cannot be removed.
    """
    where = folder()
    files = [] if where is None else [path for path in _files(where) if path.stem.startswith(key)]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _files(where: Path) -> list[Path]:
    """The files of entries, the latest first; other files in the folder are not ours."""
    found = []
    try:
        paths = [path for path in where.iterdir() if path.suffix == ".json" and IS_KEY(path.stem)]
    except OSError:
        return []
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # another process has removed it
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((status.st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


# -- what a file says -------------------------------------------------------------------------------------------------


def _read(path: Path) -> Entry | None:
    try:
        found = json.loads(_content(path))
        return _checked(found) if found["key"] == path.stem else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _content(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is no regular file, or too large for an entry.
    """
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | AT_ONCE)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    return content


def _checked(found: Any) -> Entry | None:
    if type(found["format"]) is not int or found["format"] != FORMAT:
        return None
    texts = [found[name] for name in ("key", "name", "shapes", "made")]
    ranking = tuple(Measured(*given) for given in found["ranking"])
    if not ranking or not all(type(text) is str for text in texts) or not all(map(_is_measured, ranking)):
        return None
    key, name, shapes, made = texts
    return Entry(key, name, shapes, made, ranking)


def _is_measured(given: Measured) -> bool:
    kinds = {str: (given.engine, given.strategy), float: (given.median, given.best), int: (given.calls,)}
    if not all(type(value) is kind for kind, values in kinds.items() for value in values):
        return False
    return given.calls > 0 and 0 <= given.best <= given.median < 1e9 and given.median > 0


# -- keys -------------------------------------------------------------------------------------------------------------


def key_of(graph: Graph, shapes: Sequence[Any]) -> str:
    """What stands for a graph, the shapes of its arguments, and all else on which its speed depends.

    Example:
        >>> import dovetail as dt
        >>> first, second = (dt.function(lambda x, n=n: x + n).graph(dt.spec((3,))) for n in (1.0, 2.0))
        >>> key_of(first, [(3,)]) == key_of(second, [(3,)]), key_of(first, [(3,)]) == key_of(first, [(4,)])
        (True, False)
    """
    parts = [str(tuple(shapes)), str(keep_memory()), *(os.environ.get(name, "") for name in THREADS), *_machine()]
    digest = hashlib.sha256("\n".join([*parts, *_described(graph)]).encode())
    return digest.hexdigest()[:40]


def _described(graph: Graph) -> Iterator[str]:
    """A line for each operation: its type, its tensors, its static arguments; not the numbers of constants."""
    numbers: dict[GraphTensor, int] = {}
    for op in graph.operations:
        takes = [numbers.get(t, -1) for t in op.inputs]
        for t in op.outputs:
            numbers[t] = len(numbers)
        yield f"{op.type} {takes} {[(t.shape, t.dtype.name) for t in op.outputs]} {_static(op)}"
        for part in op.subgraphs():
            yield from _described(part)
    yield str([numbers.get(t, -1) for t in graph.outputs])


def _static(op: Operation) -> list[str]:
    plain = {name: value for name, value in op.attrs.items() if name not in ("value", "variable")}
    return [f"{name}={_shown(value)}" for name, value in sorted(plain.items())]


def _shown(value: Any) -> str:
    key = static_key(value)
    plain = (str, int, float, bool, type(None), tuple, list)
    return repr(key[1:]) if isinstance(value, plain) else type(value).__name__


@functools.cache
def _machine() -> tuple[str, ...]:
    """The versions of the libraries, the processor's features, and how many of its cores the process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = [f"{name} {_version(name)}" for name in list_engines()]
    return (f"dovetail {VERSION}", *libraries, _processor(), str(cores))


def _version(name: str) -> str:
    library = BUILT_IN[name].library if name in BUILT_IN else name
    for distribution in (library, f"{library}-cpu"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(("model name", "flags", "Features"))))
