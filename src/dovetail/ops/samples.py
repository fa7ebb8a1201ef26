"""Example calls of ops: the table from which the test suite is generated.

A sample describes arrays rather than holding them (`array(2, 3, low=-1)`), so importing ops costs nothing and the tests
draw the numbers from a printed seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Array:
    """An array to draw: uniform in [low, high), of a dtype, all elements at least `gap` apart if a gap is given."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = "float32"
    gap: float = 0.0
    kind: str = "uniform"  # or "spd": Hermitian positive definite; "triangular": lower, with a dominant diagonal

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the array from a random generator."""
        return _DRAW[self.kind](self, rng)


def _uniform(a: Array, rng: np.random.Generator) -> np.ndarray:
    if a.dtype == "bool":
        return rng.random(a.shape) < 0.5
    if "int" in a.dtype:
        return rng.integers(int(a.low), int(a.high), a.shape).astype(a.dtype)
    values: np.ndarray = rng.uniform(a.low, a.high, a.shape)
    if a.gap:
        order = rng.permutation(values.size).reshape(a.shape)
        values = a.low + (order + 0.5) * max(a.gap, (a.high - a.low) / max(values.size, 1))
    if a.dtype.startswith("complex"):
        values = values + 1j * rng.uniform(a.low, a.high, a.shape)
    return np.asarray(values).astype(a.dtype)


def _normal(a: Array, rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=a.shape)
    return values + 1j * rng.normal(size=a.shape) if a.dtype.startswith("complex") else values


def _spd(a: Array, rng: np.random.Generator) -> np.ndarray:
    m = _normal(a, rng)
    return (m @ np.swapaxes(m.conj(), -1, -2) + a.shape[-1] * np.eye(a.shape[-1])).astype(a.dtype)


def _triangular(a: Array, rng: np.random.Generator) -> np.ndarray:
    return np.tril(_normal(a, rng) * 0.5 + 2 * np.eye(a.shape[-1])).astype(a.dtype)


_DRAW = {"uniform": _uniform, "spd": _spd, "triangular": _triangular}


@dataclass(frozen=True)
class Sample:
    """One example call.

    Attributes:
        args, kwargs: the arguments; every `Array` in them (also in lists) is drawn.
        gradient: whether the gradient with respect to the float arrays is checked by finite differences.
        tolerance: the relative difference allowed between engines, in float32.
        dynamic: whether the result's shape depends on values, so that engines with static shapes refuse to compile it.
        known: whether the gradient exists for some dimensions only, which must be known.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    gradient: bool = True
    tolerance: float = 1e-5
    dynamic: bool = False
    known: bool = False


def array(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float32", gap: float = 0.0) -> Array:
    """Floats, uniform in [low, high)."""
    return Array(shape, low, high, dtype, gap)


def ints(*shape: int, low: int = 0, high: int = 5, dtype: str = "int32") -> Array:
    """Integers in [low, high)."""
    return Array(shape, low, high, dtype)


def bools(*shape: int) -> Array:
    return Array(shape, dtype="bool")


def spd(*shape: int) -> Array:
    """Symmetric positive definite matrices."""
    return Array(shape, kind="spd")


def triangular(*shape: int) -> Array:
    """Well-conditioned lower triangular matrices."""
    return Array(shape, kind="triangular")


def sample(
    *args: Any,
    gradient: bool = True,
    tolerance: float = 1e-5,
    dynamic: bool = False,
    known: bool = False,
    **kwargs: Any,
) -> Sample:
    """One example call of an op; see `Sample`."""
    return Sample(args, kwargs, gradient, tolerance, dynamic, known)


def unary(low: float = -2.0, high: float = 2.0, **options: Any) -> list[Sample]:
    """Calls of an elementwise op of one tensor: a matrix, a scalar, an empty tensor."""
    return [sample(array(*shape, low=low, high=high), **options) for shape in ((2, 3), (), (0, 3))]


def binary(low: float = -2.0, high: float = 2.0, dtype: str = "float32", **options: Any) -> list[Sample]:
    """Calls of an elementwise op of two tensors: equal shapes, broadcasting both ways, scalars, empty ones."""
    pairs = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((), ()), ((0, 3), (3,)))
    return [
        sample(array(*a, low=low, high=high, dtype=dtype), array(*b, low=low, high=high, dtype=dtype), **options)
        for a, b in pairs
    ]
