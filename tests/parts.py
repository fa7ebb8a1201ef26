"""Parts of the suite, cut by recorded durations; $DOVETAIL_TEST_PART names the one that runs.

    quick   two minutes on numpy
    room    the tests of some folders in three minutes
    test    the sample that CI always runs
    k/n     the k-th of n parts of all others
    unset   all tests that are collected

A part takes tests of each function on each engine, always the same ones, until their seconds are spent.  Marks say
more.  A part has a test of each op of a function with `each("op")`.  Only parts k/n have those with `long("why")`.

`python -m tests.parts FILE...` records the durations in reports that pytest wrote by `--junitxml=FILE`.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import statistics
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

PART = os.environ.get("DOVETAIL_TEST_PART", "")
FILE = Path(__file__).with_name("durations.json")
UNKNOWN = 0.02  # seconds of a test that nobody has timed
LEAST, LONG = 0.1, 0.5  # seconds of a function's tests together, and of a single one, that are written down
ENGINE = re.compile(r"(?<![a-z_])(numpy|torch|jax|tensorflow|onnxruntime|openvino|boxed|whole|dovetail)(?![a-z_])")


class Budget(NamedTuple):
    """The seconds that a part spends.

    Attributes:
        seconds: of a function's tests on one engine.
        longest: of one test, at most.
        single: of a function's shortest test, at most, if all of them take longer.
    """

    seconds: float
    longest: float
    single: float


BUDGETS = {"quick": Budget(0.03, 0.3, 0.3), "room": Budget(1.5, 5.0, 10.0), "test": Budget(0.3, 2.5, 5.0)}
WHOLE = PART not in BUDGETS  # whether tests that are marked `deeper` do all that they can
IS_RELEASE = "/" in PART  # whether XLA compiles as for users


class Name(NamedTuple):
    """A test's name: its file, its function, and its engine, or ""."""

    file: str
    function: str
    engine: str

    @classmethod
    def of(cls, file: str, name: str) -> Name:
        """The parts of a test's name, as "test_value[jax-Add-0]"."""
        function, _, values = name.partition("[")
        engine = ENGINE.search(values)
        return cls(file, function, engine[0] if engine else "")

    @property
    def group(self) -> str:
        """The function and the engine."""
        return f"{self.function}@{self.engine}" if self.engine else self.function


class Entry:
    """A collected test, with what parts look at.

    Attributes:
        item: pytest's object.
        name: its file, function and engine.
        seconds: its recorded duration: its own, else the mean of its function on its engine.
    """

    def __init__(self, item: pytest.Item) -> None:
        self.item, self.name = item, Name.of(item.nodeid.partition("::")[0], item.name)
        times = _recorded().get(self.name.file, {})
        self.seconds = times.get(item.name, times.get(self.name.group, UNKNOWN))

    def marked(self, mark: str) -> pytest.Mark | None:
        """A mark of the function, its class or its module."""
        return self.item.get_closest_marker(mark)

    def value(self, parameter: str) -> Any:
        """The value of a parameter."""
        return self.item.callspec.params[parameter]  # type: ignore[attr-defined]


COLLECTED = pytest.StashKey[list[Entry]]()  # all tests that pytest collected


# -- choosing ---------------------------------------------------------------------------------------------------------


def chosen(tests: list[Entry], part: str = PART) -> list[Entry]:
    """The tests of a part, in order.

    Raises:
        pytest.UsageError: there is no such part.
    """
    if not part:
        return tests
    if part in BUDGETS:
        sample = _sample(tests, BUDGETS[part])
        return [test for test in tests if test in sample]
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"there is no part {part!r} of the tests, but {', '.join(BUDGETS)}, and 1/8 to 8/8")
    sample = _sample(tests, BUDGETS["test"])
    return _cut([test for test in tests if test not in sample or test.marked("deeper")], int(found[1]), int(found[2]))


def _cut(tests: list[Entry], number: int, count: int) -> list[Entry]:
    ends = list(itertools.accumulate(test.seconds for test in tests))
    size = ends[-1] / count
    return [test for test, end in zip(tests, ends, strict=True) if min(int(end / size), count - 1) == number - 1]


def _sample(tests: list[Entry], budget: Budget) -> set[Entry]:
    """The tests that fit into a budget, and at least one of each file, and of each function if it is not too long."""
    able = [test for test in tests if not test.marked("long")]
    found: set[Entry] = set()
    for group in _by(able, lambda test: test.name):
        required = set(_one_of_each(group))
        found |= required
        left = budget.seconds - sum(test.seconds for test in required)
        for test in sorted(group, key=_shuffled):
            if left > 0 and test.seconds <= budget.longest and test not in required:
                found.add(test)
                left -= test.seconds
    for group in _by(able, lambda test: test.name[:2]):
        shortest = min(group, key=_seconds)
        if found.isdisjoint(group) and shortest.seconds <= budget.single:
            found.add(shortest)
    for group in _by(able, lambda test: test.name.file):
        if found.isdisjoint(group):
            found.add(min(group, key=_seconds))
    return found


def _by(tests: list[Entry], key: Any) -> Iterable[list[Entry]]:
    groups = defaultdict(list)
    for test in tests:
        groups[key(test)].append(test)
    return groups.values()


def _one_of_each(group: list[Entry]) -> Iterator[Entry]:
    """The first test of each value of the parameter that the function's mark `each` names."""
    mark = group[0].marked("each")
    if mark is not None and group[0].name.engine in mark.kwargs.get("engines", [group[0].name.engine]):
        of = mark.kwargs.get("of", lambda value: value)
        yield from {of(test.value(*mark.args)): test for test in reversed(group)}.values()


def _seconds(test: Entry) -> float:
    return test.seconds


def _shuffled(test: Entry) -> int:
    return zlib.crc32(test.item.name.encode())


# -- durations --------------------------------------------------------------------------------------------------------


@functools.cache
def _recorded() -> dict[str, dict[str, float]]:
    """File → the seconds of a test of each group, and of each single test that takes long."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def record(reports: Iterable[str]) -> None:
    """Write down the durations of JUnit reports; other durations stay."""
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("skipped") is None:
                file = case.get("classname", "").replace(".", "/") + ".py"
                times[file][case.get("name", "")] = float(case.get("time", 0))
    known = dict(_recorded())
    for file, found in times.items():
        others = {name: seconds for name, seconds in known.get(file, {}).items() if name not in found}
        known[file] = others | dict(_rows(file, found))
    known = {file: dict(sorted(rows.items())) for file, rows in sorted(known.items()) if rows}
    FILE.write_text(json.dumps(known, indent=0) + "\n")


def _rows(file: str, times: dict[str, float]) -> Iterator[tuple[str, float]]:
    groups: dict[str, dict[str, float]] = defaultdict(dict)
    for name, time in times.items():
        groups[Name.of(file, name).group][name] = time
    for group, found in groups.items():
        middle = statistics.median(found.values())
        single = {name: time for name, time in found.items() if time > max(LONG, 2 * middle) and name != group}
        others = [time for name, time in found.items() if name not in single]
        yield from ((name, round(time, 1)) for name, time in single.items())
        if others and sum(found.values()) > LEAST:
            yield group, float(f"{statistics.mean(others):.2g}")


if __name__ == "__main__":
    record(sys.argv[1:])
