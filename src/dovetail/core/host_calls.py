"""Host calls: what a program that runs has Python compute of arrays, checked as what it said that it would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.core.dtypes import DType
from dovetail.core.errors import describe
from dovetail.core.recording import not_building, record_on
from dovetail.core.tensor_shape import shape_of


def call(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], dtypes: Sequence[DType], shapes: Sequence[Any]
) -> list[np.ndarray]:
    """What a function makes of arrays; nothing of what it computes is recorded.

    Args:
        function: returns an array, a number, or a list of them.
        arrays: what it is given, to keep or to change.
        dtypes: of the results.
        shapes: of the results, as far as they are known; empty if none is.

    Raises:
        TypeError: there are more or fewer results.
        ValueError: a result has another shape.
    """
    with not_building(), record_on(()):
        found = function(*arrays)
    name = getattr(function, "__name__", "function")
    results = found if isinstance(found, (list, tuple)) else [found]
    if len(results) != len(dtypes) or any(result is None for result in results):
        problem = f"{name} must give {len(dtypes)} results ({', '.join(dtypes)}), not {describe(found)}."
        raise TypeError(problem)
    made = [np.asarray(result).astype(dtype.numpy) for result, dtype in zip(results, dtypes, strict=True)]
    for array, shape in zip(made, shapes, strict=False):
        if not shape_of(shape).is_compatible_with(array.shape):
            raise ValueError(f"{name} gave the shape {array.shape}, where set_shape said {tuple(shape)}.")
    return made
