"""Values that are known while Python runs, for checks that a graph cannot make."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.engines import owner_of_type
from dovetail.ops.worlds import EAGER, HOST, NATIVE, STATE, world_of
from dovetail.tensor import records_variables


def known_value(x: Any) -> np.ndarray | None:
    """The value of a tensor as an array; None if it is not known yet, as in a graph or an engine's own tracing."""
    world = world_of(x)
    if world is STATE and not records_variables():
        x, world = x.read(), EAGER
    if world is EAGER:
        return x._engine.to_numpy(x._value)
    if world is HOST:
        return np.asarray(x)
    if world is NATIVE:
        try:
            return owner_of_type(type(x)).to_numpy(x)
        except Exception:  # what libraries raise of values that they are tracing has no common type
            return None
    return None
