"""Keras trains in two processes of unequal speed; `shares_checks` has the program of a rank."""

from __future__ import annotations

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")


def test_the_quicker_rank_gets_more_rows_and_numbers_stay():
    printed = ranks.run("tests.keras_dovetail.shares_checks", ("numpy", "torch"), KERAS_BACKEND="dovetail")
    first, second = (int(text.split("checked rows ")[1]) for text in printed)
    assert first > 12 and second == 10, printed  # of 20 rows; each had 10 at first
