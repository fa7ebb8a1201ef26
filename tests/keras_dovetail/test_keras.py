"""Keras on Dovetail: checks of its uses, each module in its own process."""

from __future__ import annotations

import pytest

from tests import keras_backends
from tests.libraries import checks_of, require

require("keras", "it is Keras that runs on Dovetail")
require("sklearn", "programs that are checked train on its data")
MODULES = tuple(
    f"tests.keras_dovetail.{name}_checks"
    for name in (
        "core",
        "privates",
        "layers",
        "graph",
        "lines",
        "k",
        "batches",
        "training",
        "group",
        "numerics",
        "foreign",
        "foreign_values",
        "guides",
        "generation",
        "optimizer",
        "seeds",
        "sklearn",
    )
)


@pytest.mark.parametrize(("module", "check"), [(module, check) for module in MODULES for check in checks_of(module)])
def test_keras_on_dovetail(module, check):
    keras_backends.check(module, check, "dovetail")
