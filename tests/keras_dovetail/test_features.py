"""Features of Keras' training: the same losses on Dovetail's engines as on Keras' own backend for JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests import keras_backends
from tests.keras_backends import ENGINES
from tests.libraries import checks_of, require

for library in ("keras", "jax", "torch", "tensorflow", "sklearn"):
    require(library, "Keras on Dovetail is compared with Keras on jax, with data of them all")
MODULE = "tests.keras_dovetail.features_checks"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", checks_of(MODULE, "feature_"))
def test_a_feature_gives_the_losses_of_keras_on_jax(name, engine):
    wanted = keras_backends.result(MODULE, name, "jax")
    found = keras_backends.result(MODULE, name, "dovetail", engine=engine)
    assert len(found) >= 3 and wanted[2] != wanted[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
