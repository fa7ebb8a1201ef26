"""Dimensions as TensorFlow 1 has them: numbers with `value`, which is None if the dimension is not known."""

from __future__ import annotations

from typing import Any


class Dimension(int):
    """A known dimension: an int.  Sums, products and quotients of dimensions are dimensions, too.

    Source: `tf.compat.v1.Dimension`.

    Example:
        >>> (Dimension(3) * 4).value, Dimension(3) + UNKNOWN_DIMENSION
        (12, Dimension(None))
    """

    __slots__ = ()

    @property
    def value(self) -> int:
        """The number as a plain int."""
        return int(self)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether another dimension may be the same number."""
        return plain(other) in (None, self.value)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError if `is_compatible_with` is false."""
        self.merge_with(other)

    def merge_with(self, other: Any) -> Dimension:
        """This dimension, which must be the other one, too, if that is known.

        Raises:
            ValueError: the other one is another number.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"no tensor has both the dimension {self} and the dimension {other}.")
        return self

    def __str__(self) -> str:
        return int.__repr__(self)

    def __repr__(self) -> str:
        return f"Dimension({self})"


class Size(Dimension):
    """A known dimension that prints as a number.

    Example:
        >>> Size(3), Size(3).value + 1
        (3, 4)
    """

    __slots__ = ()
    __repr__ = int.__repr__


class UnknownDimension:
    """A dimension that is not known; neither are sums with it, and comparisons with it give None."""

    value = None

    def is_compatible_with(self, other: Any) -> bool:
        """True: it may be any number."""
        return True

    def assert_is_compatible_with(self, other: Any) -> None:
        """Do nothing: it may be any number."""

    def merge_with(self, other: Any) -> Dimension | UnknownDimension:
        """The other dimension."""
        return dimension(other)

    def __str__(self) -> str:
        return "?"

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __bool__(self) -> bool:
        return False

    def __hash__(self) -> int:
        return hash(None)


UNKNOWN_DIMENSION = UnknownDimension()


def dimension(value: Any) -> Dimension | UnknownDimension:
    """A dimension of TensorFlow 1: of an int or a whole float, of None, or of another dimension.

    Raises:
        TypeError: the value is no number, or not whole.
    """
    number = plain(value)
    if number is None:
        return UNKNOWN_DIMENSION
    if not hasattr(number, "__index__") and not (hasattr(number, "is_integer") and number.is_integer()):
        raise TypeError(f"a dimension must be an int or None, not {value!r}.")
    return Dimension(number)


def plain(dim: Any) -> Any:
    """A dimension as an int or None; any other value itself."""
    return dim.value if isinstance(dim, (Dimension, UnknownDimension)) else dim


def _declare(name: str) -> None:
    compute = getattr(int, name)

    def calculate(self: Dimension, other: Any) -> Any:
        if other is None:
            return UNKNOWN_DIMENSION
        extent = compute(self, other)
        return extent if extent is NotImplemented else type(self)(extent)

    setattr(Dimension, name, calculate)
    setattr(UnknownDimension, name, lambda self, other: self)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _declare(f"__{_name}__")
    _declare(f"__r{_name}__")
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(UnknownDimension, f"__{_name}__", lambda self, other: None)
