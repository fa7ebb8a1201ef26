"""The budget of reading a file: a few bytes of a file may ask for any number of operations, and for any memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from dovetail.core.errors import FormatError, op_error

EACH_NODE, EACH_BYTE = 20, 4  # operations for each node of a file, and bytes for each of its bytes, besides the limits


NO_MEMORY = "values for which there is no memory"


class Limits(NamedTuple):
    """How much a file may ask for while it is read; see `set_read_limits`."""

    operations: int = 20_000
    bytes: int = 1 << 26
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
        operations: the operations that its nodes may become, besides twenty for each node.
        bytes: the memory of the values that are computed while it is read, besides four bytes for each byte of it.
        seconds: the time of a node with a regular expression.

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
        limit: its name.
        found: the contents that ask for it.
        most: the limit for this file.
    """

    def __init__(self, limit: str, found: str, most: float) -> None:
        super().__init__(found)
        self.limit, self.found, self.most = limit, found, most

    def at(self, file: str | os.PathLike[str], place: str) -> FormatError:
        """The error for a place of a file."""
        needed = f"at most {self.most:,}; dt.config.set_read_limits({self.limit}=...) raises this limit"
        return FormatError(file, place, self.found, needed)


@dataclass
class Budget:
    """How much a file has asked for so far, and how much it may.

    Attributes:
        operations, bytes: the limits for this file.
        made, folded: operations and bytes so far.
    """

    operations: int
    bytes: int
    made: int = 0
    folded: int = 0


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def reading(file: str | os.PathLike[str], place: str, nodes: int = 0, size: int = 0) -> Iterator[None]:
    """Count in the block, as a part of a block around it, how much a file asks for.

    Args:
        file: its path.
        place: the part of it that is read, for errors.
        nodes, size: how many nodes and bytes it has.

    Raises:
        FormatError: it asks for too much, for more memory than there is, or for more levels than Python's calls can be.
    """
    known = _budget.get()
    limits = _limits.operations + EACH_NODE * nodes, _limits.bytes + EACH_BYTE * size
    token = _budget.set(known or Budget(*limits))
    try:
        yield
    except PastLimit as error:
        raise error.at(file, place) from None
    except MemoryError:
        raise FormatError(file, place, NO_MEMORY, "smaller values") from None
    except RecursionError:
        found = "branches, loops or functions that are nested too deeply"
        raise FormatError(file, place, found, "fewer levels") from None
    finally:
        _budget.reset(token)


def make(count: int) -> None:
    """Count operations that are made.

    Raises:
        PastLimit: a file asks for too many.
    """
    budget = _budget.get()
    if budget is not None:
        budget.made += count
        need_operations(0)


def need_operations(count: int) -> None:
    """Check that a number of further operations would be within the limit.

    Raises:
        PastLimit: they would not.
    """
    budget = _budget.get()
    if budget is not None and budget.made + count > budget.operations:
        raise PastLimit("operations", f"{budget.made + count:,} operations", budget.operations)


def fold(size: int) -> None:
    """Count bytes of values that are computed.

    Raises:
        PastLimit: a file asks for too many.
    """
    budget = _budget.get()
    if budget is not None:
        budget.folded += size
        need_bytes(0)


def need_bytes(count: int) -> None:
    """Check that a number of further bytes would be within the limit.

    Raises:
        PastLimit: they would not.
    """
    budget = _budget.get()
    if budget is not None and budget.folded + count > budget.bytes:
        raise PastLimit("bytes", f"values of {budget.folded + count:,} bytes", budget.bytes)


def each_step(count: int) -> Iterator[int]:
    """The numbers of steps that are read one after the other; the first one tells how much all of them need.

    Raises:
        PastLimit: a file asks for too many operations.
    """
    budget = _budget.get()
    before = 0 if budget is None else budget.made
    for step in range(count):
        yield step
        if step == 0 and budget is not None:
            need_operations((count - 1) * (budget.made - before))
