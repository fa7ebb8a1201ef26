"""State: the values of variables, and how several variables get new values in one indivisible step.

Python handles signals between the bytecodes of its main thread, and switches threads there.  So the work of one call of
a C function is indivisible.  `put` gives any number of variables their new buffers in one such call.  A plan that wrote
variables last writes them again by one assignment of the tuple of their arrays, `Arrays.values`.  The cost of this
assignment does not grow with the number of variables.

Nothing is counted here.  Python's own reference count of an array shows whether a plan still reads it, so an
interrupted plan leaves nothing behind.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import attrgetter, call
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.engine import Engine
    from dovetail.core.tensor import Tensor
    from dovetail.core.values.variable import Variable

held_by = attrgetter("_buffer")  # of a variable: its Buffer, or None


def call_as_one(functions: Iterable[Callable[[], Any]]) -> None:
    """Call C functions one after another, with no bytecode between them."""
    deque(map(call, functions), 0)


class Arrays:
    """The native arrays of variables that were written together; the buffer of each variable has one.

    Args:
        values: the arrays.
        spares: arrays of earlier values, which can hold later ones.
        owner: an object of one plan; only this plan may write the arrays again.

    Attributes:
        values, spares, owner: as given; the plan replaces values and spares.
        is_whole: whether each array still is the value of its variable, and only variables and plans know it.
        is_borrowed: whether a plan that only reads a variable has got hold of its array.
        claimed: whether a plan has begun to consume an array; others then ask the variable again, under its guard.
    """

    __slots__ = ("claimed", "is_borrowed", "is_whole", "owner", "spares", "values")

    def __init__(self, values: Sequence[Any], spares: Sequence[Any] = (), owner: object = None) -> None:
        self.values = values
        self.spares = spares
        self.owner = owner
        self.is_whole = True
        self.is_borrowed = False
        self.claimed = False

    def is_returned(self) -> bool:
        """Whether all borrowers of the arrays have let go of them."""
        self.is_borrowed = False  # first, since a borrower may set it again during the check
        if any(held_elsewhere(self.values)) or any(held_elsewhere(self.spares)):
            self.is_borrowed = True
        return not self.is_borrowed

    def unborrowed(self, engines: Sequence[Engine | None]) -> list[Any]:
        """The first arrays, for engines to consume: each itself if nobody else knows it, else a copy.

        Args:
            engines: the engine of each array; None if the array is not consumed.
        """
        held = held_elsewhere(self.values)
        return [
            engine.copy(array) if others and engine is not None else array
            for array, others, engine in zip(self.values, held, engines, strict=False)
        ]

    def unborrowed_spares(self) -> list[Any]:
        """The spare arrays, with None for each that somebody else knows."""
        held = held_elsewhere(self.spares)
        return [None if others else array for array, others in zip(self.spares, held, strict=True)]


def held_elsewhere(values: Sequence[Any]) -> list[int]:
    """The number of references to each value, without the one of this sequence.

    All code that asks about ownership calls this function.  `map` hands each value to `sys.getrefcount` without a
    variable in between, since Python 3.14 no longer counts those.

    Example:
        >>> shared = [0.5]
        >>> held_elsewhere(([0.25], shared))
        [0, 1]
    """
    return [count - _IN_ONE for count in map(sys.getrefcount, values)]


_IN_ONE = max(map(sys.getrefcount, (object(),)))  # the count of a value that one sequence holds


class Buffer:
    """The holder of a variable's value: a native array.

    Args:
        arrays: the arrays that were written together.
        number: the position of this buffer's array among them.
        engine: the engine of the array.
        shared: whether others than variables and plans may know the array, or a view of it.  If so, nobody writes to
            it, or gives it to an engine that consumes it.

    Attributes:
        arrays, engine, shared: as given.
        tensor: the Tensor that eager reads of the variable return.
    """

    __slots__ = ("arrays", "engine", "number", "shared", "tensor")

    def __init__(self, arrays: Arrays, number: int, engine: Engine, shared: bool = True) -> None:
        self.arrays = arrays
        self.number = number
        self.engine = engine
        self.shared = shared
        self.tensor: Tensor | None = None

    @property
    def value(self) -> Any:
        """The native array, for holders of the variable's guard."""
        return self.arrays.values[self.number]

    @property
    def device(self) -> str:
        """The device of the array."""
        return self.engine.device_of(self.value)

    @property
    def claimed(self) -> bool:
        """The mark `claimed` of its `Arrays`."""
        return self.arrays.claimed

    def lend(self) -> Any:
        """Lend the array to a plan that reads it; None, without a guard, if another plan may have consumed it."""
        arrays, number = self.arrays, self.number
        value = arrays.values[number]
        arrays.is_borrowed = True  # after this got hold of the array, before it reads `claimed`; see `donate`
        return value if not arrays.claimed and arrays.values[number] is value else None

    def share(self) -> None:
        """Note that others may know the array from now on, so that nobody changes it."""
        self.shared = True
        self.arrays.is_whole = False


def held_alone(value: Any, engine: Engine, shared: bool = True) -> Buffer:
    """A buffer of one array, which others may know."""
    return Buffer(Arrays((value,)), 0, engine, shared)


def donate(buffers: Iterable[Buffer]) -> list[Any]:
    """Take arrays for an engine to consume: each itself if nobody else knows it, else a copy.

    There is no lock between this function and a plan in another thread that only reads a variable.  The reader gets
    hold of the array, marks it as borrowed, and only then reads `claimed`.  This function sets `claimed` before it
    checks whether the array is borrowed, or who got hold of it.  So at least one of the two sees the other.  If this
    function and its plan were done before the reader looked, the variable has another array.
    """
    wanted = list(buffers)
    for buffer in wanted:
        buffer.arrays.claimed = True
    values = [buffer.value for buffer in wanted]
    held = held_elsewhere(values)  # each value once by its `Arrays`
    return [
        buffer.engine.copy(value) if buffer.shared or others > 1 else value
        for buffer, value, others in zip(wanted, values, held, strict=True)
    ]


def put(variables: Sequence[Variable], buffers: Sequence[Buffer]) -> None:
    """Give variables, whose guard is held, their new buffers: all of them, or none if an exception comes before."""
    before = list(map(held_by, variables))  # kept until the end, since freeing an object may run code
    for buffer in before:
        if buffer is not None:
            buffer.arrays.is_whole = False
    deque(map(setattr, variables, repeat("_buffer"), buffers), 0)
    for variable, buffer in zip(variables, buffers, strict=True):
        if variable.followers:
            buffer.arrays.is_whole = False  # so that followers get the next value, too
            variable.tell_followers()
    del before
