"""The op table as test cases: drawing samples, running them, differentiating them, and finite differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.op import Op
from dovetail.ops.samples import Array, Sample

CASES = [(op, i) for op in OPS.values() for i in range(len(op.samples))]


def identifier(value: Any) -> str:
    """The name of a parameter in a generated test's name."""
    return str(getattr(value, "name", value))


@functools.cache
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

    def one(array: Array) -> Any:
        drawn = array.draw(rng)
        return drawn.astype(dtype) if dtype and array.dtype == "float32" else drawn

    return filled(sample.args, one), {k: filled(v, one) for k, v in sample.kwargs.items()}


def filled(value: Any, draw: Callable[[Array], Any]) -> Any:
    """An argument, or a sequence of them, with every `Array` drawn."""
    if isinstance(value, Array):
        return draw(value)
    return [filled(v, draw) for v in value] if isinstance(value, list | tuple) and _holds_arrays(value) else value


def _holds_arrays(value: Any, dtypes: Any = None) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_arrays(v, dtypes) for v in value)
    return isinstance(value, Array) and (dtypes is None or value.dtype in dtypes)


def cases(found: list[tuple[Op, int]]) -> pytest.MarkDecorator:
    """Parameters: an op, and the number of a sample of it."""
    return pytest.mark.parametrize(("op", "number"), found, ids=identifier)


def complex_arguments(op: Op, number: int) -> set[str]:
    """The names of a sample's arguments that may be complex, and have a gradient."""
    sample = op.samples[number]
    if not sample.gradient or not op.differentiable:
        return set()
    takes = [op.params[index].name for index, kind in op.tensor_positions if kind.accepts in _TAKE_COMPLEX]
    given = dict(zip([p.name for p in op.params], sample.args, strict=False)) | sample.kwargs
    return {name for name in takes if name in given and _holds_arrays(given[name], ("float32", "complex64"))}


_TAKE_COMPLEX = ("any", "number", "inexact")


def draw_complex(op: Op, number: int, rng: np.random.Generator) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a sample, complex where they may be, in double precision."""
    sample, names = op.samples[number], complex_arguments(op, number)

    def fill(name: str, value: Any) -> Any:
        kind = "complex128" if name in names else "float64"
        wide = {"float32": kind, "complex64": "complex128"}
        return filled(value, lambda array: replace(array, dtype=wide.get(array.dtype, array.dtype)).draw(rng))

    args = [fill(p.name, value) for p, value in zip(op.params, sample.args, strict=False)]
    return args, {name: fill(name, value) for name, value in sample.kwargs.items()}


def require_shapes(op: Op, number: int) -> None:
    """Skip a test of a sample whose shapes depend on values, if the current engine has to know them."""
    if op.samples[number].dynamic and current_engine().static_shapes:
        pytest.skip("its shapes depend on the values, and the engine has to know them before")


def leaves(value: Any) -> list[Any]:
    """The results of a call as a flat list."""
    return list(value) if isinstance(value, tuple) else [value]


def float_arrays(args: list[Any], kwargs: dict[str, Any]) -> list[np.ndarray]:
    """The float arrays among arguments, also in lists."""
    found: list[np.ndarray] = []
    for value in [*args, *kwargs.values()]:
        for item in value if isinstance(value, list) else [value]:
            if _is_float_array(item):
                found.append(item)
    return found


def _is_float_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and as_dtype(value.dtype).is_differentiable


def replace_arrays(args: list[Any], kwargs: dict[str, Any], new: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with their float arrays replaced, in the order of `float_arrays`."""
    values = iter(new)

    def swap(value: Any) -> Any:
        if isinstance(value, list):
            return [swap(v) for v in value]
        return next(values) if _is_float_array(value) else value

    return [swap(a) for a in args], {k: swap(v) for k, v in kwargs.items()}


class Function:
    """A sample as a function of its float and complex arrays, which is differentiated.

    Attributes:
        arrays: the arrays that were drawn.
        weights: the weight of each element of a result in `value`; some are 0.
        directions: changes of the arrays, for derivatives along them.
    """

    def __init__(self, op: Op, args: list[Any], kwargs: dict[str, Any], rng: np.random.Generator) -> None:
        self._call = op, args, kwargs
        self.arrays = float_arrays(args, kwargs)
        self.directions = [_like(x, rng.normal) for x in self.arrays]
        with dt.engine("numpy"):
            self._point = [r.numpy() for r in self.results(*self.arrays)]
        self.weights = [_like(y, lambda size: rng.uniform(0.5, 1.5, size)) for y in self._point]
        self.weights = [w * (rng.random(w.shape) < 0.8).astype(w.dtype) for w in self.weights]

    def results(self, *new: Any) -> list[Any]:
        """The results that have a gradient."""
        op, args, kwargs = self._call
        moved, named = replace_arrays(args, kwargs, list(new))
        return [r for r in leaves(op(*moved, **named)) if r.dtype.is_differentiable]

    def value(self, *new: Any) -> Any:
        """The real results, weighted and summed to a number."""
        terms = [dt.ops.sum(dt.ops.real(r * w)) for r, w in zip(self.results(*new), self.weights, strict=True)]
        return functools.reduce(dt.ops.add, terms)

    def curved(self, *new: Any) -> Any:
        """Like `value`, plus half the squared distances of the results from the results at the arrays.

        So the second derivative shows how the gradient depends on the incoming gradient, also if that is 0.
        """
        total = dt.ops.zeros((), "float64")
        for result, weight, point in zip(self.results(*new), self.weights, self._point, strict=True):
            finite = np.isfinite(point)
            off = result - np.where(finite, point, 0)
            terms = dt.ops.real(result * weight) + dt.ops.real(off * dt.ops.conj(off)) / 2
            total = total + dt.ops.sum(dt.ops.where(finite, terms, 0))
        return total

    def first(self, *new: Any) -> list[Any]:
        """The gradient."""
        return taped(self.curved, new)

    def second(self, *new: Any) -> list[Any]:
        """The derivative of the gradient along `directions`."""
        return taped(self._slope, new)

    def _slope(self, *new: Any) -> Any:
        pairs = zip(self.first(*new), self.directions, strict=True)
        return functools.reduce(dt.ops.add, [dt.ops.sum(dt.ops.real(g * v.conj())) for g, v in pairs])

    def differences(self) -> list[np.ndarray]:
        """The values of `second`, from differences of the gradient."""
        step = 1e-6
        ahead, behind = (
            self.first(
                *[dt.ops.convert(x + sign * step * v) for x, v in zip(self.arrays, self.directions, strict=True)]
            )
            for sign in (1, -1)
        )
        return [(a.numpy() - b.numpy()) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def _like(x: np.ndarray, draw: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Numbers of the shape and dtype of an array."""
    numbers = draw(size=x.shape) + 1j * draw(size=x.shape) if x.dtype.kind == "c" else draw(size=x.shape)
    return np.asarray(numbers).astype(x.dtype)


def taped(function: Callable[..., Any], arrays: Any) -> list[Any]:
    """The gradient of a number by arrays, on a tape."""
    tensors = [dt.ops.convert(x) for x in arrays]
    with dt.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    found: list[Any] = tape.gradient(y, tensors, unconnected_gradients="zero")
    return found


def unknown_dimensions(arrays: list[np.ndarray]) -> list[Any]:
    """The specs of arrays in which no dimension is known."""
    return [dt.spec([None] * x.ndim, x.dtype) for x in arrays]


def unknown_ranks(arrays: list[np.ndarray]) -> list[Any]:
    """The specs of arrays of unknown rank."""
    return [dt.spec(None, x.dtype) for x in arrays]


def projected(op: Op, args: list[Any], kwargs: dict[str, Any], weights: list[np.ndarray]) -> Any:
    """The op's float results, weighted and summed to one number, which tests differentiate."""
    results = [r for r in leaves(op(*args, **kwargs)) if r.dtype.is_floating]
    total = 0
    for result, weight in zip(results, weights, strict=True):
        total = total + dt.ops.sum(result * weight)
    return total


def finite_differences(function: Any, arrays: list[np.ndarray], step: float = 1e-6) -> list[np.ndarray]:
    """Central differences of a number-valued function of float64 and complex128 arrays.

    For a complex number, they are the difference by the real part, plus i times the difference by the imaginary part.
    """
    gradients = []
    for which, array in enumerate(arrays):
        gradient = np.zeros(array.shape, array.dtype)
        for index in np.ndindex(array.shape):
            for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
                values = []
                for sign in (1, -1):
                    moved = [a.copy() for a in arrays]
                    moved[which][index] += sign * step * unit
                    values.append(function(moved))
                gradient[index] += unit * (values[0] - values[1]) / (2 * step)
        gradients.append(gradient)
    return gradients
