"""Keras trains in two processes of unequal speed; `shares_checks` has the program of a rank."""

from __future__ import annotations

import pytest

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

PAIRS = [("numpy", "torch"), ("numpy", "jax"), ("torch", "jax")]


@pytest.mark.parametrize("engines", PAIRS, ids="-".join)
def test_the_quicker_rank_gets_more_rows_and_numbers_stay(engines):
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    printed = ranks.run("tests.keras_dovetail.shares_checks", engines, KERAS_BACKEND="dovetail")
    first, second = (int(text.split("checked rows ")[1]) for text in printed)
    assert first > 12 and second == 10, printed  # of 20 rows; each had 10 at first
