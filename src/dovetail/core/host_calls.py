"""Host calls: Python functions of arrays that a running program calls, with checks of their results."""

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
    """Call a function of arrays; none of its computations is recorded.

    Args:
        function: returns an array, a number, or a list of them.
        arrays: its arguments, which it may keep or change.
        dtypes: the dtypes of the results.
        shapes: the known parts of the results' shapes; empty if none is known.

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
