"""The form of the tables of sample calls: each call runs on Keras' numpy backend, and on Dovetail's engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Call:
    """A call of a backend's function, and the properties of its results that must equal Keras' numpy backend's."""

    module: str
    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    same_dtype: bool = True  # else Keras' backends differ from each other
    tolerance: float = 2e-5
    version: str | None = None  # the one tested version of Keras that takes these arguments; None for all


def floats(*shape: int, low: float = -2, high: float = 2, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng([7, *shape]).uniform(low, high, shape).astype(dtype)


def ints(*shape: int, low: int = 0, high: int = 5, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng([8, *shape]).integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    return np.random.default_rng([9, *shape]).integers(0, 2, shape).astype(bool)


def identified(calls: list[Call]) -> dict[str, Call]:
    """The calls by names, made of the function's name and the call's number."""
    counts: dict[str, int] = {}
    found = {}
    for call in calls:
        full = f"{call.module}.{call.name}"
        counts[full] = counts.get(full, 0) + 1
        found[f"{full}-{counts[full]}"] = call
    return found
