"""Dimensions that JAX does not know yet, in shapes that it traces symbolically.

Keras traces so to infer a layer's output for batches of any size.  An array cannot hold a symbolic dimension, but
programs may compute other shapes from it.  So integer arithmetic on shapes gives `Dimensions` while it can.  Any other
op gets an array instead, whose numbers are known when the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.export
import jax.numpy as jnp
import numpy as np

from dovetail.core.base.table import OPS
from dovetail.core.rules import Rule
from dovetail.core.tensor import Operators
from dovetail.core.values.infer import CARRIES_NAN
from dovetail.engines.numpy import rules as numpy_rules

Dimension = type(jax.export.symbolic_shape("n")[0])


class Dimensions(Operators):
    """An integer array of which some elements are symbolic dimensions.

    Attributes:
        array: the elements, as ints and symbolic dimensions.
    """

    dtype = np.dtype("int32")

    def __init__(self, elements: Any) -> None:
        self.array = np.asarray(elements, object)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def __iter__(self) -> Iterator[Dimensions]:
        return map(Dimensions, self.array)

    def tolist(self) -> Any:
        """The elements as ints and symbolic dimensions, in nested lists."""
        return self.array.tolist()

    def __len__(self) -> int:
        return len(self.array)

    def __index__(self) -> int:
        return int(self.array)

    def __jax_array__(self) -> Any:
        return jnp.array(self.tolist(), self.dtype)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Dimensions({self.tolist()})"


def shape_of(x: Any) -> Any:
    """The shape of a jax array or tracer as an integer array: one of NumPy, or `Dimensions`.

    A value that JAX traces has no number, even if it is a constant.  But the numbers of shapes are known, and further
    shapes follow from them.
    """
    symbolic = any(isinstance(dim, Dimension) for dim in x.shape)
    return Dimensions(x.shape) if symbolic else np.array(x.shape, np.int32)


def known(shape: tuple[Any, ...]) -> tuple[int | None, ...]:
    """A shape with None for its symbolic dimensions."""
    return tuple(None if isinstance(dim, Dimension) else dim for dim in shape)


def as_dimensions(value: Any) -> Any:
    """A single symbolic dimension as `Dimensions`; other values themselves."""
    return Dimensions(value) if isinstance(value, Dimension) else value


_MAY_HAVE = (Dimensions, list, tuple)


def with_dimensions(name: str, rule: Rule) -> Rule:
    """A rule that also takes `Dimensions`, and gives them where it can."""

    def run(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if kinds.isdisjoint(_MAY_HAVE) or not any(map(_has_dimensions, args)):
            return rule(*args)
        shapes = OPS[name].ints_positions
        args = tuple(_as_shape(a) if i in shapes else a for i, a in enumerate(args))
        if name in CARRIES_NAN:
            try:
                return _on_elements(name, args)
            except (TypeError, ValueError):  # an undecided comparison, or numbers that are no integers
                pass
        return rule(*map(_as_array, args))

    return run


def _has_dimensions(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(isinstance(v, Dimensions) for v in value)
    return isinstance(value, Dimensions)


def _as_shape(value: Any) -> Any:
    """A shape as JAX takes it: ints and symbolic dimensions."""
    if type(value) not in (list, tuple):
        return value
    return tuple(v.tolist() if isinstance(v, Dimensions) else v for v in value)


_REDUCTIONS: dict[str, Any] = {"Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min}


def _on_elements(name: str, args: tuple[Any, ...]) -> Any:
    """The result of an integer op on symbolic dimensions, element by element."""
    if name == "Identity" or (name == "Cast" and args[1].is_integer):
        return args[0]
    if name == "Cast":
        raise TypeError("only integers can be symbolic.")
    values = map(_elements, args)
    if name in _REDUCTIONS:
        x, axis, keepdims = values
        return Dimensions(_REDUCTIONS[name](x, axis=axis, keepdims=keepdims))
    return Dimensions(numpy_rules[name](*values))


def _elements(value: Any) -> Any:
    if type(value) is list:
        return [_elements(v) for v in value]
    if isinstance(value, Dimensions):
        return value.array
    return np.asarray(value).astype(object) if hasattr(value, "dtype") else value


def _as_array(value: Any) -> Any:
    if type(value) is list:
        return [_as_array(v) for v in value]
    return value.__jax_array__() if isinstance(value, Dimensions) else value
