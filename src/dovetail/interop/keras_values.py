"""The values that KerasTensors have where their model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from dovetail.interop.privates import KerasTensor

Source = Callable[[Any], Any]  # the value of a KerasTensor

RUN: ContextVar[Source | None] = ContextVar("RUN", default=None)
READ: WeakSet[Any] = WeakSet()  # KerasTensors that layers read, which are no arguments of theirs


@contextmanager
def run_of(value: Source) -> Iterator[None]:
    """Give KerasTensors values in the `with` block, where they meet tensors of a graph."""
    token = RUN.set(value)
    try:
        yield
    finally:
        RUN.reset(token)


def in_run(value: Any) -> Any:
    """A KerasTensor's value in the run around this call; another value as it is.

    Raises:
        ValueError: the tensor is not computed from the inputs of the model that runs.
    """
    run = RUN.get()
    return run(value) if run is not None and isinstance(value, KerasTensor) else value


def source() -> Source:
    """The function that gives a KerasTensor's value now; it raises a ValueError where no model runs."""
    return RUN.get() or _unknown


def _unknown(tensor: Any) -> Any:
    problem = f"a loss, a metric or a layer reads {tensor!r}, which is not computed from the inputs of its model"
    raise ValueError(f"{problem}: make the tensor of these inputs, or add its input to those of the model.")
