"""K against its oracle: every case of `cases/`, on every engine.

numpy runs all cases eagerly; in each other way it runs a quarter, and the first case of each function. The other
engines run the first case of each function eagerly. Of the rest they run a fixed sample: a tenth eagerly, and one in
32 compiled and on placeholders. K's functions are the same for all engines, and `tests/ops` runs and compiles every op
on every engine. DOVETAIL_TEST_WHOLE=1 runs all.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.libraries import require

require("tf_keras", "the oracle")

from tests.backend import cases
from tests.backend.parity import KINDS, WAYS, Case, actual, agree, expected, kind_of
from tests.conftest import ENGINES, in_sample

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES
]
RUNS = [(case, way) for case in CASES for way in WAYS if way in case.ways]


FIRST = {case.functions[0]: case for case in reversed(CASES)}


def is_run(case: Case, way: str, engine: str) -> bool:
    is_first = FIRST[case.functions[0]] is case
    if engine == "numpy":
        return is_first or way == "eager" or in_sample(f"{case}-{way}", one_in=4)
    if is_first and way == "eager":
        return True
    return in_sample(f"{case}-{way}", one_in=10 if way == "eager" else 32)


RUNS_ON_ENGINES = [(case, way, engine) for engine in ENGINES for case, way in RUNS if is_run(case, way, engine)]


def test_no_case_stands_twice():
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.filterwarnings("ignore:.*random_binomial")  # both warn that the name is old
@pytest.mark.parametrize(
    ("case", "way", "engine"),
    RUNS_ON_ENGINES,
    indirect=["engine"],
    ids=[f"{case}-{way}-{engine}" for case, way, engine in RUNS_ON_ENGINES],
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
