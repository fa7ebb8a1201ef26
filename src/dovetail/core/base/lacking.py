"""Attributes of other libraries' tensors and layers that Dovetail's lack: asking for one raises an error with advice.

Programs for PyTorch and for TensorFlow take gradients in ways that do not follow Dovetail's tensors.  The errors name
the user's line, and show the lines that take gradients on every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.core.base.errors import op_error

STEP = """a dovetail.GradientTape, on every engine (in a train_step, the model is self):

    with dovetail.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)"""

AUTOGRAD = f"PyTorch's autograd does not follow Dovetail's tensors. Take gradients from {STEP}"

Kind = TypeVar("Kind", bound=type)


class Lacking:
    """An attribute that raises an AttributeError with advice, so that `hasattr` is false.

    Args:
        name: the attribute.
        problem: the reason and the advice.
    """

    def __init__(self, name: str, problem: str) -> None:
        self._name, self._problem = name, problem

    def __get__(self, value: Any, kind: type) -> Any:
        if value is None:
            return self
        raise op_error(AttributeError, f"{kind.__name__}.{self._name}", self._problem)


def lacks(names: str, problem: str) -> Callable[[Kind], Kind]:
    """Give a class attributes that raise an error with advice; its subclasses and objects may define them.

    Args:
        names: the attributes, with spaces between.
        problem: the reason and the advice.

    Example:
        >>> @lacks("cuda", "dovetail.set_device chooses the device.")
        ... class Thing:
        ...     pass
        >>> hasattr(Thing(), "cuda")
        False
    """

    def give(kind: Kind) -> Kind:
        for name in names.split():
            setattr(kind, name, Lacking(name, problem))
        return kind

    return give
