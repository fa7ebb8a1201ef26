"""Keras trains in several processes, with the numbers of one; `shards_checks` has what each rank does."""

from __future__ import annotations

import os

import pytest

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

SINGLE = ("single_batches", "exchanges")
CHECKS = ("same_numbers", "stops", *SINGLE, "own_batches", "metrics", "callbacks", "strategies", "old_names")
WHOLE = [("numpy", "numpy"), ("torch", "torch"), ("jax", "jax"), ("tensorflow", "tensorflow"), ("jax", "torch")]
MIXES = [
    (("numpy", "torch"), CHECKS),
    (("jax", "tensorflow", "numpy"), ("short", "stops", *SINGLE)),
    *((mix, CHECKS) for mix in WHOLE if os.environ.get("DOVETAIL_TEST_WHOLE")),
]


@pytest.mark.parametrize(("engines", "checks"), MIXES, ids=[" ".join(engines) for engines, _ in MIXES])
def test_ranks_train_as_one_process(engines, checks):
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    for text in ranks.run("tests.keras_dovetail.shards_checks", engines, *checks, KERAS_BACKEND="dovetail"):
        found = [line.split()[1] for line in text.splitlines() if line.startswith("checked ")]
        assert found == [*checks], text
