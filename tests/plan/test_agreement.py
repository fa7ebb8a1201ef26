"""Ranks on `auto`: they follow one decision, in the same call, and none waits for one that does not take part."""

from __future__ import annotations

import pytest

from tests.distributed import ranks
from tests.libraries import require

require("torch", "it carries, and is an engine to choose")


def engines(check: str) -> list[list[str]]:
    """The engine of each call, of each rank."""
    return [
        text.split(f"checked {check}:")[1].split()
        for text in ranks.run("tests.plan.agreement_checks", ("auto", "auto"), check)
    ]


def test_ranks_change_the_engine_in_the_same_call():
    first, second = engines("equal")
    assert first == second, list(zip(first, second, strict=True))
    assert first[0] == "numpy" and first[-1] == "torch"


@pytest.mark.parametrize("check", ["missing", "named", "broken"])
def test_ranks_agree_on_what_both_can_do(check):
    engines(check)
