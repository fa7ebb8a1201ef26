"""The sample calls of all modules together, and the functions that one of the tested versions of Keras lacks."""

from __future__ import annotations

from tests.keras_dovetail.ops import image_calls, math_calls, nn_calls, numpy_calls, rnn_calls
from tests.keras_dovetail.ops.calls import Call, identified
from tests.libraries import version_of_keras

MODULES = ("numpy", "nn", "math", "linalg", "image", "random", "rnn")
TABLE = identified([*numpy_calls.CALLS, *nn_calls.CALLS, *math_calls.CALLS, *rnn_calls.CALLS, *image_calls.CALLS])
EVERY = {"numpy": 1, "torch": 3, "jax": 40, "tensorflow": 40}  # engine → n; each nth call runs

# Functions that only one of the tested versions of Keras has in its backends, and parameters of functions.
FUNCTIONS = {
    **dict.fromkeys(("amax", "amin"), "3.15"),
    **dict.fromkeys(("column_stack", "copysign", "cov", "float_power", "gammainc", "grad", "lgamma"), "3.16"),
    "matrix_power": "3.16",
}
PARAMETERS = {("top_k", "is_stable"): "3.16"}


def is_there(version: str | None) -> bool:
    """Whether what belongs to a version of Keras, or to all if that is None, belongs to the installed one."""
    return version is None or version_of_keras().startswith(f"{version}.")


def has(call: Call) -> bool:
    """Whether the installed Keras can do a sample call."""
    return is_there(call.version) and is_there(FUNCTIONS.get(call.name))


def sample(every: int) -> list[str]:
    return [name for name, call in TABLE.items() if has(call)][::every]
