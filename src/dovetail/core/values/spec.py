"""TensorSpec: a shape and a dtype, with None for unknown dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.core.base.dimension import plain
from dovetail.core.base.errors import annotate, describe
from dovetail.core.dtypes import DType, as_dtype
from dovetail.core.values.structure import leaf

Shape = tuple[int | None, ...] | None  # None: not even the rank is known
Ints = tuple[int | None, ...] | None  # integers, with None for unknown ones; None: not even their number


@leaf
@dataclass(slots=True, unsafe_hash=True, repr=False)
class TensorSpec:
    """The shape and dtype of a tensor before it has a value; maybe a name, which two equal specs need not share.

    Example:
        >>> spec((None, 3))
        float32[?,3]
    """

    shape: Shape
    dtype: DType
    name: str | None = field(default=None, compare=False)

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return self.shape is not None and None not in self.shape

    @property
    def nbytes(self) -> int | None:
        """The bytes of the tensor's numbers; None if a dimension is unknown.

        Example:
            >>> spec((2, 3)).nbytes
            24
        """
        if self.shape is None or None in self.shape:
            return None
        return math.prod(self.shape) * self.dtype.itemsize  # type: ignore[arg-type]

    def __repr__(self) -> str:
        dims = "..." if self.shape is None else ",".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.dtype.name}[{dims}]"


if TYPE_CHECKING:

    class RankedSpec(TensorSpec):
        """A `TensorSpec` of known rank, as type rules get it."""

        shape: tuple[int | None, ...]
else:
    RankedSpec = TensorSpec


def spec(shape: Any, dtype: Any = "float32", name: str | None = None) -> TensorSpec:
    """A `TensorSpec`, for placeholders and input signatures.

    Args:
        shape: ints, with None for unknown dimensions; None if not even the rank is known.
        dtype: anything that names a dtype.
        name: the name of the input of a function that is traced for it; one that no operation can have is left out.

    Raises:
        TypeError: a dimension is no integer, or the dtype is none.
        ValueError: a dimension is negative.

    Example:
        >>> spec((None, 3)), spec(None, "int32")
        (float32[?,3], int32[...])
    """
    try:
        if isinstance(shape, str):
            raise TypeError(f"the shape comes first, and {shape!r} is none: write dt.spec((None, 3), {shape!r}).")
        dims = None if shape is None else tuple(_dimension(plain(dim)) for dim in shape)
        return TensorSpec(dims, as_dtype(dtype), name)
    except (TypeError, ValueError) as error:
        annotate(error, "spec", lambda: f"shape={describe(shape)}, dtype={describe(dtype)}")
        raise


def _dimension(dim: Any) -> int | None:
    if dim is None:
        return None
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"a dimension must be an int or None, not {describe(dim)}.")
    if dim < 0:
        raise ValueError(f"a dimension must be 0 or more, or None, not {dim}.")
    return int(dim)
