"""The learning phase that layers of Keras follow, of which K knows."""

from __future__ import annotations

from typing import Any

from dovetail.backend.phase import PHASE
from dovetail.backend.values import told_to_layer
from dovetail.interop import privates


def asks_for_the_phase(layer: Any, args: Any, kwargs: Any) -> bool:
    """Whether a layer that is called has a training mode, and nothing says whether it trains."""
    if not getattr(layer, "_call_has_training_arg", False) or told_to_layer() is not None:
        return False
    if privates.any_symbolic_tensors(args, kwargs):
        return False
    return layer._call_signature.bind_partial(*args, **kwargs).arguments.get("training") is None


def in_set_phase(layer: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a layer's call, with the learning phase that the program set, if the layer asks for it."""
    if PHASE.get() is None or not asks_for_the_phase(layer, args, kwargs):
        return kwargs
    return {**kwargs, "training": bool(PHASE.get())}
