"""Keras trains in several processes, with the numbers of one; `shards_checks` has what each rank does."""

from __future__ import annotations

import pytest

from tests.conftest import WHOLE
from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")

SINGLE = ("single_batches", "exchanges")
CHECKS = (
    "same_numbers",
    "stops",
    *SINGLE,
    "random_states",
    "own_batches",
    "metrics",
    "callbacks",
    "strategies",
    "old_names",
)
EACH = "numpy", "torch", "jax", "tensorflow"
MIXES = [
    (("numpy", "torch"), CHECKS),
    (("jax", "tensorflow", "numpy"), ("short", "stops", *SINGLE)),
    *(((engine, engine), CHECKS) for engine in EACH if WHOLE),
]


@pytest.mark.parametrize(("engines", "checks"), MIXES, ids=[" ".join(engines) for engines, _ in MIXES])
def test_ranks_train_as_one_process(engines, checks):
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    for text in ranks.run("tests.keras_dovetail.shards_checks", engines, *checks, KERAS_BACKEND="dovetail"):
        found = [line.split()[1] for line in text.splitlines() if line.startswith("checked ")]
        assert found == [*checks], text
