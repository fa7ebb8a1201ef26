"""TensorShape: the shape of a tensor, a tuple with the methods that programs for TensorFlow call on shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from dovetail.core.base.dimension import Size, dimension, plain
from dovetail.core.base.hooks import hooks


class TensorShape(tuple[Any, ...]):
    """Dimensions, with None for unknown ones.  A list, and for one axis a number, may be equal; sums are shapes.

    It is a tuple in all other ways.

    Source: `tf.TensorShape`.

    Example:
        >>> shape = TensorShape((None, 3))
        >>> shape, shape.as_list(), shape.ndims, shape[1:].is_fully_defined()
        ((None, 3), [None, 3], 2, True)
        >>> shape == [None, 3], [2] + shape[1:]
        (True, (2, 3))
    """

    __slots__ = ()
    __hash__ = tuple.__hash__
    has_old_dimensions = False  # whether its dimensions are those of TensorFlow 1

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, int)):
            other = tuple(map(plain, other if isinstance(other, list) else [other]))
        return tuple.__eq__(self, None if isinstance(other, UnknownShape) else other)

    def __ne__(self, other: object) -> bool:
        is_equal = self.__eq__(other)
        return is_equal if is_equal is NotImplemented else not is_equal

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        other = given_shape(other)
        known = None not in (self.rank, other.rank)
        return self._made((*other.as_list(), *self.as_list()) if known else None)

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
        other = given_shape(other)
        if other.rank is None or self.rank is None:
            return self if other.rank is None else self._made(other)
        pairs = list(zip(self.as_list(), other, strict=False))
        if len(self) != len(other) or any(None not in (a, b) and a != b for a, b in pairs):
            raise ValueError(f"Shapes {self} and {other} are incompatible: no tensor has both.")
        return self._made(b if a is None else a for a, b in pairs)

    def is_subtype_of(self, other: Any) -> bool:
        """Whether each tensor of this shape has the other shape, too, in which None is any dimension, or any shape."""
        if not isinstance(other, TensorShape) or other.rank is None:
            return isinstance(other, TensorShape)
        return self.rank == other.rank and all(
            b in (None, a) for a, b in zip(self.as_list(), other.as_list(), strict=True)
        )

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The shape with the dimensions that both have alike, and None for others; unknown if the ranks differ.

        Example:
            >>> TensorShape((2, 3)).most_specific_compatible_shape((5, 3))
            (None, 3)
        """
        other = given_shape(other)
        if self.rank is None or self.rank != other.rank:
            return self._made(None)
        return self._made(a if a == b else None for a, b in zip(self.as_list(), other.as_list(), strict=True))

    def most_specific_common_supertype(self, others: Iterable[Any]) -> TensorShape | None:
        """`most_specific_compatible_shape` of this shape and all others; None if one of these is no `TensorShape`."""
        others = list(others)
        if not all(isinstance(other, TensorShape) for other in others):
            return None
        return reduce(TensorShape.most_specific_compatible_shape, others, self)

    @property
    def dims(self) -> list[Any] | None:
        """The dimensions in a list, with a `value` each; None if not even the rank is known."""
        return None if self.rank is None else list(map(dimension, self))

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of both, one behind the other; the rank is unknown if one of the ranks is."""
        other = given_shape(other)
        known = None not in (self.rank, other.rank)
        return self._made((*self.as_list(), *other.as_list()) if known else None)

    def with_rank(self, rank: int | None) -> TensorShape:
        """The shape, with this many axes if its rank is unknown.

        Raises:
            ValueError: it has another number of axes.
        """
        return self.merge_with(None if rank is None else [None] * rank)

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

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError if the other shape has another number of axes."""
        self.with_rank(given_shape(other).rank)

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the shape cannot have this many axes."""
        self.with_rank(rank)

    def __getitem__(self, place: Any) -> Any:
        dims = tuple.__getitem__(self, place)
        if type(place) is slice:
            return type(self)(dims)
        return dims if dims is None else Size(dims)

    def _made(self, dims: Iterable[Any] | None) -> TensorShape:
        """Another shape of this kind."""
        return UNKNOWN if dims is None else type(self)(dims)


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

    def __contains__(self, dim: object) -> bool:
        return self._needs_rank()

    def __getitem__(self, place: Any) -> Any:
        """One dimension is unknown, and so is the rank of a slice without a number of dimensions as its end."""
        if type(place) is not slice:
            return None
        if place.step is not None:
            self._needs_rank()
        start, stop = place.start or 0, place.stop
        return UNKNOWN if stop is None or min(start, stop) < 0 else TensorShape([None] * (stop - start))

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, UnknownShape)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(None)

    def __str__(self) -> str:
        return "<unknown>"

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def _made(self, dims: Iterable[Any] | None) -> TensorShape:
        return shape_of(dims)

    def _needs_rank(self) -> Any:
        raise ValueError("the rank of the shape is not known; give it with set_shape, or reshape the tensor.")


UNKNOWN = UnknownShape()


def shape_of(dims: Iterable[Any] | None) -> TensorShape:
    """Dimensions as a `TensorShape`; None gives the shape of unknown rank."""
    if isinstance(dims, TensorShape) and not dims.has_old_dimensions:
        return dims
    return UNKNOWN if dims is None else TensorShape(map(plain, dims))


def given_shape(dims: Any) -> TensorShape:
    """A shape that a program gives: another shape, ints and None, one int, a `TensorShapeProto`, or None.

    Raises:
        TypeError: a dimension is no int, nor a whole float, as TensorFlow 1's programs give.
        ValueError: a dimension is negative.
    """
    if isinstance(dims, TensorShape) or dims is None:
        return shape_of(dims)
    if hasattr(dims, "unknown_rank"):
        return UNKNOWN if dims.unknown_rank else TensorShape(None if dim.size == -1 else dim.size for dim in dims.dim)
    return TensorShape(map(_given_dimension, dims if hasattr(dims, "__iter__") else [dims]))


def _given_dimension(given: Any) -> int | None:
    size = plain(dimension(given))
    if size is not None and size < 0:
        raise ValueError(f"a dimension must be 0 or more, or None if it is unknown, not {given!r}.")
    return size
