"""The cases of `onnx` for backends, on all engines; those of the table fail, and all others pass."""

from __future__ import annotations

import unittest

import pytest

from tests.conftest import ENGINES
from tests.formats.onnx import backend_cases
from tests.parts import WHOLE

EACH = 1 if WHOLE else 40  # of how many cases one is run


@pytest.mark.deeper
@pytest.mark.parametrize("engine", ENGINES)
def test_cases_pass_or_are_in_the_table(engine: str):
    known = {name: reason for name, (engines, reason) in backend_cases.table().items() if engine in engines}
    ids = list(backend_cases.cases())[::EACH]
    found = backend_cases.failures(engine, ids)
    assert {name: reason for name, reason in found.items() if name not in known} == {}
    passed = {name: reason for name, reason in known.items() if name in ids and name not in found}
    assert {name for name, reason in passed.items() if "draws its own" not in reason} == set()  # these pass by chance


def test_each_case_of_the_table_has_a_reason():
    assert [name for name, (_, reason) in backend_cases.table().items() if reason in ("", "?")] == []


@pytest.mark.filterwarnings("ignore")
def test_the_runner_of_onnx_takes_the_backend():
    from onnx.backend.test import BackendTest

    from dovetail.interop import onnx_backend

    runner = BackendTest(onnx_backend, __name__)
    runner.include("test_(relu|split_to_sequence_1|string_concat)_cpu")
    suite, result = runner.test_suite, unittest.TestResult()
    suite.run(result)
    assert result.testsRun > len(result.skipped)
    assert (result.errors, result.failures) == ([], [])
