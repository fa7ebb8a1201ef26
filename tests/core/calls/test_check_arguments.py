"""Public functions that are no ops: their arguments are checked, and errors begin with their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.calls.check_arguments import checked


def test_checked_functions_say_their_name_and_the_line():
    @checked
    def outer(x: Any, *more: Any, axis: int = 0) -> Any:
        return dt.ops.sum(x, axis)

    assert outer([1.0, 2.0], 3).item() == 3
    with pytest.raises(TypeError, match=r"outer at \w+.py:\d+: axis must be an int, not 'a'. Given: .*axis="):
        outer(1.0, axis="a")
    with pytest.raises(IndexError, match=r"outer: Sum at test_check_arguments.py:\d+: the axis 3 is out of range"):
        outer([1.0], axis=3)
    with pytest.raises(TypeError, match=r"outer at \w+.py:\d+: .*missing 1 required positional argument: 'x'"):
        outer()


def test_errors_of_the_users_own_functions_stay_as_they_are():
    def fails(x):
        raise ValueError("my own")

    with pytest.raises(ValueError, match=r"^my own$"):
        dt.ops.map_fn(fails, np.ones(3))
