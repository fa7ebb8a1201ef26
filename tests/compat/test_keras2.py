"""Keras 2's names in Keras 3, in a process of their own, and what a program gets that did not ask for them."""

from __future__ import annotations

import pytest

from tests.keras_backends import outcomes
from tests.libraries import checks_of, require

require("keras", "it is Keras whose names these are")
CHECKS = "tests.compat.keras2_checks", "tests.compat.keras2_layers_checks"


@pytest.mark.parametrize(("module", "check"), [(module, check) for module in CHECKS for check in checks_of(module)])
def test_keras2(module, check):
    problem = outcomes(module, "dovetail", alone=True)[check]
    assert not problem, problem
