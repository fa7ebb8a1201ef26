"""`keras.applications`: the same outputs and losses on Dovetail's engines as on Keras' own backend."""

from __future__ import annotations

import numpy as np
import pytest

from tests import keras_backends
from tests.libraries import require

require("keras_hub", "`make test-hub` tests large models")
require("jax", "it computes the numbers to compare with")

PROGRAMS = "tests.hub.applications_checks"
MODELS = (
    *("MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "EfficientNetV2B0", "ResNet50", "ResNet50V2", "DenseNet121"),
    *("NASNetMobile", "InceptionV3", "Xception", "ConvNeXtTiny"),
)


TRAINED = ("MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "EfficientNetV2B0")
CASES = (*(f"forward_{name}" for name in MODELS), *(f"steps_{name}" for name in TRAINED))


@pytest.mark.parametrize("case", CASES)
def test_a_model_gives_the_numbers_of_keras_on_jax(engine, case):
    wanted = keras_backends.result(PROGRAMS, case, "jax")
    found = keras_backends.result(PROGRAMS, case, "dovetail", engine=engine)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())
