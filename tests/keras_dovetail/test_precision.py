"""Training in mixed precision, 8-bit floats and other values of `floatx`: equal to Keras' backend for JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests import keras_backends
from tests.keras_backends import ENGINES
from tests.libraries import checks_of, require

for library in ("keras", "jax", "torch", "tensorflow"):
    require(library, "Keras on Dovetail is compared with Keras on jax")
MODULE = "tests.keras_dovetail.precision_checks"
TOLERANCES = {"float16": 2e-3, "bfloat16": 5e-3, "float8": 5e-3, "float64": 1e-5, "int4": 1e-4}  # some steps


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", checks_of(MODULE, "case_"))
def test_losses_are_those_of_keras_on_jax(name, engine):
    wanted = keras_backends.result(MODULE, name, "jax")
    found = keras_backends.result(MODULE, name, "dovetail", engine=engine)
    assert len(found) >= 3 and wanted[2] < wanted[0]
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCES[name.rpartition("_")[2]])
