"""Ranks on `auto`: they follow one decision, in the same call, and none waits for one that does not take part."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose.agreement import Agreement
from dovetail.choose.estimates import UNPREDICTED, Arm
from dovetail.core.engines.collectives import NOTE, WORLD
from dovetail.execute.choice import Strategy
from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries, and is an engine to choose")


def engines(check: str, count: int) -> list[list[str]]:
    """The engine of each call, of each rank."""
    return [
        text.split(f"checked {check}:")[1].split()
        for text in ranks.run("tests.choose.agreement_checks", ("auto",) * count, check)
    ]


@pytest.mark.parametrize(("check", "count"), [("equal", 3), ("turns", 2)])
def test_ranks_change_the_engine_in_the_same_call_also_if_one_prepares_it_much_longer(check, count):
    first, *others = engines(check, count)
    for other in others:
        assert first == other, list(zip(first, other, strict=True))
    assert first[0] == "numpy" and first[-1] == "torch"


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("check", ["missing", "named", "broken"])
def test_ranks_agree_on_what_all_can_do(check, count):
    engines(check, count)


@pytest.mark.parametrize("name", ["step", "größe_" * 9, "🦆" * 40], ids=["short", "umlauts", "emoji"])
def test_a_note_fits_and_keeps_the_strategies_that_were_first_to_wait(name, monkeypatch):
    monkeypatch.setattr(WORLD, "size", 2)
    monkeypatch.setattr(WORLD, "note", b"")
    function = dt.function(ops.all_reduce, name=name, engine="auto")
    plan = function.plan(np.float32([1.0]))
    waiting = [Strategy("numpy", f"variant {number}") for number in range(30)]
    plan.measurer.add([Arm(strategy, UNPREDICTED, waits=True) for strategy in waiting])
    Agreement(plan).next(plan.chosen)
    assert len(WORLD.note) <= NOTE
    note = json.loads(WORLD.note)
    sent = [Strategy(*strategy) for strategy in note["prepare"]]
    assert 3 <= len(sent) < 30 and sent == waiting[: len(sent)] and note["next"][0] == plan.chosen.strategy.engine
