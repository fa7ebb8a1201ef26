"""The functions of the backend: their results on each engine equal those on Keras' numpy backend."""

from __future__ import annotations

import pytest

from tests.libraries import checks_of, require

require("keras", "what Keras gives is compared")

from tests import keras_backends
from tests.conftest import ENGINES
from tests.keras_dovetail.ops.tables import EVERY, MODULES, sample

CHECKS = checks_of("tests.keras_dovetail.ops.own_checks")
CASES = [(engine, every, name) for engine, every in EVERY.items() if engine in ENGINES for name in sample(every)]
CASES += [("numpy", 1, f"{module} signatures") for module in ("core", *MODULES)]
CASES += [("numpy", 1, f"{module} called") for module in MODULES]
CASES += [("numpy", 1, name) for name in ("every function", "versions")]


@pytest.mark.parametrize(("engine", "every", "name"), CASES)
def test_is_as_on_keras_numpy_backend(engine: str, every: int, name: str):
    keras_backends.check("tests.keras_dovetail.ops.parity_checks", f"check_{name}", "dovetail", engine, str(every))


@pytest.mark.parametrize("engine", [name for name in ("numpy", "torch") if name in ENGINES])
@pytest.mark.parametrize("name", CHECKS)
def test_holds(engine: str, name: str):
    keras_backends.check("tests.keras_dovetail.ops.own_checks", name, "dovetail", engine)
