"""The runner of Keras' own tests: what it does to their files, and that it tells what passed from what failed."""

from __future__ import annotations

import pytest

from tests.libraries import require

require("keras", "its tests are run")

from tests.keras_own import run


def test_only_chains_at_the_top_get_twins():
    text = """
        if backend() == 'jax':
            from keras.src.backend.jax.trainer import JAXTrainer as Trainer

        def test_step():
            if backend() == 'jax':
                model = JaxModel()
    """
    found = run.with_twins("\n".join(line[8:] for line in text.splitlines()))
    assert "from keras_dovetail.trainer import DovetailTrainer as Trainer" in found
    assert found.count("'dovetail'") == 1


TESTS = """
import keras
import pytest
from conftest import skip_if_backend

def test_backend():
    assert keras.backend.backend() == "dovetail"

def test_wrong():
    assert 1 == 2, "it is not"

@skip_if_backend("dovetail", "for this test")
def test_skipped():
    assert False
"""


@pytest.mark.parametrize("text", [TESTS, "import nonsense_that_is_missing"])
def test_outcomes(text, tmp_path, monkeypatch):
    source, target = tmp_path / "source", tmp_path / "target"
    for path in (source / "folder", target):
        path.mkdir(parents=True)
    source.joinpath("folder", "some_test.py").write_text(text)
    monkeypatch.setattr(run, "KERAS", source)
    (copied,) = run.copy_tests(["folder"], target, "dovetail", 1)
    said = list(run.run(copied, target, "dovetail", "numpy", 120).values())
    if text is TESTS:
        assert said[0] == "passed" and "it is not" in said[1] and said[2] == "skipped" and len(said) == 3
    else:
        assert len(said) == 1 and said[0] not in ("passed", "skipped")
