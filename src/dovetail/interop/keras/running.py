"""The values that KerasTensors have while their model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras

from dovetail.interop.keras.parts import cut

Known = dict[int, tuple[Any, Any]]  # id → a KerasTensor and its value

GIVEN = "_given"  # the attribute of an input of a model that is made of another tensor, `keras.Input(tensor=x)`
RUN: ContextVar[Known | None] = ContextVar("RUN", default=None)  # the values of the tensors of a model that runs


def value_of(tensor: keras.KerasTensor, known: Known, of_source: Callable[[Any], Any]) -> Any:
    """The value of a tensor, computed from known values, which the new ones join.

    Args:
        tensor: the tensor.
        known: the known values.
        of_source: a function that gives the value of a tensor that no operation made.
    """
    if id(tensor) not in known:
        nodes, taken = cut([tensor], lambda t: id(t) in known)
        known.update((id(t), (t, of_source(t))) for t in taken if id(t) not in known)
        for node in nodes:
            args, kwargs = node.arguments.fill_in({key: value for key, (_, value) in known.items()})
            if not kwargs.get("training"):  # Keras also puts a default there
                kwargs.pop("training", None)
            found = keras.tree.flatten(node.operation(*args, **kwargs))
            known.update((id(t), (t, value)) for t, value in zip(node.outputs, found, strict=True))
    return known[id(tensor)][1]


def is_given(tensors: Iterable[Any]) -> bool:
    """Whether tensors are computed from an input that is made of another tensor."""
    return any(GIVEN in vars(t) for t in cut(tensors, lambda t: False)[1])


@contextmanager
def run_of(known: Known) -> Iterator[None]:
    """Replace KerasTensors that ops get in the `with` block by their values in a run."""
    token = RUN.set(known)
    try:
        yield
    finally:
        RUN.reset(token)


def in_run(value: Any) -> Any:
    """A KerasTensor's value in the run around this call; another value as it is.

    Raises:
        ValueError: the tensor is not computed from the inputs of the model that runs.
    """
    known = RUN.get()
    return value_of(value, known, _unknown) if isinstance(value, keras.KerasTensor) and known is not None else value


def _unknown(tensor: Any) -> Any:
    problem = f"a loss or a metric reads {tensor!r}, which is not computed from the inputs of its model"
    raise ValueError(f"{problem}: make the tensor of these inputs, or add its input to those of the model.")
