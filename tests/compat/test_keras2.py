"""Keras 2's names in Keras 3, in their own process, and in programs that do not import them."""

from __future__ import annotations

import numpy as np
import pytest

from tests import keras_backends
from tests.conftest import ENGINES
from tests.keras_backends import BACKENDS
from tests.libraries import checks_of, require

require("keras", "it is Keras whose names these are")
PARTS = "", "_layers", "_models", "_modules", "_packages", "_files", "_sizes"
CHECKS = [f"tests.compat.keras2{part}_checks" for part in PARTS]
ON_STOCK = "tests.compat.keras2_stock_checks"
PROGRAMS = tuple(f"tests.compat.{name}_programs" for name in ("keras2", "keras2_graph", "keras1"))
DATA = "tests.compat.keras2_data"


@pytest.mark.parametrize(("module", "check"), [(module, check) for module in CHECKS for check in checks_of(module)])
def test_keras2(module, check):
    keras_backends.check(module, check, "dovetail", alone=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", checks_of(ON_STOCK))
def test_keras2_on_keras_own_backends(check, backend):
    require(backend, "it is a backend of Keras")
    keras_backends.check(ON_STOCK, check, backend, alone=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("module", "program"), [(module, program) for module in PROGRAMS for program in checks_of(module, "program_")]
)
def test_a_program_does_what_it_does_on_keras_2(module, program, engine):
    require("tf_keras", "programs are compared with it")
    wanted = keras_backends.result(module, program, "tensorflow")
    assert len(wanted) > 1
    same(keras_backends.result(module, program, "dovetail", engine=engine, alone=True), wanted)


@pytest.mark.parametrize("program", checks_of(DATA, "program_"))
def test_a_program_prepares_the_data_of_keras_2(program):
    require("tf_keras", "programs are compared with it")
    require("PIL", "it reads images")
    wanted = keras_backends.result(DATA, program, "tensorflow")
    same(keras_backends.result(DATA, program, "dovetail", alone=True), wanted)


def same(found, wanted):
    """Compare nested lists of numbers and names, up to rounding of engines."""
    if isinstance(wanted, list):
        assert len(found) == len(wanted), (found, wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, str):
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
