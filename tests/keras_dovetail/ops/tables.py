"""The sample calls of all modules together."""

from __future__ import annotations

from tests.keras_dovetail.ops import image_calls, math_calls, nn_calls, numpy_calls, rnn_calls
from tests.keras_dovetail.ops.calls import identified

MODULES = ("numpy", "nn", "math", "linalg", "image", "random", "rnn")
TABLE = identified([*numpy_calls.CALLS, *nn_calls.CALLS, *math_calls.CALLS, *rnn_calls.CALLS, *image_calls.CALLS])
EVERY = {"numpy": 1, "torch": 3, "jax": 40}  # engine → n; each nth call runs


def sample(every: int) -> list[str]:
    return list(TABLE)[::every]
