"""K in a stock Keras 3, on each of its backends: models that train, and K's cases on what those models compute with."""

from __future__ import annotations

import pytest

from tests.backend import keras3_cases
from tests.keras_backends import BACKENDS, outcomes
from tests.libraries import checks_of

TRAINING, ON_NUMPY = "tests.backend.keras3_training", "tests.backend.keras3_numpy"
CASES = [f"check_{way} {case}" for way in ("native", "symbolic") for case in keras3_cases.all_cases()]


@pytest.mark.parametrize("check", checks_of(TRAINING))
@pytest.mark.parametrize("backend", BACKENDS)
def test_training(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(TRAINING, backend)[check]
    assert not problem, problem


@pytest.mark.parametrize("check", CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_case(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(keras3_cases.__name__, backend)[check]
    assert not problem, problem


@pytest.mark.parametrize("check", checks_of(ON_NUMPY))
def test_on_numpy(check):
    problem = outcomes(ON_NUMPY, "numpy")[check]
    assert not problem, problem
