"""Calibration: corrections of rates, which are kept on disk."""

from __future__ import annotations

import json

import pytest

from dovetail.choose import calibration, costs, records
from dovetail.choose.costs import Corrections
from dovetail.core.base import cache_folder


@pytest.fixture(autouse=True)
def _fresh(monkeypatch, tmp_path):
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    restart(monkeypatch)


def restart(monkeypatch):
    monkeypatch.setattr(calibration, "_recalled", [])
    monkeypatch.setattr(costs, "known", Corrections())


def kept(tmp_path):
    (found,) = tmp_path.glob("rates-*.json")
    return found


def test_corrections_come_back(monkeypatch):
    calibration.recall()
    costs.known.factors = {("torch", "product"): 0.25, ("jax", costs.LOAD): -1.5}
    calibration.keep()
    restart(monkeypatch)
    calibration.recall()
    assert costs.known.factors == {("torch", "product"): 0.25, ("jax", costs.LOAD): -1.5}


def test_corrections_of_this_process_come_first(monkeypatch):
    calibration.recall()
    costs.known.factors = {("torch", "product"): 0.25, ("torch", "map"): 1.0}
    calibration.keep()
    restart(monkeypatch)
    costs.known.factors = {("torch", "product"): 0.5}
    calibration.recall()
    assert costs.known.factors == {("torch", "product"): 0.5, ("torch", "map"): 1.0}


def test_a_process_that_predicts_nothing_keeps_those_of_others(monkeypatch):
    costs.known.factors = {("torch", "product"): 0.25}
    calibration.keep()
    restart(monkeypatch)
    costs.known.factors = {("jax", "map"): 1.0}
    calibration.keep()
    restart(monkeypatch)
    calibration.recall()
    assert costs.known.factors == {("torch", "product"): 0.25, ("jax", "map"): 1.0}


def test_nothing_new_is_not_written(tmp_path):
    calibration.recall()
    calibration.keep()
    assert list(tmp_path.iterdir()) == []


def test_other_threads_have_other_corrections(monkeypatch, tmp_path):
    costs.known.factors = {("torch", "product"): 0.25}
    calibration.keep()
    monkeypatch.setenv("OMP_NUM_THREADS", "17")
    restart(monkeypatch)
    calibration.recall()
    assert costs.known.factors == {}


def written(factors, version=calibration.FORMAT):
    return json.dumps({"format": version, "factors": factors})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "{" * 5000,
        written([["torch", "product", 1.0]], 99),
        written([["torch", "product"]]),
        written([["torch", "product", "1.0"]]),
        written([["torch", 3, 1.0]]),
        written([["torch", "product", float("nan")]]),
        written([[["torch"], "product", 1.0]]),
        "x" * (records.LARGEST + 1),
    ],
)
def test_other_files_are_ignored(monkeypatch, tmp_path, text):
    costs.known.factors = {("torch", "product"): 0.25}
    calibration.keep()
    kept(tmp_path).write_text(text)
    restart(monkeypatch)
    calibration.recall()
    assert costs.known.factors == {}


def test_a_correction_has_a_limit(monkeypatch, tmp_path):
    costs.known.factors = {("torch", "product"): 1e9}
    calibration.keep()
    restart(monkeypatch)
    calibration.recall()
    assert costs.known.factors == {("torch", "product"): calibration.FURTHEST}


def test_a_link_is_not_written_through(tmp_path):
    costs.known.factors = {("torch", "product"): 0.25}
    calibration.keep()
    path, other = kept(tmp_path), tmp_path / "other"
    path.unlink()
    path.symlink_to(other)
    costs.known.factors = {("torch", "product"): 0.5}
    calibration.keep()
    assert not other.exists()
    assert not path.is_symlink()
