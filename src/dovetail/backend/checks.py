"""Checks of arguments that several functions of K share."""

from __future__ import annotations

from typing import Any


def require_dimensions(shape: Any) -> None:
    """Raise ValueError if a dimension of a new shape is None."""
    if isinstance(shape, (list, tuple)) and any(dim is None for dim in shape):
        raise ValueError(
            f"no dimension of {tuple(shape)} may be None; for a size that only a run knows use K.shape(x)[i]."
        )
