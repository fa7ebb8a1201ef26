"""Keras 2's names in Keras 3, in their own process, and in programs that do not import them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import ENGINES
from tests.keras_backends import BACKENDS, outcomes, told
from tests.libraries import checks_of, require

require("keras", "it is Keras whose names these are")
PARTS = "", "_layers", "_models", "_modules", "_packages", "_files", "_sizes"
CHECKS = [f"tests.compat.keras2{part}_checks" for part in PARTS]
ON_STOCK = "tests.compat.keras2_stock_checks"
PROGRAMS = tuple(f"tests.compat.{name}_programs" for name in ("keras2", "keras2_graph", "keras1"))
DATA = "tests.compat.keras2_data"


@pytest.mark.parametrize(("module", "check"), [(module, check) for module in CHECKS for check in checks_of(module)])
def test_keras2(module, check):
    problem = outcomes(module, "dovetail", alone=True)[check]
    assert not problem, problem


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", checks_of(ON_STOCK))
def test_keras2_on_keras_own_backends(check, backend):
    require(backend, "it is a backend of Keras")
    problem = outcomes(ON_STOCK, backend, alone=True)[check]
    assert not problem, problem


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("module", "program"), [(module, program) for module in PROGRAMS for program in checks_of(module, "program_")]
)
def test_a_program_does_what_it_does_on_keras_2(module, program, engine):
    require("tf_keras", "programs are compared with it")
    wanted = told(module, "tensorflow", "tf_keras")["tf_keras"][program]
    found = told(module, "dovetail", *ENGINES, alone=True)[engine][program]
    assert not isinstance(wanted, str), wanted
    assert not isinstance(found, str), found
    assert len(wanted) > 1
    same(found, wanted)


@pytest.mark.parametrize("program", checks_of(DATA, "program_"))
def test_a_program_prepares_the_data_of_keras_2(program):
    require("tf_keras", "programs are compared with it")
    require("PIL", "it reads images")
    wanted, found = told(DATA, "tensorflow")[program], told(DATA, "dovetail", alone=True)[program]
    assert not isinstance(wanted, str), wanted
    assert not isinstance(found, str), found
    same(found, wanted)


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
