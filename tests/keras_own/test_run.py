"""Keras' own tests on Dovetail: the part that always runs, and the runner, which tells passed from failed tests."""

from __future__ import annotations

import functools
import json

import pytest

from tests.conftest import ENGINES
from tests.libraries import require
from tests.parts import WHOLE

require("keras", "its tests are run")

from tests.keras_own import run
from tests.keras_own.exclusions import Exclusion, read

FOLDERS = (
    *("activations", "callbacks", "initializers", "layers", "losses", "metrics", "models", "ops", "optimizers"),
    *("random", "saving", "trainers", "utils", "wrappers"),
)
ONE_IN = {"numpy": 150, "torch": 300, "jax": 500}  # one test in n, always the same; jax compiles the calls of each
SAMPLES = {engine: 5 if WHOLE else one_in for engine, one_in in ONE_IN.items() if engine in ENGINES}
PARTS = [[folder] for folder in FOLDERS] if WHOLE else [list(FOLDERS)]  # each part runs in its own process


@functools.cache
def measured(folders, engines):
    return run.measured(folders, "dovetail", {engine: SAMPLES[engine] for engine in engines}, 120)


@pytest.mark.each("engine")
@pytest.mark.parametrize("folders", PARTS, ids=lambda folders: folders[0] if WHOLE else "all")
@pytest.mark.parametrize("engine", SAMPLES)
def test_what_keras_tests_passes(engine, folders):
    together = [engine] if WHOLE else SAMPLES  # collecting takes longer than running a small sample
    counted = run.row(measured(tuple(folders), tuple(together))[engine], read(engine))
    assert not counted.wrong
    assert counted.passed > 0
    assert counted.share >= 0.97 or counted.excluded == 1  # one exclusion is more than that of a small folder's sample


def test_what_names_backends_names_dovetail():
    text = """
        if backend() == 'jax':
            from keras.src.backend.jax.trainer import JAXTrainer as Trainer

        def test_step():
            if backend() == 'jax':
                model = JaxModel()
            device = {'jax': 'cpu:0', 'torch': 'cpu'}[backend()]
    """
    found = run.with_twins("\n".join(line[8:] for line in text.splitlines()))
    assert "from keras_dovetail.src.trainer import Trainer as Trainer" in found
    assert "'dovetail': 'cpu:0'" in found
    assert found.count("'dovetail'") == 2


TESTS = """
import os
import keras
import pytest
from conftest import skip_if_backend

def test_backend():
    assert keras.backend.backend() == "dovetail"

def test_end():
    os._exit(3)

def test_wrong():
    assert 1 == 2, "it is not"

@skip_if_backend("dovetail", "for this test")
def test_skipped():
    assert False
"""


def test_outcomes(tmp_path, monkeypatch):
    (tmp_path / "random").mkdir()
    for name, text in {"some": TESTS, "broken": "import nonsense_that_is_missing"}.items():
        (tmp_path / "random" / f"{name}_test.py").write_text(text)
    monkeypatch.setattr(run, "KERAS", tmp_path)
    found = run.measured(["random"], "dovetail", {"numpy": 1}, 120)["numpy"]
    assert {test.removeprefix("random/"): each.outcome for test, each in found.items()} == {
        "broken_test.py": "failed",
        "some_test.py::test_backend": "passed",
        "some_test.py::test_end": "died",
        "some_test.py::test_wrong": "failed",
        "some_test.py::test_skipped": "skipped",
    }
    assert "nonsense_that_is_missing" in found["random/broken_test.py"].said
    assert "it is not" in found["random/some_test.py::test_wrong"].said


def outcomes(**given):
    return {f"folder/{name}": run.Outcome(outcome, "it says", 0.0) for name, outcome in given.items()}


def test_what_counts():
    found = outcomes(a="passed", b="passed", c="failed", d="skipped", e="died", f="failed")
    known = [Exclusion("it differs", ("folder/e",)), Exclusion("it is not installed", ("folder/f",), stock=True)]
    row = run.row(found, known)
    assert (row.passed, row.skipped, row.excluded, row.wrong) == (2, 1, 1, {"folder/c": "it says"})
    assert row.share == 0.5
    of_stock = run.row(found, known, outcomes(a="passed", b="failed", c="failed", e="passed"))
    assert (of_stock.passed, of_stock.skipped, of_stock.excluded, of_stock.wrong) == (1, 0, 1, {})


def test_what_is_excluded_and_passes_is_wrong():
    row = run.row(outcomes(a="passed"), [Exclusion("it differs", ("folder/*",))])
    assert "it differs" in row.wrong["folder/a"] and row.share == 0


def test_exclusions_are_of_engines(tmp_path):
    path = tmp_path / "excluded.toml"
    entry = {"reason": "it differs", "tests": ["folder/some_test.py::test[a]*"], "engines": ["torch"]}
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    path.write_text("\n".join(["[[excluded]]", *lines]))
    assert read("numpy", path) == []
    (known,) = read("torch", path)
    assert known.covers("folder/some_test.py::test[a]_1") and not known.covers("folder/some_test.py::testa")
    path.write_text("[[excluded]]\nreason = ''\ntests = ['folder/a']")
    with pytest.raises(ValueError, match="needs a reason"):
        read("numpy", path)
