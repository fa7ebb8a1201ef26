"""Keys of static values: what makes two calls alike where an argument is no tensor.

Python takes 0.0 and -0.0 for equal, and 1, 1.0 and True, and no NaN for equal to itself; programs tell the first ones
apart, and not the NaNs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.dtypes import DType

_PLAIN = frozenset([int, bool, str, bytes, type(None), DType])


def static_key(value: Any) -> Any:
    """What stands for a static value in the key of a cache: equal for two values if they are one value to a program.

    It is hashable if the value is, or is a list or slice of such values.

    Example:
        >>> static_key((1, 0.0)) == static_key((1, -0.0)), static_key(float("nan")) == static_key(float("nan"))
        (False, True)
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value if value and value == value else repr(value)
    if kind is complex:
        return kind, repr(value)
    if isinstance(value, (tuple, list)):
        return kind, *map(static_key, value)
    if isinstance(value, frozenset):
        return kind, frozenset(map(static_key, value))
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if kind is slice:
        return kind, static_key((value.start, value.stop, value.step))
    return kind, value
