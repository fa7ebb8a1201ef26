"""Dimensions that a library does not know yet, in shapes that it traces symbolically.

`jax.export` and `torch.export` trace so for batches of any size.  An array cannot hold a symbolic dimension, but
programs may compute other shapes from it.  So integer arithmetic on shapes gives `Dimensions` while it can.  Any other
op gets an array instead, whose numbers are known when the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from dovetail.core.base.table import OPS
from dovetail.core.dtypes import DType, native_to_dtype
from dovetail.core.rules import Rule
from dovetail.core.tensor import Operators
from dovetail.core.values.infer import CARRIES_NAN
from dovetail.engines.numpy import rules as numpy_rules


class Dimensions(Operators):
    """An integer array of which some elements are symbolic dimensions; each library has a class of its own.

    Attributes:
        symbolic: the library's type of a symbolic dimension.
        array: the elements, as ints and symbolic dimensions.
    """

    symbolic: ClassVar[type]
    dtype: Any = np.dtype("int32")

    def __init__(self, elements: Any) -> None:
        self.array = np.asarray(elements, object)

    def native(self) -> Any:
        """The library's array, which has numbers when the program runs."""
        raise NotImplementedError

    @classmethod
    def of_shape(cls, shape: Any) -> Any:
        """A shape as an integer array: one of NumPy, or `Dimensions`.

        A value that a library traces has no number, even if it is a constant.  But the numbers of shapes are known, and
        further shapes follow from them.
        """
        return cls(shape) if any(isinstance(dim, cls.symbolic) for dim in shape) else np.array(shape, np.int32)

    @classmethod
    def wrap(cls, value: Any) -> Any:
        """A single symbolic dimension as `Dimensions`; other values themselves."""
        return cls(value) if isinstance(value, cls.symbolic) else value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def __iter__(self) -> Iterator[Dimensions]:
        return map(type(self), self.array)

    def tolist(self) -> Any:
        """The elements as ints and symbolic dimensions, in nested lists."""
        return self.array.tolist()

    def __len__(self) -> int:
        return len(self.array)

    def __index__(self) -> int:
        return int(self.array)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Dimensions({self.tolist()})"


class OnDimensions:
    """The part of an engine for its users' own values, whose shapes may have unknown dimensions.

    Attributes:
        dimensions: the library's class of `Dimensions`.
    """

    dimensions: ClassVar[type[Dimensions]]

    def shape(self, value: Any) -> Any:
        if isinstance(value, self.dimensions.symbolic):
            return ()
        shape = value.shape
        return shape if {*map(type, shape)} <= {int} else tuple(dim if type(dim) is int else None for dim in shape)

    def dtype(self, value: Any) -> DType:
        return native_to_dtype(self.dimensions.wrap(value).dtype)

    def to_ints(self, value: Any) -> Any:
        value = self.dimensions.wrap(value)
        if not isinstance(value, Dimensions):
            return super().to_ints(value)  # type: ignore[misc]  # of the engine
        return tuple(dim if type(dim) is int else type(value)(dim) for dim in value.array.reshape(-1).tolist())


def with_dimensions(name: str, rule: Rule, kind: type[Dimensions]) -> Rule:
    """A rule that also takes `Dimensions` of a library, and gives them where it can."""
    may_have = {kind, kind.symbolic, list, tuple}

    def run(*args: Any) -> Any:
        if may_have.isdisjoint(map(type, args)):
            return rule(*args)
        args = tuple(map(kind.wrap, args))
        if not any(map(_has_dimensions, args)):
            return rule(*args)
        shapes = OPS[name].ints_positions
        args = tuple(_as_shape(a) if i in shapes else a for i, a in enumerate(args))
        if name in CARRIES_NAN:
            try:
                return kind(_on_elements(name, list(map(_elements, args))))
            except (TypeError, ValueError, RuntimeError):  # an undecided comparison, or an array without integers
                pass
        return rule(*map(_as_array, args))

    return run


def _has_dimensions(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(isinstance(v, Dimensions) for v in value)
    return isinstance(value, Dimensions)


def _as_shape(value: Any) -> Any:
    """A shape as the library takes it: ints and symbolic dimensions."""
    if type(value) not in (list, tuple):
        return value
    return tuple(v.tolist() if isinstance(v, Dimensions) else v for v in value)


_REDUCTIONS: dict[str, Any] = {"Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min}


def _on_elements(name: str, values: Sequence[Any]) -> Any:
    """The result of an op of `CARRIES_NAN` on integers, of which some are symbolic, element by element.

    Args:
        name: the op.
        values: its arguments, the tensors among them as arrays of objects.

    Raises:
        TypeError, ValueError: a comparison is not decided, or the numbers become no integers.
    """
    if name == "Cast" and not values[1].is_integer:
        raise TypeError("only integers can be symbolic.")
    if name in ("Identity", "Cast"):
        return values[0]
    if name in _REDUCTIONS:
        x, axis, keepdims = values
        return _REDUCTIONS[name](x, axis=axis, keepdims=keepdims)
    return numpy_rules[name](*values)


def _elements(value: Any) -> Any:
    if type(value) is list:
        return [_elements(v) for v in value]
    if isinstance(value, Dimensions):
        return value.array
    return np.asarray(value).astype(object) if hasattr(value, "dtype") else value


def _as_array(value: Any) -> Any:
    if type(value) is list:
        return [_as_array(v) for v in value]
    return value.native() if isinstance(value, Dimensions) else value
