"""Intervals of numbers, in words and as checks."""

import numpy as np
import pytest

from dovetail.core.base.domains import Domain, above, at_least, within


def test_domains_in_words():
    domains = [within(0, 1), above(0), at_least(0), Domain(0, 1, without_high=True), Domain(0, 1, True)]
    assert list(map(str, domains)) == ["in [0, 1]", "above 0", "0 or more", "in [0, 1)", "in (0, 1]"]
    with pytest.raises(ValueError, match=r"x must be above 0, not -2\.0"):
        above(0).require("x", np.array([[1.0, -2.0]]))
