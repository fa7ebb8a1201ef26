"""The learning phase for Keras' layers: the one that a program set, or that of a default graph.

A layer asks in Python whether it trains, but a graph's phase is a tensor that each run feeds.  So it records the layer
twice, in training and in inference, and the phase picks the results and the assigned values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.scopes import DEFAULT_GRAPH, Scoped
from dovetail.interop.layer_phase import asks_for_the_phase, in_set_phase
from dovetail.interop.privates import tree
from dovetail.sessions.session_graph import recording_graph
from keras_dovetail.src.tensors import is_tensor

_assigning_if: Scoped[Any] = Scoped(None)  # the learning phase, a tensor, in which assignments count


def assigned(value: Any, before: Callable[[], Any]) -> Any:
    """The value to assign: while a layer is recorded in training, `where(phase, value, old value)`."""
    phase = _assigning_if.get()
    return value if phase is None else ops.where(phase, value, before())


def follow(module: ModuleType) -> None:
    """Let layers follow the learning phase.

    Args:
        module: `keras.src.layers.layer`, which has just been imported.
    """
    layer: Any = module.Layer
    layer.__call__ = _following(layer.__call__)


def _following(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def following(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = in_set_phase(self, args, kwargs)
        if DEFAULT_GRAPH.get() is None or recording_graph() is None or not asks_for_the_phase(self, args, kwargs):
            return call(self, *args, **kwargs)
        kwargs.pop("training", None)
        phase = K.learning_phase()
        with _assigning_if.scope(phase):
            trained = call(self, *args, **kwargs, training=True)
        tested = call(self, *args, **kwargs, training=False)
        return tree.map_structure(lambda a, b: ops.where(phase, a, b) if is_tensor(a) else b, trained, tested)

    return following
