"""K in Keras 3, on each of its backends and on Dovetail: training, and K's cases on the backends' values."""

from __future__ import annotations

import pytest

from tests import keras_backends
from tests.backend import keras3_cases
from tests.keras_backends import ALL, BACKENDS
from tests.libraries import checks_of, require

require("keras", "K runs in its models")

TRAINING, ON_NUMPY = "tests.backend.keras3_training", "tests.backend.keras3_numpy"
CASES = [f"check_{way} {case}" for way in ("native", "symbolic") for case in keras3_cases.all_cases()]
SYMBOLIC = [case for case in CASES if case.startswith("check_symbolic")]


@pytest.mark.parametrize("check", checks_of(TRAINING))
@pytest.mark.parametrize("backend", ALL)
def test_training(check, backend):
    require(backend, "it is a backend of Keras")
    keras_backends.check(TRAINING, check, backend)


@pytest.mark.parametrize("check", CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_case(check, backend):
    pytest.importorskip(backend)
    keras_backends.check(keras3_cases.__name__, check, backend)


@pytest.mark.parametrize("check", SYMBOLIC)
def test_case_on_dovetail(check):
    keras_backends.check(keras3_cases.__name__, check, "dovetail")


@pytest.mark.parametrize("check", checks_of(ON_NUMPY))
def test_on_numpy(check):
    keras_backends.check(ON_NUMPY, check, "numpy")
