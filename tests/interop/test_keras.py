"""Ops and K in Keras 3's functional models, on each of its backends and on Dovetail."""

import subprocess
import sys

import pytest

from tests import keras_backends
from tests.keras_backends import ALL
from tests.libraries import checks_of, require

require("keras", "K runs in its models")

CHECKS = "tests.interop.keras_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
@pytest.mark.parametrize("backend", ALL)
def test_keras(check, backend):
    require(backend, "it is a backend of Keras")
    keras_backends.check(CHECKS, check, backend)


def test_dovetail_does_not_import_keras():
    program = "import sys, dovetail, dovetail.backend; assert 'keras' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
