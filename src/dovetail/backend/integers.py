"""Integers for functions that compute floats, or whose ops take only floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import backend as K
from dovetail import ops
from dovetail.core.dtypes import as_dtype, promote
from dovetail.core.values.value_kinds import dtype_of
from dovetail.ops.shapes.shape import shaped


def as_floats(x: Any, like: Any = None) -> Any:
    """A tensor of floats: others become floats of `floatx`, or of the dtype of another tensor."""
    x = shaped(x)
    return x if as_dtype(K.dtype(x)).is_floating else ops.cast(x, K.floatx() if like is None else K.dtype(like))


def in_integers(compute: Callable[..., Any], *tensors: Any) -> Any:
    """Compute a function of tensors; from integers the result is integers, as in TensorFlow's kernels.

    The result is right as long as no number has more than the 53 bits of a float64.
    """
    dtype = promote(map(dtype_of, tensors))
    if not dtype.is_integer:
        return compute(*tensors)
    return ops.cast(compute(*(ops.cast(t, "float64") for t in tensors)), dtype)
