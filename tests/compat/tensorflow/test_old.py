"""TensorFlow 1's own words against TensorFlow 2.21: the cases of `old/`."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.libraries import require

for library in ("tensorflow", "tf_keras", "tf_slim"):
    require(library, "the oracle")

from tests.compat.tensorflow import legacy, old
from tests.conftest import ENGINES

MODULES = [f"{old.__name__}.{module.name}" for module in pkgutil.iter_modules(old.__path__)]
CASES = [(module, name) for module in MODULES for name in importlib.import_module(module).CASES]


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize(("module", "name"), CASES, ids=[f"{m.rpartition('.')[2]}-{n}" for m, n in CASES])
def test_against_tensorflow(engine, module, name):
    legacy.check(module, name)
