"""Keras 2's names in Keras 3, in a process of their own, and what a program gets that did not ask for them."""

from __future__ import annotations

import pytest

from tests.keras_backends import outcomes
from tests.libraries import checks_of, require

require("keras", "it is Keras whose names these are")
CHECKS = "tests.compat.keras2_checks"


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_keras2(check):
    problem = outcomes(CHECKS, "dovetail", alone=True)[check]
    assert not problem, problem
