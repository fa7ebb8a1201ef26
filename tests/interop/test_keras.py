"""Ops and K in Keras 3's functional models, on each of its backends and on Dovetail."""

import subprocess
import sys

import pytest

from tests.keras_backends import ALL, outcomes
from tests.libraries import checks_of, require

CHECKS = "tests.interop.keras_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
@pytest.mark.parametrize("backend", ALL)
def test_keras(check, backend):
    require(backend, "it is a backend of Keras")
    found = outcomes(CHECKS, backend)
    assert found.keys() <= set(checks_of(CHECKS))
    if check not in found:
        pytest.skip("it holds for Keras' own backends")
    assert not found[check], found[check]


def test_dovetail_does_not_import_keras():
    program = "import sys, dovetail, dovetail.backend; assert 'keras' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
