"""Dovetail in a stock Keras 3, on each of its backends."""

import subprocess
import sys

import pytest

pytest.importorskip("keras")

from tests.interop import keras_checks
from tests.keras_backends import BACKENDS, outcomes

CHECKS = [name for name in vars(keras_checks) if name.startswith("check_")]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", CHECKS)
def test_keras(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(keras_checks.__name__, backend)[check]
    assert not problem, problem


def test_dovetail_does_not_import_keras():
    program = "import sys, dovetail, dovetail.backend; assert 'keras' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
