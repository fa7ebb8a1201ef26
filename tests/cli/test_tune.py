"""`dovetail tune`: a table of measurements, which is kept."""

from __future__ import annotations

import json

import pytest

from dovetail.choose import calibration, costs, rates
from dovetail.choose.costs import Corrections
from dovetail.cli import tune
from dovetail.cli.main import main
from dovetail.core.base import cache_folder
from dovetail.functions import rate_programs


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    monkeypatch.setattr(calibration, "_recalled", [])
    monkeypatch.setattr(costs, "known", Corrections())
    monkeypatch.setattr(rate_programs, "MOST", rate_programs.LEAST)


def test_the_table(capsys, tmp_path):
    assert main(["tune", "--engine", "numpy"]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].split() == ["numpy"]
    families = [line.partition(",")[0] for line in lines[2:]]
    assert families[: len(rates.rates("numpy").work)] == [tune.FAMILIES[name] for name in rates.rates("numpy").work]
    assert str(tmp_path) in said and len(list(tmp_path.glob("rates-*.json"))) == 1


def test_json(capsys):
    assert main(["tune", "--engine", "numpy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["numpy"]["work"].keys() == rates.rates("numpy").work.keys()
    assert all(rate > 0 for rate in found["numpy"]["work"].values())


def test_an_engine_that_fails_is_left_out(capsys, monkeypatch):
    def fails(*arguments):
        raise MemoryError("no room")

    monkeypatch.setattr(rate_programs, "calibrate", fails)
    assert main(["tune", "--engine", "numpy"]) == 1
    assert "numpy does not run calls: no room" in capsys.readouterr().err


def test_predictions_follow_what_is_kept(monkeypatch):
    assert main(["tune", "--engine", "numpy", "--json"]) == 0
    after = costs.known.predict("numpy", {"product": 1e9, "ops": 1.0})
    monkeypatch.setattr(calibration, "_recalled", [])
    monkeypatch.setattr(costs, "known", Corrections())
    before = costs.known.predict("numpy", {"product": 1e9, "ops": 1.0})
    calibration.recall()
    assert costs.known.predict("numpy", {"product": 1e9, "ops": 1.0}) == after != before
