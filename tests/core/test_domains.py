"""What annotations say of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.checked import checked
from dovetail.core.domains import Domain, above, accepted, at_least, within


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [1, True, np.int64(3)], ["1", 1.0, None, [1]]),
        (int | None, [1, None], ["1", 1.5]),
        (bool, [True, 0, np.True_], ["yes", None, []]),
        (float, [1, 0.5, np.float32(2)], ["a", 1j, None]),
        (str, ["a"], [1, None]),
        (int | Sequence[int], [2, (1, 2), [3], np.array([1, 2])], ["ab", [1.5], 2.5, None]),
        (Sequence[Any], [(1,), [None], np.ones(2)], [1, None, np.ones(()), np.ones((2, 2))]),
        (Callable[..., Any], [len], [3, "len"]),
        (Literal["a", "b"], ["a"], ["c", 3, None]),
        (Literal["a", "b"] | None, ["a", None], ["c"]),
        (Annotated[float, within(0, 1)], [0, 1, 0.5], [-0.1, 1.1, float("nan"), "a"]),
        (
            Annotated[Any, above(0)],
            [1, [1, 2], np.ones(2), None, "a", dt.ops.constant(-1.0)],
            [0, [1, -1], np.zeros(2)],
        ),
        (Annotated[int, at_least(0)] | None, [0, None], [-1, 0.5]),
        (Any, [1, None, "a", object()], []),
    ],
)
def test_accepted(hint, good, bad):
    found = accepted(hint)
    for value in good:
        if type(value) not in found.plain and found.check:
            found.check("x", value)
    for value in bad:
        assert type(value) not in found.plain
        with pytest.raises((TypeError, ValueError), match=r"^x must be .*, not "):
            found.check("x", value)


def test_domains_in_words():
    domains = [within(0, 1), above(0), at_least(0), Domain(0, 1, without_high=True), Domain(0, 1, True)]
    assert list(map(str, domains)) == ["in [0, 1]", "above 0", "0 or more", "in [0, 1)", "in (0, 1]"]
    with pytest.raises(ValueError, match=r"x must be above 0, not -2\.0"):
        above(0).require("x", np.array([[1.0, -2.0]]))


def test_checked_functions_say_their_name_and_the_line():
    @checked
    def outer(x: Any, *more: Any, axis: int = 0) -> Any:
        return dt.ops.sum(x, axis)

    assert outer([1.0, 2.0], 3).item() == 3
    with pytest.raises(TypeError, match=r"outer at test_domains.py:\d+: axis must be an int, not 'a'. Given: .*axis="):
        outer(1.0, axis="a")
    with pytest.raises(IndexError, match=r"outer: Sum at test_domains.py:\d+: the axis 3 is out of range"):
        outer([1.0], axis=3)
    with pytest.raises(TypeError, match=r"outer at test_domains.py:\d+: .*missing 1 required positional argument: 'x'"):
        outer()


def test_errors_of_the_users_own_functions_stay_as_they_are():
    def fails(x):
        raise ValueError("my own")

    with pytest.raises(ValueError, match=r"^my own$"):
        dt.ops.map_fn(fails, np.ones(3))
