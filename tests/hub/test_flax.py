"""`keras.layers.FlaxLayer`: it trains on Dovetail, and predicts what Flax computes."""

from __future__ import annotations

from tests import keras_backends
from tests.libraries import require

require("flax", "`make test-hub` tests its layer")


def test_a_module_trains():
    keras_backends.check("tests.hub.flax_checks", "check_a_module_trains", "dovetail")
