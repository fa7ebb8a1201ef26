"""State: what variables hold, and how several of them get new values in one indivisible step.

Python handles signals between the bytecodes of its main thread, and changes threads there.  So what one call of a
C function does is done as a whole: `put` gives any number of variables their new buffers in one such call.

Nothing is counted here.  That a plan still reads a buffer shows in Python's own reference count of it, so a plan that
is interrupted leaves nothing behind.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.tensor import Tensor
    from dovetail.core.variable import Variable

held_by = attrgetter("_buffer")  # of a variable: its Buffer, or None
array_of = attrgetter("value")  # of a Buffer


class Buffer:
    """A native array that holds a variable's value.

    Args:
        value: the native array.
        engine: whose it is.
        shared: whether others than variables and plans may know it, or a view of it: it is not written to, then, nor
            given to an engine that consumes it.
        spare: the buffer of the value before, for the value after this one.

    Attributes:
        value, engine, shared, spare: as given.
        tensor: what eager reads of the variable return.
        wanted: whether a plan has begun to consume it; others ask the variable again, under its guard.
    """

    __slots__ = ("engine", "shared", "spare", "tensor", "value", "wanted")

    def __init__(self, value: Any, engine: Engine, shared: bool = True, spare: Buffer | None = None) -> None:
        self.value = value
        self.engine = engine
        self.shared = shared
        self.spare = spare
        self.tensor: Tensor | None = None
        self.wanted = False

    @property
    def device(self) -> str:
        """Where the array is."""
        return self.engine.device_of(self.value)

    @property
    def is_private(self) -> bool:
        """Whether nobody knows the array but this buffer: no Tensor, and no plan that runs in another thread."""
        return not self.shared and sys.getrefcount(self.value) <= _ONE

    def spare_array(self, engine: Engine) -> Any:
        """The spare buffer's array if the engine may write into it, else None."""
        spare = self.spare
        return spare.value if spare is not None and spare.engine is engine and spare.is_private else None


def _references_to_one() -> int:
    """What `sys.getrefcount` says of an array that one buffer knows."""
    buffer = Buffer(object(), None)  # type: ignore[arg-type]
    return sys.getrefcount(buffer.value)


_ONE = _references_to_one()


def taken(buffers: Iterable[Buffer]) -> list[Any]:
    """The arrays for an engine to consume: each itself if nobody else knows it, or a copy.

    There is no lock between this and a plan in another thread that only reads a variable.  The reader gets hold of the
    array before it looks at `wanted`, and this sets `wanted` before it looks who has got hold of the array: at least
    one of the two sees the other.
    """
    found = []
    for buffer in buffers:
        buffer.wanted = True
        is_private = not buffer.shared and sys.getrefcount(buffer.value) <= _ONE
        found.append(buffer.value if is_private else buffer.engine.copy(buffer.value))
    return found


def put(variables: Sequence[Variable], buffers: Sequence[Buffer]) -> None:
    """Gives variables, whose guard is held, their new buffers: all of them, or none if an exception comes before."""
    before = list(map(held_by, variables))  # alive until the end: what is freed may run code of its own
    deque(map(setattr, variables, repeat("_buffer"), buffers), 0)
    for variable in variables:
        if variable.followers:
            variable.tell_followers()
    del before
