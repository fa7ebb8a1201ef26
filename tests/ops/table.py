"""The op table as test cases: drawing samples, running them, and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

import dovetail as dt
from dovetail.ops.op import OPS, Op
from dovetail.ops.samples import Array, Sample

CASES = [(op, i) for op in OPS.values() for i in range(len(op.samples))]


def identifier(value: Any) -> str:
    """How a parameter of a generated test is called."""
    return str(getattr(value, "name", value))


def is_differentiable(op: Op, number: int) -> bool:
    """Whether a sample has real float arguments and results, and a gradient between them."""
    sample = op.samples[number]
    if not sample.gradient or not op.differentiable:
        return False
    args, kwargs = draw(sample, np.random.default_rng(0))
    arrays = float_arrays(args, kwargs)
    with dt.engine("numpy"):
        results = leaves(op(*args, **kwargs))
    return bool(arrays) and all(a.dtype.kind == "f" for a in arrays) and any(r.dtype.is_floating for r in results)


def draw(sample: Sample, rng: np.random.Generator, dtype: str | None = None) -> tuple[list[Any], dict[str, Any]]:
    """The sample's arguments with every `Array` drawn; float arrays in `dtype` if one is given."""

    def fill(value: Any) -> Any:
        if isinstance(value, Array):
            array = value.draw(rng)
            return array.astype(dtype) if dtype and value.dtype == "float32" else array
        if isinstance(value, list):
            return [fill(v) for v in value]
        return value

    return [fill(a) for a in sample.args], {k: fill(v) for k, v in sample.kwargs.items()}


def leaves(value: Any) -> list[Any]:
    """The results of a call as a flat list."""
    return list(value) if isinstance(value, tuple) else [value]


def float_arrays(args: list[Any], kwargs: dict[str, Any]) -> list[np.ndarray]:
    """The float arrays among arguments, also in lists."""
    found: list[np.ndarray] = []
    for value in [*args, *kwargs.values()]:
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, np.ndarray) and item.dtype.kind in "fc":
                found.append(item)
    return found


def replace_arrays(args: list[Any], kwargs: dict[str, Any], new: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with their float arrays replaced, in the order of `float_arrays`."""
    values = iter(new)

    def swap(value: Any) -> Any:
        if isinstance(value, list):
            return [swap(v) for v in value]
        return next(values) if isinstance(value, np.ndarray) and value.dtype.kind in "fc" else value

    return [swap(a) for a in args], {k: swap(v) for k, v in kwargs.items()}


def projected(op: Op, args: list[Any], kwargs: dict[str, Any], weights: list[np.ndarray]) -> Any:
    """The op's float results, weighted and summed to one number: what is differentiated."""
    results = [r for r in leaves(op(*args, **kwargs)) if r.dtype.is_floating]
    total = 0
    for result, weight in zip(results, weights, strict=True):
        total = total + dt.ops.sum(result * weight)
    return total


def finite_differences(function: Any, arrays: list[np.ndarray], step: float = 1e-6) -> list[np.ndarray]:
    """Central differences of a number-valued function of float64 arrays."""
    gradients = []
    for which, array in enumerate(arrays):
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            values = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[which][index] += sign * step
                values.append(function(moved))
            gradient[index] = (values[0] - values[1]) / (2 * step)
        gradients.append(gradient)
    return gradients
