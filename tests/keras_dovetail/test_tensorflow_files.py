"""Keras 2's folders and checkpoints on Dovetail, in a process of their own, which must not import TensorFlow."""

from __future__ import annotations

import pytest

from tests import keras_backends
from tests.libraries import checks_of, require

require("keras", "it is Keras that loads the files")
CHECKS = "tests.keras_dovetail.tensorflow_files_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_keras_reads_tensorflows_files(check):
    keras_backends.check(CHECKS, check, "dovetail", alone=True)
