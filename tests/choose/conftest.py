"""Fixtures of measured graphs."""

from __future__ import annotations

import pytest

from dovetail.choose import measurer, pressure
from tests.choose.measuring import learn_freely


@pytest.fixture
def learns_at_once(monkeypatch):
    """Let measurers learn freely, and time each call from the first."""
    learn_freely(monkeypatch)
    monkeypatch.setattr(measurer, "WATCHED", 1)


@pytest.fixture(autouse=True)
def is_calm(monkeypatch):
    """Let other programs press no test, and no test go on with an earlier one's times."""
    monkeypatch.setattr(pressure.pressure, "look", lambda now: False)
    monkeypatch.setattr(pressure.pressure, "lasts", False)
    measurer._states.clear()
