"""K in a stock Keras 3, on each of its backends: models that train, and K's cases on what those models compute with."""

from __future__ import annotations

import pytest

pytest.importorskip("keras")

from tests.backend import keras3_cases, keras3_numpy, keras3_training
from tests.keras_backends import BACKENDS, outcomes

TRAINING = [name for name in vars(keras3_training) if name.startswith("check_")]
ON_NUMPY = [name for name in vars(keras3_numpy) if name.startswith("check_")]
CASES = [f"check_{way} {case}" for way in ("native", "symbolic") for case in keras3_cases.all_cases()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", TRAINING)
def test_training(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(keras3_training.__name__, backend)[check]
    assert not problem, problem


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", CASES)
def test_case(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(keras3_cases.__name__, backend)[check]
    assert not problem, problem


@pytest.mark.parametrize("check", ON_NUMPY)
def test_on_numpy(check):
    problem = outcomes(keras3_numpy.__name__, "numpy")[check]
    assert not problem, problem
