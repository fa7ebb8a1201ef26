"""Shares of a batch by measured speed: they are whole, they follow the speed, and they change seldom."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dovetail.compat.tensorflow.names.estimators.distribute import DistributedDataset
from dovetail.core.engines.collectives import WORLD
from dovetail.distributed import shares
from tests.conftest import SEED


def test_a_batch_is_divided_as_a_whole():
    print(f"DOVETAIL_TEST_SEED={SEED}")
    rng = random.Random(SEED)
    for _ in range(500):
        count, total = rng.randint(1, 9), rng.randint(1, 300)
        speeds = [rng.uniform(0.05, 1) for _ in range(count)]
        rows = shares.divided(total, speeds)
        assert sum(rows) == total and len(rows) == count, (total, speeds, rows)
        if total < count:
            assert rows[0] == total
            continue
        unit = max(1, min(total // shares.UNITS, total // count))
        exact = [total * speed / sum(speeds) for speed in speeds]
        assert min(rows) >= 1
        assert sum(row % unit > 0 for row in rows) <= 1, (total, speeds, rows)
        near = [max(value, unit) for value in exact]
        assert all(abs(row - value) < (count + 1) * unit for row, value in zip(rows, near, strict=True)), (rows, exact)


@pytest.mark.parametrize(("total", "count"), [(12, 4), (10, 3), (7, 8), (64, 1)])
def test_equal_speeds_give_equal_shares(total, count):
    rows = shares.divided(total, [0.3] * count)
    assert total < count or max(rows) - min(rows) <= 1
    assert rows == sorted(rows, reverse=True) and sum(rows) == total


class Simulated:
    """Ranks on a clock of their own, each with a speed in rows a second; all wait for the slowest one."""

    def __init__(self, monkeypatch, speeds):
        self.speeds, self.rows, self.changes, self.waited = speeds, [], 0, [0.0] * len(speeds)
        for name, value in {"size": len(speeds), "waited": 0.0}.items():
            monkeypatch.setattr(WORLD, name, value)
        self.ranks = [shares._Measured() for _ in speeds]
        monkeypatch.setattr(WORLD, "exchange", lambda op, array, ranks: self.told)
        self.now = 0.0
        monkeypatch.setattr(shares.time, "perf_counter", lambda: self.now)

    def step(self, monkeypatch, total):
        before = [rank.speeds for rank in self.ranks]
        own = [1 / np.median(rank._times) if rank._times else 0.0 for rank in self.ranks]
        self.told = np.array(own)
        for number, rank in enumerate(self.ranks):
            monkeypatch.setattr(WORLD, "rank", number)
            monkeypatch.setattr(WORLD, "waited", self.waited[number])
            rank.begin(total)
        self.changes += before != [rank.speeds for rank in self.ranks]
        assert all(rank.speeds == self.ranks[0].speeds for rank in self.ranks)
        self.rows = shares.divided(total, self.ranks[0].speeds)
        times = [rows / speed for rows, speed in zip(self.rows, self.speeds, strict=True)]
        self.now += max(times)
        self.waited = [w + max(times) - own for w, own in zip(self.waited, times, strict=True)]


@pytest.mark.parametrize(
    ("speeds", "expected", "changes"),
    [([300.0, 100.0], [96, 32], 1), ([100.0, 105.0], [64, 64], 0), ([100.0, 100.0, 200.0], [32, 32, 64], 1)],
    ids=str,
)
def test_shares_follow_the_speed_of_the_ranks(monkeypatch, speeds, expected, changes):
    ranks = Simulated(monkeypatch, speeds)
    for _ in range(300):
        ranks.step(monkeypatch, 128)
    assert ranks.rows == expected and ranks.changes == changes


def test_shares_change_a_few_times_at_most(monkeypatch):
    ranks = Simulated(monkeypatch, [100.0, 100.0])
    for number in range(3000):
        ranks.speeds = [100.0, 400.0] if number // 100 % 2 else [400.0, 100.0]
        ranks.step(monkeypatch, 128)
    assert 0 < ranks.changes <= shares.CHANGES


def test_replicas_of_tensorflow_get_measured_shares(monkeypatch):
    measured = shares._Measured()
    measured._speeds = [3.0, 1.0]
    monkeypatch.setattr(shares, "_measured", measured)
    monkeypatch.setattr(WORLD, "size", 2)
    batches = [{"x": np.arange(128), "y": np.arange(128) * 2}, {"x": np.arange(1), "y": np.arange(1)}]
    found = {}
    for kind in ("equal", "measured"):
        monkeypatch.setattr(WORLD, "shares", kind)
        for rank in range(2):
            monkeypatch.setattr(WORLD, "rank", rank)
            parts = [*DistributedDataset(batches)]
            found[kind, rank] = [(len(part["x"]), len(part["y"])) for part in parts]
            assert parts[0]["x"][-1] == (127 if rank else found[kind, 0][0][0] - 1)
    assert found["equal", 0] == [(64, 64), (1, 1)] and found["equal", 1] == [(64, 64), (0, 0)]
    assert found["measured", 0] == [(96, 96), (1, 1)] and found["measured", 1] == [(32, 32), (0, 0)]
