"""Fixtures of measured graphs."""

from __future__ import annotations

import pytest

from dovetail.choose import measurer
from tests.choose.measuring import learn_freely


@pytest.fixture
def learns_at_once(monkeypatch):
    """Let measurers learn freely, and time each call from the first."""
    learn_freely(monkeypatch)
    monkeypatch.setattr(measurer, "WATCHED", 1)
