"""Integers in functions whose ops know floats alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.dtypes import promote
from dovetail.core.value_kinds import dtype_of


def in_integers(compute: Callable[..., Any], *tensors: Any) -> Any:
    """What is computed of tensors; where all are of integers, so is the result, as it is of TensorFlow's kernels.

    It is right as long as no number has more than the 53 bits of a float64.
    """
    dtype = promote(map(dtype_of, tensors))
    if not dtype.is_integer:
        return compute(*tensors)
    return ops.cast(compute(*(ops.cast(t, "float64") for t in tensors)), dtype)
