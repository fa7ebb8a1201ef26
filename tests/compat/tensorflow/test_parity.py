"""TensorFlow's names against TensorFlow: every case of `cases/`, eagerly and in graphs.

numpy runs all cases eagerly, and half of them in a graph. The other engines eagerly run the first case of each name and
a sixteenth of the rest. In a graph they run a sixteenth, always the same, since recording is the same on all engines.
DOVETAIL_TEST_WHOLE=1 runs all.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tests.libraries import require

require("tensorflow", "the oracle")

from dovetail.compat.tensorflow.table import V1, V2
from tests.backend.parity import KINDS, Case, agree, expected, kind_of
from tests.compat.tensorflow import cases
from tests.compat.tensorflow.parity import actual
from tests.conftest import ENGINES, in_sample

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(cases.__path__)
    for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES
]
FIRST = list({case.functions[0]: case for case in reversed(CASES)}.values())  # the first case of each name


def is_run(case: Case, way: str, engine: str) -> bool:
    if engine == "numpy":
        return way == "eager" or case in FIRST or in_sample(f"{case}-{way}", one_in=2)
    if engine == "boxed" and "dlpack" in str(case):
        return False  # its arrays do not support DLPack
    if way == "eager":
        return case in FIRST or in_sample(str(case), one_in=16)
    return in_sample(f"{case}-{way}", one_in=16)


RUNS = [(case, way, engine) for engine in ENGINES for case in CASES for way in case.ways if is_run(case, way, engine)]


def test_no_case_stands_twice():
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_cases_name_functions_that_are_offered():
    named = {f"{case}: {name}": name.removeprefix("compat.v1.") for case in CASES for name in case.functions}
    assert [text for text, name in named.items() if name not in V1 and name not in V2] == []


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
