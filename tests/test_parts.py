"""The parts of the suite: what each must hold, and how durations cut them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

import dovetail
from dovetail.formats.summary.kinds import KINDS
from tests import parts
from tests.conftest import ENGINES
from tests.ops.table import CASES, is_differentiable
from tests.parts import Entry, chosen

ROOT = Path(__file__).parents[1]
SOURCE = Path(dovetail.__file__).parent
DIFFERENTIABLE = {op.name for op, number in CASES if is_differentiable(op, number)}
KIND = "tests/formats/summary/test_kinds.py::test_each_kind_is_known"
OF_OPS = {  # test → the ops that it must have, and the engines on which `make test` has them
    "tests/ops/test_table.py::test_value_and_type": ({op.name for op, _ in CASES}, ENGINES),
    "tests/ops/test_table.py::test_compiled_is_eager": ({op.name for op, _ in CASES}, ("numpy", "torch")),
    "tests/ops/test_table_gradients.py::test_gradient": (DIFFERENTIABLE, ("numpy", "torch")),
}


ELSEWHERE = {  # package → the file that tests it, if the file is not where the package is
    "cli/audit": "tests/cli/test_audit.py",
    **dict.fromkeys(
        [f"compat/tensorflow/names/{family}" for family in ("array", "image", "math", "nn")],
        "tests/compat/tensorflow/test_parity.py",
    ),
    "compat/tensorflow/names/distributions": "tests/compat/tensorflow/test_distributions.py",
    "compat/tensorflow/names/estimators": "tests/compat/tensorflow/test_estimators.py",
    "compat/tensorflow/names/graph": "tests/compat/tensorflow/test_graph_editor.py",
    "compat/tensorflow/names/io": "tests/compat/tensorflow/test_queues.py",
    "compat/tensorflow/names/metrics": "tests/compat/tensorflow/test_metrics.py",
    "compat/tensorflow/names/random": "tests/compat/tensorflow/test_random.py",
    "compat/tensorflow/names/rnn": "tests/compat/tensorflow/test_rnn.py",
    "compat/tensorflow/names/session": "tests/compat/tensorflow/test_settings.py",
    "compat/tensorflow/names/strings": "tests/compat/tensorflow/test_strings.py",
    "compat/tensorflow/names/summary": "tests/compat/tensorflow/test_summary.py",
    "compat/tensorflow/names/train": "tests/compat/tensorflow/test_training.py",
    "compat/tensorflow/names/variables": "tests/compat/tensorflow/test_scopes.py",
    "compat/tensorflow/names/saving": "tests/compat/tensorflow/test_checkpoints.py",
    "compat/tensorflow/names/seq2seq": "tests/compat/tensorflow/test_legacy_seq2seq.py",
    "formats/tensorflow/ops": "tests/formats/tensorflow/test_models.py",
}
NEED_LIBRARIES = {
    *("engines/torch", "engines/jax", "engines/tensorflow"),
    *("compat/keras2", "interop/keras", "interop/keras_files"),
}


def collected(request: pytest.FixtureRequest) -> list[Entry]:
    """All tests of the suite."""
    if request.config.args != request.config.getini("testpaths"):
        pytest.skip("only some tests were collected")
    return request.config.stash[parts.COLLECTED]


def values(tests: Iterable[Entry], place: str, parameter: str) -> set[tuple[str, str]]:
    """The engines, and the names of a parameter's values, with which a function is tested."""
    found = [test for test in tests if f"{test.name.file}::{test.name.function}" == place]
    return {(test.name.engine, getattr(test.value(parameter), "name", test.value(parameter))) for test in found}


@pytest.mark.parametrize("part", ["quick", "test"])
def test_a_part_has_each_op(part, request):
    sample = chosen(collected(request), part)
    for function, (names, engines) in OF_OPS.items():
        found = values(sample, function, "op")
        missing = {(engine, name) for engine in engines if engine in ENGINES for name in names} - found
        assert sorted(missing) == [], function


def test_quick_has_each_package(request):
    files = {test.name.file for test in chosen(collected(request), "quick")}
    packages = {str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("__init__.py")} - {".", *NEED_LIBRARIES}
    tested = {p for p in packages for f in files if f.startswith((f"src/dovetail/{p}/", f"tests/{p}/"))}
    tested |= {package for package, file in ELSEWHERE.items() if file in files}
    assert sorted(packages - tested) == []


@pytest.mark.skipif(parts.PART == "quick", reason="the libraries that others need are not in its environment")
def test_test_has_each_file_engine_kind_and_page(request):
    tests = collected(request)
    sample = chosen(tests, "test")
    long = {test.name.file for test in tests} - {test.name.file for test in tests if not test.marked("long")}
    assert {test.name.file for test in tests} - {test.name.file for test in sample} - long == set()
    assert {*ENGINES} - {test.name.engine for test in sample} == set()
    assert values(sample, KIND, "kind") == {("", kind.name) for kind in KINDS}
    pages = values(tests, "tests/test_docs.py::test_page", "page")
    assert pages and pages == values(sample, "tests/test_docs.py::test_page", "page")


@pytest.mark.parametrize(("part", "minutes"), [("quick", 1.2), ("test", 12)])
def test_a_part_takes_little_time(part, minutes, request):
    if part != parts.PART:
        pytest.skip("another part runs")
    seconds = sum(test.seconds for test in chosen(collected(request), part))
    assert seconds <= 2 * 60 * minutes  # on two processors


def test_parts_of_the_rest_take_half_an_hour(request):
    count = int(re.search(r"part=.*/(\d+)", (ROOT / ".ci" / "run").read_text())[1])
    tests = collected(request)
    each = [chosen(tests, f"{number}/{count}") for number in range(1, count + 1)]
    assert all(0 < sum(test.seconds for test in part) <= 2 * 60 * 25 for part in each)
    sample = {*chosen(tests, "test")}
    assert {*sample, *(test for part in each for test in part)} == {*tests}
    again = [test for part in each for test in part if test in sample]
    assert all(test.marked("deeper") for test in again)


# -- cutting ----------------------------------------------------------------------------------------------------------


def made(name: str, seconds: float, **marks: object) -> Entry:
    """A test in the file a.py with a duration and marks."""
    item = SimpleNamespace(nodeid=f"a.py::{name}", name=name, get_closest_marker=marks.get)
    item.callspec = SimpleNamespace(params={"op": name.partition("[")[2].split("-")[-1].rstrip("]")})
    test = Entry(item)
    test.seconds = seconds
    return test


def names(tests: Iterable[Entry]) -> list[str]:
    return [test.item.name for test in tests]


def test_a_name_has_a_function_and_an_engine():
    assert parts.Name.of("a.py", "test_b[jax-Add-0]") == ("a.py", "test_b", "jax")
    assert parts.Name.of("a.py", "test_b[dot(x)-eager-numpy]").group == "test_b@numpy"
    assert parts.Name.of("a.py", "test_torch[Add-0]").group == "test_torch"


def test_a_sample_stays_in_its_budget_and_is_the_same_again():
    tests = [made(f"test_a[{engine}-{number}]", 0.1) for engine in ("numpy", "jax") for number in range(40)]
    found = chosen(tests, "test")
    assert [test.name.engine for test in found] == ["numpy"] * (len(found) // 2) + ["jax"] * (len(found) // 2)
    assert 0.3 <= sum(test.seconds for test in found) / 2 < 0.5 and found == chosen(tests, "test")


def test_what_takes_long_is_left_out_unless_a_file_has_nothing_else():
    short, long = made("test_a", 0.01), made("test_b", 100.0)
    assert names(chosen([short, long], "test")) == ["test_a"]
    assert names(chosen([long], "test")) == ["test_b"]
    assert names(chosen([made("test_b", 0.01, long=True), short], "test")) == ["test_a"]


def test_a_function_has_its_shortest_test_unless_that_takes_long():
    tests = [made("test_a", 0.01), made("test_b[jax]", 4.0), made("test_b[numpy]", 3.5), made("test_c", 6.0)]
    assert names(chosen(tests, "test")) == ["test_a", "test_b[numpy]"]


def test_one_of_each_op_is_taken():
    each = pytest.mark.each("op", engines=("numpy",)).mark
    tests = [
        made(f"test_a[{engine}-{number}-{op}]", 1.0, each=each)
        for engine in ("numpy", "jax")
        for op in ("Add", "Mul", "Sub")
        for number in range(2)
    ]
    found = chosen(tests, "test")
    assert names(found)[:3] == ["test_a[numpy-0-Add]", "test_a[numpy-0-Mul]", "test_a[numpy-0-Sub]"]
    assert len(found) == 4


def test_parts_are_of_one_size_and_hold_the_rest():
    tests = [made(f"test_{number}[numpy]", 1.0 + number % 3) for number in range(300)]
    tests += [made("test_a", 0.01, deeper=True)]
    each = [chosen(tests, f"{number}/4") for number in range(1, 5)]
    sums = [sum(test.seconds for test in part) for part in each]
    sample = {*chosen(tests, "test")}
    assert max(sums) - min(sums) < 6
    assert names(test for part in each for test in part) == names(t for t in tests if t not in sample or t is tests[-1])


@pytest.mark.parametrize("part", ["slow", "0/3", "4/3", "1/", "/2"])
def test_other_parts_are_refused(part):
    with pytest.raises(pytest.UsageError, match="there is no part"):
        chosen([], part)


REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_a[numpy-1]" time="0.2"/>
<testcase classname="tests.a" name="test_a[numpy-2]" time="0.4"/>
<testcase classname="tests.a" name="test_a[numpy-3]" time="30.0"/>
<testcase classname="tests.a" name="test_b" time="0.001"/>
<testcase classname="tests.a" name="test_c" time="9"><skipped/></testcase>
</testsuite></testsuites>"""


def test_durations_are_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "FILE", tmp_path / "durations.json")
    parts._recorded.cache_clear()
    (tmp_path / "report.xml").write_text(REPORT)
    parts.record([tmp_path / "report.xml"])
    parts._recorded.cache_clear()
    assert parts._recorded() == {"tests/a.py": {"test_a@numpy": 0.3, "test_a[numpy-3]": 30.0}}
    parts._recorded.cache_clear()
