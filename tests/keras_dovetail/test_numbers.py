"""Ranks compute the numbers of one process; `numbers_checks` has what each rank trains and compares."""

from __future__ import annotations

import os

import pytest

from tests.distributed import ranks
from tests.libraries import require
from tests.parts import WHOLE

require("torch", "it carries")
require("keras", "it trains")

EACH = "numpy", "torch", "jax", "tensorflow"
MIXED = [("numpy", "torch"), ("torch", "jax"), ("jax", "tensorflow"), EACH]
ALIKE = [(engine,) * count for engine in EACH for count in (2, 4)]


def launched(engines: tuple[str, ...], *arguments: str) -> list[list[str]]:
    """The digests of weights that each rank printed."""
    for engine in {*engines} - {"numpy"}:
        require(engine, "a rank computes on it")
    module, environment = "tests.keras_dovetail.numbers_checks", {"KERAS_BACKEND": "dovetail"}
    environment["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "")  # optimized, if the whole runs
    printed = ranks.run(module, engines, *arguments, limit=600, **environment)
    print(*printed, sep="\n")
    return [[line for line in text.splitlines() if line.startswith("weights ")] for text in printed]


@pytest.mark.deeper
@pytest.mark.parametrize("engines", MIXED, ids="-".join)
def test_mixed_engines_compute_the_numbers_of_one_process(engines):
    models = () if WHOLE else ("lstm", "transformer")  # `test_shards` has the others
    assert all(launched(engines, *models))


@pytest.mark.deeper
@pytest.mark.parametrize("engines", ALIKE, ids="-".join)
def test_ranks_of_one_engine_have_the_same_bits_in_each_run(engines):
    """Check the numbers of one process, and bits that are equal on all ranks and, of two, in a second run."""
    models = () if WHOLE else ("mlp",)
    first = launched(engines, *models)
    assert first[0] and all(digests == first[0] for digests in first), first
    if len(engines) == 2:
        assert first == launched(engines, "--bits", *models), first
