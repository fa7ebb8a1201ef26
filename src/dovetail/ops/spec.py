"""TensorSpec: a shape and a dtype, with None for the dimensions that are not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.dtypes import DType, as_dtype

Shape = tuple[int | None, ...] | None  # None: not even the rank is known


@dataclass(slots=True, unsafe_hash=True, repr=False)
class TensorSpec:
    """What is known of a tensor before it has a value.

    Example:
        >>> spec((None, 3))
        float32[?,3]
    """

    shape: Shape
    dtype: DType

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return self.shape is not None and None not in self.shape

    def __repr__(self) -> str:
        dims = "..." if self.shape is None else ",".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.dtype.name}[{dims}]"


def spec(shape: Any, dtype: Any = "float32") -> TensorSpec:
    """A `TensorSpec`, for placeholders and input signatures.

    Args:
        shape: ints, with None for dimensions that are not known; None if not even the rank is.
        dtype: anything that names a dtype.

    Example:
        >>> spec((None, 3)), spec(None, "int32")
        (float32[?,3], int32[...])
    """
    return TensorSpec(None if shape is None else tuple(shape), as_dtype(dtype))
