"""Which scores ("logits") the output of a sigmoid or softmax was computed from.

Cross-entropies use them in the place of the probabilities, which are 0 or 1 where the scores are large.  In a graph the
operation that made a tensor tells.  Values without such an operation are remembered here for as long as they live.
"""

from __future__ import annotations

import weakref
from typing import Any

from dovetail import ops
from dovetail.core.tensor import Tensor
from dovetail.core.value_kinds import kind_of

ACTIVATIONS = ("Sigmoid", "Softmax")


class _Entry(weakref.ref):
    """A weak reference to an output, with what is remembered of it.

    Attributes:
        key: its identity.
        logits: what it was computed from.
        versions: how often it and the logits had been changed in place.
    """

    __slots__ = ("key", "logits", "versions")

    key: int
    logits: Any
    versions: tuple[Any, Any]


_memory: dict[int, _Entry] = {}


def _forget(entry: Any) -> None:
    if _memory.get(key := entry.key) is entry:
        del _memory[key]


def remember(output: Any, x: Any) -> None:
    """Notes that an activation gave `output` for `x`."""
    if type(output) is not Tensor:
        if kind_of(output).origin(output) is not None:
            return
        if hasattr(output, "graph") or hasattr(output, "_keras_history"):  # they hold each other: gc must see it
            output._keras_logits = x
            return
    if type(x) is not Tensor and kind_of(x).is_mutable:
        x = ops.identity(x)
    entry = _Entry(output, _forget)
    entry.key, entry.logits, entry.versions = id(output), x, (_version(output), _version(x))
    _memory[entry.key] = entry


def pass_on(x: Any, output: Any) -> None:
    """Notes that `output` has the value of `x`."""
    found = recall(x)
    if found is not None:
        remember(output, found)


def recall(output: Any) -> Any:
    """The logits of an activation's output; None for any other value."""
    entry = _memory.get(id(output))
    if entry is not None and entry() is output and entry.versions == (_version(output), _version(entry.logits)):
        return entry.logits
    operation = kind_of(output).origin(output)
    if operation is None:
        return getattr(output, "_keras_logits", None)  # as Keras' own activations leave them
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    return operation.inputs[0] if operation.type in ACTIVATIONS else None


def _version(value: Any) -> Any:
    """How often a torch tensor was changed in place; None where values do not change."""
    if type(value) is Tensor:
        return None
    try:
        return getattr(value, "_version", None)
    except RuntimeError:  # torch does not count in inference mode: what equals nothing stands for a number unknown
        return object()
