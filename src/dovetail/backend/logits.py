"""The scores ("logits") that the output of a sigmoid or softmax was computed from.

Cross-entropies use them instead of the probabilities, which are 0 or 1 for large scores.  In a graph, the operation
that made a tensor leads to its scores.  For values without such an operation, this module remembers the scores as long
as the values live.
"""

from __future__ import annotations

import weakref
from typing import Any

from dovetail import ops
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import kind_of

ACTIVATIONS = ("Sigmoid", "Softmax")


class _Entry(weakref.ref):
    """A weak reference to an output, with its scores.

    Attributes:
        key: the output's id.
        logits: the scores that it was computed from.
        versions: how often the output and the scores had been changed in place.
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
    """Remember that an activation gave `output` for `x`."""
    if type(output) is not Tensor:
        if kind_of(output).origin(output) is not None:
            return
        if hasattr(output, "graph") or hasattr(output, "_keras_history"):  # a cycle, which gc must see
            output._keras_logits = x
            return
    if type(x) is not Tensor and kind_of(x).is_mutable:
        x = ops.identity(x)
    entry = _Entry(output, _forget)
    entry.key, entry.logits, entry.versions = id(output), x, (_version(output), _version(x))
    _memory[entry.key] = entry


def pass_on(x: Any, output: Any) -> None:
    """Remember that `output` has the value of `x`, and so the same scores."""
    scores = recall(x)
    if scores is not None:
        remember(output, scores)


def recall(output: Any) -> Any:
    """The logits of an activation's output; None for any other value."""
    entry = _memory.get(id(output))
    if entry is not None and entry() is output and entry.versions == (_version(output), _version(entry.logits)):
        return entry.logits
    operation = kind_of(output).origin(output)
    if operation is None:
        return getattr(output, "_keras_logits", None)  # set by Keras' own activations
    while operation.type == "Identity":
        operation = operation.inputs[0].op
    return operation.inputs[0] if operation.type in ACTIVATIONS else None


def _version(value: Any) -> Any:
    """How often a torch tensor was changed in place; None for values that do not change."""
    if type(value) is Tensor:
        return None
    try:
        return getattr(value, "_version", None)
    except RuntimeError:  # torch does not count in inference mode; an object that equals nothing means "unknown"
        return object()
