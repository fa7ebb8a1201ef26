"""Choices as data: strategies as older versions wrote them, and what is refused."""

from __future__ import annotations

import pytest

import dovetail as dt
from dovetail.execute.choice import Choice, Row, Strategy, strategy_of


@pytest.mark.parametrize(("written", "strategy"), [
    (["jax", "patches", 2, 32], Strategy("jax", "patches", 2, 32)),
    (["jax", "convolutions on torch", 0, 1], Strategy("jax", split="torch")),
    (["jax", "convolutions on torch", 0, 1, ""], Strategy("jax", "convolutions on torch")),
    (["jax", "patches", 0, 1, "torch"], Strategy("jax", "patches", split="torch")),
])  # fmt: skip
def test_strategies_of_this_and_of_older_files(written, strategy):
    assert strategy_of(written) == strategy


@pytest.mark.parametrize(
    "written", [["jax"], ["jax", "", 0], ["jax", "", -1, 1], ["jax", "", 0, 0, ""], ["jax", "", 0, 1, 2], "jax", None]
)
def test_what_is_no_strategy(written):
    with pytest.raises(ValueError, match="it is no strategy"):
        strategy_of(written)


def test_a_plan_of_two_engines_comes_back(tmp_path):
    chosen = Strategy("jax", threads=2, split="torch")
    choice = Choice(chosen, (Row(chosen, measured=0.002, calls=5), Row(Strategy("numpy"), measured=0.004, calls=5)))
    dt.save(choice, tmp_path / "choice.safetensors")
    assert dt.load(tmp_path / "choice.safetensors") == choice
    assert choice.summary == "now: jax convolutions on torch, 2 threads, of 2 strategies, 2.00 times as fast as numpy"
