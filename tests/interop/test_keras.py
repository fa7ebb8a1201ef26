"""Dovetail in a stock Keras 3, on each of its backends."""

import subprocess
import sys

import pytest

from tests.keras_backends import BACKENDS, outcomes
from tests.libraries import checks_of

CHECKS = "tests.interop.keras_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
@pytest.mark.parametrize("backend", BACKENDS)
def test_keras(check, backend):
    pytest.importorskip(backend)
    problem = outcomes(CHECKS, backend)[check]
    assert not problem, problem


def test_dovetail_does_not_import_keras():
    program = "import sys, dovetail, dovetail.backend; assert 'keras' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
