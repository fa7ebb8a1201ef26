"""Integers for functions whose ops take only floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.dtypes import promote
from dovetail.core.value_kinds import dtype_of


def in_integers(compute: Callable[..., Any], *tensors: Any) -> Any:
    """Compute a function of tensors; from integers the result is integers, as in TensorFlow's kernels.

    The result is right as long as no number has more than the 53 bits of a float64.
    """
    dtype = promote(map(dtype_of, tensors))
    if not dtype.is_integer:
        return compute(*tensors)
    return ops.cast(compute(*(ops.cast(t, "float64") for t in tensors)), dtype)
