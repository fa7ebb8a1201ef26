"""Old shapes: shapes as TensorFlow 1 has them, whose dimensions are objects, and as its programs print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dovetail.core.base.dimension import UNKNOWN_DIMENSION, dimension
from dovetail.core.base.tensor_shape import TensorShape, UnknownShape, shape_of


class PrintedShape(TensorShape):
    """A shape as programs of TensorFlow print it.

    Example:
        >>> PrintedShape((None, 3))
        TensorShape([None, 3])
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"({', '.join(map(str, self))}{',' if len(self) == 1 else ''})"

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"


class OldShape(PrintedShape):
    """A shape as TensorFlow 1 has it: unknown dimensions, too, have a `value`.

    Example:
        >>> shape = OldShape((None, 3))
        >>> [dim.value for dim in shape], shape, str(shape)
        ([None, 3], TensorShape([Dimension(None), Dimension(3)]), '(?, 3)')
    """

    __slots__ = ()
    has_old_dimensions = True

    def __iter__(self) -> Iterator[Any]:
        return map(dimension, tuple.__iter__(self))

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) if type(place) is slice else dimension(tuple.__getitem__(self, place))

    def _made(self, dims: Iterable[Any] | None) -> TensorShape:
        return old_shape(dims)


class OldUnknownShape(UnknownShape):
    """The shape of unknown rank as TensorFlow 1 has it: each dimension is unknown."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        return old_shape(super().__getitem__(place)) if type(place) is slice else UNKNOWN_DIMENSION

    def _made(self, dims: Iterable[Any] | None) -> TensorShape:
        return old_shape(dims)


OLD_UNKNOWN = OldUnknownShape()


def old_shape(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions as a shape of TensorFlow 1; None gives its shape of unknown rank."""
    shape = shape_of(dims)
    return OLD_UNKNOWN if shape.rank is None else OldShape(shape)


def printed_shape(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions, which stay numbers and None, as a shape that TensorFlow's programs print."""
    shape = shape_of(dims)
    return shape if shape.rank is None else PrintedShape(shape)
