"""The learning phase of a default graph, for Keras' layers that are called there.

A layer asks in Python whether it trains, but the phase is a tensor that each run feeds.  So the graph records the layer
twice, in training and in inference, and the phase picks the results and the assigned values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.symbolic import in_default_graph
from dovetail.backend.values import told_to_layer
from dovetail.core.recording import DEFAULT_GRAPH
from dovetail.core.scopes import Scoped
from dovetail.interop.privates import any_symbolic_tensors, tree
from dovetail.sessions.session_graph import recording_graph
from keras_dovetail.src.tensors import is_tensor

_assigning_if: Scoped[Any] = Scoped(None)  # the learning phase, a tensor, in which assignments count


def assigned(value: Any, before: Callable[[], Any]) -> Any:
    """The value to assign: while a layer is recorded in training, `where(phase, value, old value)`."""
    phase = _assigning_if.get()
    return value if phase is None else ops.where(phase, value, before())


def follow(module: ModuleType) -> None:
    """Let layers that are called in a default graph follow its learning phase.

    Args:
        module: `keras.src.layers.layer`, which has just been imported.
    """
    layer: Any = module.Layer
    layer.__call__ = _following(layer.__call__)


def _following(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def following(self: Any, *args: Any, **kwargs: Any) -> Any:
        if DEFAULT_GRAPH.get() is None or not _asks_for_the_phase(self, args, kwargs):
            return call(self, *args, **kwargs)
        kwargs.pop("training", None)
        phase = K.learning_phase()
        if not in_default_graph(phase):  # it is set
            return call(self, *args, **kwargs, training=bool(phase))
        with _assigning_if.scope(phase):
            trained = call(self, *args, **kwargs, training=True)
        found = call(self, *args, **kwargs, training=False)
        return tree.map_structure(lambda a, b: ops.where(phase, a, b) if is_tensor(a) else b, trained, found)

    return following


def _asks_for_the_phase(layer: Any, args: Any, kwargs: Any) -> bool:
    """Whether a default graph records a layer that has a training mode, and nothing says whether it trains."""
    if not getattr(layer, "_call_has_training_arg", False) or recording_graph() is None:
        return False
    if told_to_layer() is not None or any_symbolic_tensors(args, kwargs):
        return False
    given = layer._call_signature.bind_partial(*args, **kwargs).arguments
    return given.get("training") is None
