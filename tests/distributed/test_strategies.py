"""A program with TensorFlow's strategies, run by two processes, computes the numbers of one."""

from __future__ import annotations

import pytest

from tests.distributed.programs import numbers, printed
from tests.libraries import require

require("torch", "it carries")
require("keras", "it trains")


@pytest.mark.parametrize("strategy", ["mirrored", "workers"])
def test_two_replicas_train_as_one(strategy):
    alone, two = (printed("strategy.py", strategy, processes=count) for count in (1, 2))
    assert alone.pop("replicas") == [["1"]] and two.pop("replicas") == [["2"], ["2"]]
    assert alone.keys() == two.keys() == {"fit", "epoch", "weights"}
    assert len(alone["epoch"]) == 3 and len(numbers(alone["weights"][0])) == 2 * (4 * 8 + 8 + 8 * 2 + 2)
    for name, lines in alone.items():
        for rank in range(2):  # a rank's line is next to the other's
            for expected, found in zip(lines, sorted(two[name])[rank::2], strict=True):
                assert numbers(found) == pytest.approx(numbers(expected), rel=0, abs=1e-9)
