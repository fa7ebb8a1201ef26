"""Facts that are known while Python runs: values, for checks that a graph cannot make, and whether Keras runs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dovetail.core.values.value_kinds import kind_of
from dovetail.interop.privates import PRIVATES

_STATE = PRIVATES["global_state"]


def known_value(x: Any) -> np.ndarray | None:
    """The value of a tensor as an array; None if it is not known yet, as in a graph or an engine's own tracing."""
    return kind_of(x).known(x)


def running_keras() -> Any:
    """The module of a stock Keras 3, if the program has imported it; else None."""
    return sys.modules.get("keras") if "dovetail.interop.keras.stock" in sys.modules else None


def running_layer() -> Any:
    """Keras 3's context of the running layer's call; None if no layer runs."""
    state = sys.modules.get(_STATE)
    return state and getattr(state.GLOBAL_STATE_TRACKER, "current_call_ctx", None)


def told_to_layer() -> Any:
    """The `training` argument of the layer of Keras 3 that is running; None if there is none."""
    state = sys.modules.get(_STATE)  # each call of a program asks, so there is no further call here
    context = state and getattr(state.GLOBAL_STATE_TRACKER, "current_call_ctx", None)
    return getattr(context, "training", None)  # Keras 3.16 has it only if it is told


def asks_for_shapes() -> bool:
    """Whether Keras 3 computes only to infer the shapes and dtypes of the results of a layer or a loss."""
    state = sys.modules.get(_STATE)
    return state is not None and state.get_global_attribute("symbolic_scope") is not None


def own(x: Any) -> Any:
    """An argument as a K function may return it: a copy, if it is an engine's own writable array; else itself."""
    return kind_of(x).owned(x)
