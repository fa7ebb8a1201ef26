"""Keras trains in two processes, with the numbers of one; `shards_checks` has what each rank does."""

from __future__ import annotations

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")


def test_two_ranks_train_as_one_process():
    printed = ranks.run("tests.keras_dovetail.shards_checks", ("numpy", "torch"), KERAS_BACKEND="dovetail")
    for text in printed:
        assert text.split("checked ")[1:] == ["same numbers\n", "stops\n", "old names\n"], text
