"""K against its oracle: every case of `cases/`, on every engine.

K's functions are the same for all engines, and `tests/ops` runs and compiles every op on every engine. So each part of
the suite has a case of each function on numpy, and others as their time allows.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.libraries import require

require("tf_keras", "the oracle")

from tests.backend import cases
from tests.backend.parity import KINDS, WAYS, Case, actual, agree, expected, kind_of
from tests.conftest import ENGINES

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES
]
RUNS = [(case, way, engine) for engine in ENGINES for case in CASES for way in WAYS if way in case.ways]


def test_no_case_stands_twice():
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.filterwarnings("ignore:.*random_binomial")  # both warn that the name is old
@pytest.mark.each("case", of=lambda case: case.functions[0], engines=("numpy",))
@pytest.mark.parametrize(
    ("case", "way", "engine"), RUNS, indirect=["engine"], ids=[f"{case}-{way}-{engine}" for case, way, engine in RUNS]
)
def test_case(case: Case, way: str, engine: str):
    wanted = expected(case)
    if case.raises:
        assert isinstance(wanted, Exception), "the oracle computes it"
        with pytest.raises(KINDS) as caught:
            actual(case, way)
        assert caught.type is kind_of(wanted)
    else:
        if isinstance(wanted, Exception):
            raise wanted
        agree(case, actual(case, way), wanted)
