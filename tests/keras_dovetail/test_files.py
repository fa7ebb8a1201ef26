"""Files of Keras 1, 2 and 3 on Dovetail: each check runs in a process where Keras runs on it."""

from __future__ import annotations

import pytest

from tests import keras_backends
from tests.keras_backends import told
from tests.libraries import checks_of, require

require("keras", "it makes the models")
CHECKS, FOR_KERAS_2 = "tests.keras_dovetail.files_checks", "tests.keras_dovetail.files_for_keras2"


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_files(check):
    keras_backends.check(CHECKS, check, "dovetail")


def test_tf_keras_reads_weights_that_dovetail_writes(tmp_path):
    require("tf_keras", "it reads the weights")
    told(FOR_KERAS_2, "dovetail", str(tmp_path))
    differences = told(FOR_KERAS_2, "tensorflow", str(tmp_path), alone=True)
    assert len(differences) == 12 and max(differences.values()) < 1e-5, differences
