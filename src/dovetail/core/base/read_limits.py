"""The budget of reading a file: a few bytes of a file may ask for any number of operations, and for any memory."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError, op_error
from dovetail.core.base.probe import Probe
from dovetail.core.base.scopes import opened

EACH_NODE, EACH_BYTE = 40, 4  # operations for each node of a file, and bytes for each of its bytes, besides the limits
LARGEST = 2**63 - 1  # elements of a tensor


NO_MEMORY = "values for which there is no memory"


class Limits(NamedTuple):
    """How much a file may ask for while it is read; see `set_read_limits`."""

    operations: int = 20_000
    bytes: int = 1 << 27
    seconds: float = 1.0


_limits = Limits()


def read_limits() -> Limits:
    """How much a file may ask for while it is read.

    Example:
        >>> read_limits().operations
        20000
    """
    return _limits


def set_read_limits(operations: int | None = None, bytes: int | None = None, seconds: float | None = None) -> None:
    """Set how much a file of another library may ask for while it is read.  What is not given stays as it is.

    Files of a few bytes can ask for much: functions that call others twice, loops in loops that are unrolled, and
    constants that are computed of others.  A file that asks for more is refused by a `FormatError`, which names the
    node and the limit.

    Args:
        operations: the nodes that are read, and the results of their operations, besides forty for each node of the
            file.
        bytes: the memory of the values that are computed while it is read, besides four bytes for each byte of it.
        seconds: the time of all searches by regular expressions while it is read, or of one when a model is called.

    Raises:
        TypeError: a limit is no number.
        ValueError: a limit is not above 0.

    Example:
        >>> before = read_limits()
        >>> set_read_limits(bytes=1 << 30)
        >>> read_limits().bytes
        1073741824
        >>> set_read_limits(*before)
    """
    global _limits
    given: dict[str, Any] = {"operations": operations, "bytes": bytes, "seconds": seconds}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise op_error(TypeError, "set_read_limits", f"{name} must be a number, not {value!r}.")
        if not value > 0:
            raise op_error(ValueError, "set_read_limits", f"{name} must be above 0, not {value!r}.")
    _limits = _limits._replace(**given)


class PastLimit(Exception):
    """A node asks for more than a limit.

    Args:
        limit: its name; empty if no setting raises it.
        found: the contents that ask for it.
        most: the limit for this file.
    """

    def __init__(self, limit: str, found: str, most: float) -> None:
        super().__init__(found)
        self.limit, self.found, self.most = limit, found, most

    def at(self, file: str | os.PathLike[str], place: str) -> FormatError:
        """The error for a place of a file."""
        advice = f"; dt.config.set_read_limits({self.limit}=...) raises this limit" if self.limit else ""
        needed = f"at most {self.most:,}{advice}"
        return FormatError(file, place, self.found, needed)


@dataclass
class Budget:
    """How much a file has asked for so far, and how much it may.

    Attributes:
        operations, bytes: the limits for this file.
        made, folded, spent: operations, bytes and seconds so far.
        kept: facts that readers keep until the file is read, by their keys.
    """

    operations: float
    bytes: int
    made: int = 0
    folded: int = 0
    spent: float = 0.0
    kept: dict[Any, Any] = field(default_factory=dict)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
budget = _budget.get


class _Folding(Probe):
    """The probe that counts the bytes of eager results while a file is read, before each call."""

    sees_all = True

    def expect(self, op: Any, specs: Callable[[], Any]) -> None:
        expected = specs()
        fold(sum(spec.nbytes or 0 for spec in (expected if isinstance(expected, (list, tuple)) else (expected,))))

    def add(self, graph: Any, ends: int) -> tuple[Any, ...]:
        return ()

    def saw(self, run: Any, notes: Any, found: Any) -> None:
        pass


FOLDING = _Folding()


@contextmanager
def reading(
    file: str | os.PathLike[str], place: str, nodes: int = 0, size: int = 0, *, folds_alone: bool = False
) -> Iterator[None]:
    """Count in the block, as a part of a block around it, how much a file asks for.

    Args:
        file: its path.
        place: the part of it that is read, for errors.
        nodes, size: how many nodes and bytes it has.
        folds_alone: whether only calls of `fold` count, since another library computes for the file.

    Raises:
        FormatError: it asks for too much, for more memory than there is, or for more levels than Python's calls can be.
    """
    known = budget()
    most = math.inf if folds_alone else _limits.operations + EACH_NODE * nodes
    token = _budget.set(known or Budget(most, _limits.bytes + EACH_BYTE * size))
    is_seen = known is not None or folds_alone
    try:
        with nullcontext() if is_seen else opened(lambda around: {"probes": (*(around.probes or ()), FOLDING)}):
            yield
    except PastLimit as error:
        raise error.at(file, place) from None
    except MemoryError:
        raise FormatError(file, place, NO_MEMORY, "smaller values") from None
    except RecursionError:
        excess = "branches, loops or functions that are nested too deeply"
        raise FormatError(file, place, excess, "fewer levels") from None
    finally:
        _budget.reset(token)


def kept(key: Any, make: Callable[[], Any]) -> Any:
    """Call a function once for each key while a file is read, and each time elsewhere; return its result."""
    own = budget()
    if own is None:
        return make()
    if key not in own.kept:
        own.kept[key] = make()
    return own.kept[key]


def make(count: int) -> None:
    """Count operations that are made.

    Raises:
        PastLimit: a file asks for too many.
    """
    if (own := budget()) is not None:
        own.made += count
        need_operations(0)


def made(specs: Iterable[Any]) -> Iterable[Any]:
    """The specs of the results of a new operation, counted; the caller asks whether a file is read.

    Raises:
        PastLimit: a file asks for too many, or for a tensor of more elements than can be numbered.
    """
    specs = list(specs)
    make(len(specs))
    for shape in (spec.shape for spec in specs):
        if shape and math.prod(size for size in shape if size is not None) > LARGEST:
            raise PastLimit("", "a tensor with more elements than 63 bits can number", LARGEST)
    return specs


def need_operations(count: int) -> None:
    """Check that a number of further operations would be within the limit.

    Raises:
        PastLimit: they would not.
    """
    if (own := budget()) is not None and own.made + count > own.operations:
        raise PastLimit("operations", f"{own.made + count:,} operations", own.operations)


def fold(size: int, of: str = "") -> None:
    """Count bytes of values that are computed.

    Args:
        size: their bytes.
        of: the part of the file that asks for them, if the error of a node does not name it.

    Raises:
        PastLimit: a file asks for too many.
    """
    if (own := budget()) is not None:
        own.folded += min(size, LARGEST)  # a number of thousands of digits has no text
        need_bytes(0, of)


def need_bytes(count: int, of: str = "") -> None:
    """Check that a number of further bytes would be within the limit.

    Raises:
        PastLimit: they would not.
    """
    if (own := budget()) is not None and own.folded + count > own.bytes:
        last = f", the last for {of!r}" if of else ""
        raise PastLimit("bytes", f"values of {own.folded + count:,} bytes{last}", own.bytes)


@contextmanager
def spending() -> Iterator[float]:
    """Count the time of the block, which gets the seconds that are left for it."""
    own, start = budget(), time.perf_counter()
    try:
        yield _limits.seconds - (own.spent if own else 0)
    finally:
        if own:
            own.spent += time.perf_counter() - start


def each_step(count: int) -> Iterator[int]:
    """The numbers of steps that are read one after the other; the first one tells how much all of them need.

    Raises:
        PastLimit: a file asks for too many operations.
    """
    own = budget()
    before = 0 if own is None else own.made
    for step in range(count):
        yield step
        if step == 0 and own is not None:
            need_operations((count - 1) * (own.made - before))
