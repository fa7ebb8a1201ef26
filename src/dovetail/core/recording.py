"""Recording: what notes the ops of this thread, gradient tapes and graphs, and one op call as a tape keeps it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from dovetail.core.errors import user_line
from dovetail.core.tensor import Operators


class _Recording(threading.local):
    """What records in this thread.

    Attributes:
        tapes: the gradient tapes, outermost first.
        overrides: op type → name of the registered gradient that new nodes use in the place of the op's own.
        exact: whether these are all, and those of the graphs that are being built do not count.
    """

    tapes: tuple[Any, ...] = ()
    overrides: Mapping[str, str] = MappingProxyType({})
    exact: bool = False


class _Building(threading.local):
    """What is being built in this thread.

    Attributes:
        graphs: the graphs being built, outermost first.
        default: where ops on symbolic variables are recorded while no graph is being built and no tape records; None:
            nowhere.
    """

    graphs: tuple[Any, ...] = ()
    default: Any = None


recording = _Recording()
building = _Building()


@contextmanager
def record_on(tapes: Iterable[Any]) -> Iterator[None]:
    """Ops inside the `with` block are recorded on these tapes alone."""
    outside, recording.tapes = recording.tapes, tuple(tapes)
    try:
        yield
    finally:
        recording.tapes = outside


@contextmanager
def not_building() -> Iterator[None]:
    """Ops inside the `with` block are computed, even while a function is being traced around it."""
    outside = building.graphs, building.default
    building.graphs, building.default = (), None
    try:
        yield
    finally:
        building.graphs, building.default = outside


class Record:
    """One op call on a tape."""

    __slots__ = ("_needed", "args", "gradient_function", "inputs", "op", "outputs", "overrides", "where")

    def __init__(
        self,
        op: Any,
        args: list[Any],
        outputs: Sequence[Any],
        gradient_function: Any = None,
        inputs: list[Any] | None = None,
        needed: Sequence[bool] | None = None,
    ) -> None:
        self.op = op
        self.args = args
        self.inputs = tensors_in(args) if inputs is None else inputs
        self.outputs = outputs
        self.gradient_function = gradient_function
        self._needed = needed
        self.overrides = recording.overrides
        self.where = user_line() if self.overrides else None

    @property
    def type(self) -> str:
        return self.op.name

    def attr(self, name: str) -> Any:
        return self.args[self.op.index_of(name)]

    def needs(self, index: int) -> bool:
        """Whether the gradient by an input can reach what the tape watches; else it need not be computed."""
        return self._needed is None or self._needed[index]


def tensors_in(args: Any) -> list[Any]:
    """The tensors of an op's arguments, flat, in order."""
    found: list[Any] = []
    for arg in args:
        if type(arg) is tuple:
            found += [a for a in arg if isinstance(a, Operators)]
        elif isinstance(arg, Operators) and not hasattr(arg, "assign"):
            found.append(arg)
    return found
