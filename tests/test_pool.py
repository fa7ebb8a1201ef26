"""The example of an allocator: it takes nothing new after the first steps, refuses beyond its limit, and goes on."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dovetail.core.engines.engine_registry import get_engine

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("pool")


def test_the_pool_counts_reuses_and_refuses(program, capsys):
    found, longer = program.main(["--steps", "5"]), program.main(["--steps", "15"])
    assert found["losses"] == longer["losses"][:5] and longer["losses"][-1] < longer["losses"][0]
    assert longer["taken"] == found["taken"] and longer["counts"]["reused"] > found["counts"]["reused"]
    assert found["counts"]["refused"] == 1 and found["after"] == longer["losses"][5]
    assert "refused: Pool.allocate at pool.py:" in capsys.readouterr().out
    assert get_engine("numpy").books.allocator is None


def test_a_pool_that_is_too_small_refuses_at_once(program):
    with pytest.raises(MemoryError, match=r"pool.py:\d+: 131,072 bytes: the pool has 0 of 0 left"):
        program.main(["--limit", "0"])
    assert get_engine("numpy").books.allocator is None
