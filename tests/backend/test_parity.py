"""K against its oracle: every case of `cases/`, on every engine, in every way."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

pytest.importorskip("tf_keras", reason="the oracle")

from tests.backend import cases
from tests.backend.parity import KINDS, WAYS, Case, actual, agree, expected, kind_of

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES
]
RUNS = [(case, way) for case in CASES for way in WAYS if way in case.ways]


def test_no_case_stands_twice():
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.filterwarnings("ignore:.*random_binomial")  # both warn that it is an old name
@pytest.mark.parametrize(("case", "way"), RUNS, ids=[f"{case}-{way}" for case, way in RUNS])
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
