"""The profiler of Keras' TensorBoard callback, which the backend lacks: `profile_batch` must be 0."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*args: Any) -> NoReturn:
    raise NotImplementedError("the dovetail backend does not profile for TensorBoard; pass profile_batch=0.")


start_trace = stop_trace = start_batch_trace = stop_batch_trace = _refuse
