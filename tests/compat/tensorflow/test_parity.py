"""TensorFlow's names against TensorFlow: every case of `cases/`, eagerly and in graphs.

Each part of the suite has a case of each name on numpy, and others as their time allows.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.libraries import require

require("tensorflow", "the oracle")

from dovetail.compat.tensorflow.entries import V1, V2
from tests.backend.parity import KINDS, Case, agree, expected, kind_of
from tests.compat.tensorflow import cases
from tests.compat.tensorflow.parity import actual
from tests.conftest import ENGINES

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES
]


def is_run(case: Case, engine: str) -> bool:
    return engine != "boxed" or "dlpack" not in str(case)  # its arrays do not support DLPack


RUNS = [(case, way, engine) for engine in ENGINES for case in CASES if is_run(case, engine) for way in case.ways]


def test_no_case_stands_twice():
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_cases_name_functions_that_are_offered():
    named = {f"{case}: {name}": name.removeprefix("compat.v1.") for case in CASES for name in case.functions}
    assert [text for text, name in named.items() if name not in V1 and name not in V2] == []


@pytest.mark.each("case", of=lambda case: case.functions[0], engines=("numpy",))
@pytest.mark.parametrize(
    ("case", "way", "engine"), RUNS, indirect=["engine"], ids=[f"{case}-{way}-{engine}" for case, way, engine in RUNS]
)
def test_case(case: Case, way: str, engine: str):
    import tensorflow

    wanted = expected(case, tensorflow)
    if case.raises:
        assert isinstance(wanted, Exception), "the oracle computes it"
        with pytest.raises(KINDS) as caught:
            actual(case, way)
        assert caught.type is kind_of(wanted)
    else:
        if isinstance(wanted, Exception):
            raise wanted
        agree(case, actual(case, way), wanted)
