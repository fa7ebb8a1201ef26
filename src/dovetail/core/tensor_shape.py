"""TensorShape: the shape of a tensor, a tuple with the methods that programs for TensorFlow call on shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import index
from typing import Any

from dovetail.core.dimension import UNKNOWN_DIMENSION, Size, dimension, plain
from dovetail.core.hooks import hooks


class TensorShape(tuple[Any, ...]):
    """Dimensions, with None for unknown ones; a tuple in all other ways.

    Source: `tf.TensorShape`.

    Example:
        >>> shape = TensorShape((None, 3))
        >>> shape, shape.as_list(), shape.ndims, shape[1:].is_fully_defined()
        ((None, 3), [None, 3], 2, True)
    """

    __slots__ = ()

    @property
    def rank(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return len(self)

    @property
    def ndims(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return self.rank

    def as_list(self) -> list[int | None]:
        """The dimensions in a list.

        Raises:
            ValueError: not even the rank is known.
        """
        return list(map(plain, self))

    def num_elements(self) -> int | None:
        """The number of elements; None if it is unknown."""
        if not self.is_fully_defined():
            return None
        return math.prod(self.as_list())  # type: ignore[arg-type]

    def as_proto(self) -> Any:
        """The shape as TensorFlow's message `TensorShapeProto`.

        Raises:
            ImportError: the extra `formats` is not installed.

        Source: `tf.TensorShape.as_proto`.
        """
        return hooks.shape_proto(None if self.rank is None else self.as_list())

    def is_fully_defined(self) -> bool:
        """Whether each dimension is known."""
        return None not in self

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be the shape of one tensor: None is any dimension, or any shape."""
        try:
            self.merge_with(other)
        except ValueError:
            return False
        return True

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError if `is_compatible_with` is false."""
        self.merge_with(other)

    def merge_with(self, other: Any) -> TensorShape:
        """The shape of one tensor that has both shapes, with the dimensions known from either.

        Raises:
            ValueError: no tensor has both shapes.

        Example:
            >>> TensorShape((None, 3)).merge_with((2, None))
            (2, 3)
        """
        other = shape_of(other if other is None else [dim if dim is None else index(dim) for dim in map(plain, other)])
        if other.rank is None or self.rank is None:
            return self if other.rank is None else other
        pairs = list(zip(self.as_list(), other, strict=False))
        if len(self) != len(other) or any(None not in (a, b) and a != b for a, b in pairs):
            raise ValueError(f"Shapes {self} and {other} are incompatible: no tensor has both.")
        return type(self)(b if a is None else a for a, b in pairs)

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions in a list, with a `value` each; None if not even the rank is known."""
        return None if self.rank is None else list(map(dimension, self))

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of both, one behind the other; the rank is unknown if one of the ranks is."""
        other = shape_of(other)
        known = self.rank is not None and other.rank is not None
        return type(self)((*self.as_list(), *other.as_list())) if known else UNKNOWN

    def with_rank(self, rank: int) -> TensorShape:
        """The shape, with this many axes if its rank is unknown.

        Raises:
            ValueError: it has another number of axes.
        """
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The shape, which must not have fewer axes.

        Raises:
            ValueError: it has fewer.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"the shape {self} must have {rank} axes or more.")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The shape, which must not have more axes.

        Raises:
            ValueError: it has more.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"the shape {self} must have {rank} axes or fewer.")
        return self

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError if a dimension is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"each dimension of the shape {self} must be known.")

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the shape cannot have this many axes."""
        self.with_rank(rank)

    def __getitem__(self, place: Any) -> Any:
        found = tuple.__getitem__(self, place)
        if type(place) is slice:
            return type(self)(found)
        return found if found is None else Size(found)


class ComparedShape(TensorShape):
    """A shape as programs of TensorFlow compare and print it: a list, and for one axis a number, may be equal.

    Example:
        >>> shape = ComparedShape((None, 3))
        >>> shape == [None, 3], shape != [2, 3], ComparedShape((3,)) == 3, shape
        (True, True, True, TensorShape([None, 3]))
    """

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        other = [other] if isinstance(other, int) else other
        return tuple.__eq__(self, tuple(map(plain, other)) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __str__(self) -> str:
        return f"({', '.join(map(str, self))}{',' if len(self) == 1 else ''})"

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"


class OldShape(ComparedShape):
    """A shape as TensorFlow 1 has it: unknown dimensions, too, have a `value`.

    Example:
        >>> shape = OldShape((None, 3))
        >>> [dim.value for dim in shape], shape, str(shape)
        ([None, 3], TensorShape([Dimension(None), Dimension(3)]), '(?, 3)')
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return map(dimension, tuple.__iter__(self))

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) if type(place) is slice else dimension(tuple.__getitem__(self, place))


class UnknownShape(TensorShape):
    """The shape of unknown rank; methods that need the rank raise ValueError."""

    __slots__ = ()

    @property
    def rank(self) -> None:
        return None

    def is_fully_defined(self) -> bool:
        return False

    def as_list(self) -> list[int | None]:
        return self._needs_rank()

    def __iter__(self) -> Iterator[Any]:
        return self._needs_rank()

    def __len__(self) -> int:
        return self._needs_rank()

    def __getitem__(self, place: Any) -> Any:
        return self._needs_rank()

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, UnknownShape)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(None)

    def __repr__(self) -> str:
        return "<unknown>"

    def _needs_rank(self) -> Any:
        raise ValueError("the rank of the shape is not known; give it with set_shape, or reshape the tensor.")


class OldUnknownShape(UnknownShape):
    """The shape of unknown rank as TensorFlow 1 has it: each dimension is unknown."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        return self if type(place) is slice else UNKNOWN_DIMENSION

    def merge_with(self, other: Any) -> TensorShape:
        return old_shape(super().merge_with(other))


UNKNOWN, OLD_UNKNOWN = UnknownShape(), OldUnknownShape()


def shape_of(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions as a `TensorShape`; None gives the shape of unknown rank."""
    if isinstance(dims, TensorShape) and type(dims) is not OldShape:
        return dims
    return UNKNOWN if dims is None else TensorShape(map(plain, dims))


def old_shape(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions as a shape of TensorFlow 1; None gives its shape of unknown rank."""
    shape = shape_of(dims)
    return OLD_UNKNOWN if shape.rank is None else OldShape(shape)


def compared_shape(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions, which stay numbers and None, as a shape that lists and numbers may equal."""
    shape = shape_of(dims)
    return shape if shape.rank is None else ComparedShape(shape)
