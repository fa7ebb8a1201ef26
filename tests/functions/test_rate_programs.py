"""Probes: the program of a family of ops corrects the rate of this family."""

from __future__ import annotations

import pytest

from dovetail.choose import costs
from dovetail.choose.costs import Corrections
from dovetail.functions import rate_programs


@pytest.mark.parametrize("family", rate_programs.SAMPLES)
def test_a_program_is_mostly_of_its_family(engine, family, monkeypatch):
    for name in ("LEAST", "MOST"):
        monkeypatch.setattr(rate_programs, name, 1)
    known = Corrections()
    assert rate_programs.calibrate(engine, family, known) > 0
    assert (engine, family) in known.factors
    others = {name for _, name in known.factors} - {family, costs.LOAD, "calls", "map"}
    assert not others
