"""The sample calls of all modules together."""

from __future__ import annotations

from tests.keras_dovetail.ops import nn_calls, numpy_calls
from tests.keras_dovetail.ops.calls import identified

MODULES = ("numpy", "nn")
TABLE = identified([*numpy_calls.CALLS, *nn_calls.CALLS])
EVERY = {"numpy": 1, "torch": 3, "jax": 40}  # each nth call runs on the engine


def sample(every: int) -> list[str]:
    return list(TABLE)[::every]
