"""Records of times: found again, bounded, and ignored if they are damaged, foreign, of the future or hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.choose import ledger, measurer, records
from dovetail.choose.report import Report
from dovetail.core.base import cache_folder
from dovetail.execute.choice import Row, Strategy
from tests.choose.measuring import Clock, called, learn_freely
from tests.conftest import ENGINES

needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")
KEY = "a" * 40
GOOD = {
    "format": 2,
    "key": KEY,
    "name": "step",
    "made": "2026-01-01T00:00:00+00:00",
    "steps": 7,
    "strategy": ["numpy", "", 0, 1],
    "median": 0.2,
    "best": 0.1,
    "calls": 10,
    "is_disturbed": False,
}
TIMES = [0.2, 0.1, 0.3]
X = np.linspace(-1, 1, 6, dtype="float32")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "plans"))
    learn_freely(monkeypatch)
    return tmp_path / "plans"


def made():
    return dt.function(lambda x: ops.tanh(x * 2.0), engine="auto")


def test_disturbed_times_stand_in_for_others(monkeypatch, tmp_path):
    """Check that disturbed times are used if there are no others, in any order; reports are kept beside them."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    numpy, torch = Strategy("numpy"), Strategy("torch")
    for strategy, seconds, is_disturbed in [
        (numpy, 3.0, True),
        (numpy, 1.0, False),
        (numpy, 5.0, True),
        (torch, 2.0, True),
    ]:
        records.append(KEY, "step", strategy, [seconds], 3, is_disturbed)
    report = Report([Row(numpy, 0.5, 1.0, 1), Row(torch, 0.25, problem="no room")], 0.5, 60.0)
    records.append_report(KEY, "step", 7, report)
    found = records.read(KEY)
    assert {s.engine: (m.median, m.is_disturbed) for s, m in found.times.items()} == {
        "numpy": (1.0, False),
        "torch": (2.0, True),
    }
    assert found.report == report and found.steps == 7


@pytest.mark.parametrize(
    "change",
    [
        {"lost": "0.5"},
        {"rows": 3},
        {"elapsed": float("nan")},
        {"rows": [[["a", "", 0, 1], 1e99, 0.0, 1, 0.0, 0.0, ""]]},
    ],
    ids=str,
)
def test_a_damaged_report_is_ignored(monkeypatch, tmp_path, change):
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    records.append_report(KEY, "step", 3, Report([Row(Strategy("numpy"), 0.5, 1.0, 1)], 0.5, 60.0))
    path = tmp_path / f"{KEY}.jsonl"
    *others, last = path.read_text().splitlines()
    path.write_text("\n".join([*others, json.dumps({**json.loads(last), **change})]))
    assert records.read(KEY).times and not records.read(KEY).report.rows


@needs_two
def test_the_next_process_goes_on(monkeypatch):
    """Check that it starts with the fastest engine, and does not try slow ones again."""
    clock = Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    plan, _ = called(made(), X)
    plan.measurer.keep(is_last=True)
    clock.ran.clear()
    measurer._states.clear()
    function = made()  # as in another process
    with monkeypatch.context() as patch:
        patch.setattr(ledger.Ledger, "room", lambda self, now: ledger.Room(0.0))
        np.testing.assert_allclose(function(X), np.tanh(X * 2), rtol=1e-6)
    assert clock.ran == [ENGINES[-1]] and function.plan(X).measurer.state.earlier >= 400
    called(function, X)
    assert {name.partition(" ")[0] for name in clock.ran} == {ENGINES[-1]}


def test_records_are_listed_and_cleared(monkeypatch, folder):
    for number in range(3):
        records.append(str(number) * 40, "step", Strategy("numpy"), TIMES, 3)
        os.utime(folder / f"{str(number) * 40}.jsonl", (number, number))
    assert [kept.key[0] for kept in records.entries()] == ["2", "1", "0"]
    monkeypatch.setattr(records, "MOST", 2)
    records.append("3" * 40, "step", Strategy("numpy"), TIMES, 3)
    assert [kept.key[0] for kept in records.entries()] == ["3", "2"]
    assert records.clear() == 2 and not list(records.entries())


def test_later_lines_replace_earlier_ones_and_files_stay_small(folder, monkeypatch):
    monkeypatch.setattr(records, "HALF", 2000)
    for number in range(100):
        for strategy in (Strategy("numpy"), Strategy("jax", "patches", group=32)):
            records.append(KEY, "step", strategy, [1.0 + number], number)
    found = records.read(KEY)
    assert found.steps == 99 and {measured.median for measured in found.times.values()} == {100.0}
    assert (folder / f"{KEY}.jsonl").stat().st_size < 2600


def test_several_processes_append(folder):
    program = "import sys; from dovetail.choose import records; from dovetail.execute.choice import Strategy\n"
    program += "records.HALF = 2000\n"  # so the file is rewritten again and again
    program += f"for i in range(50): records.append('{KEY}', 'step', Strategy(sys.argv[1], str(i)), [1.0], i)"
    running = [subprocess.Popen([sys.executable, "-c", program, name]) for name in ("numpy", "torch", "jax")]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(records.read(KEY).times) == 150


def test_a_line_without_an_end_costs_that_line(folder):
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    with (folder / f"{KEY}.jsonl").open("a") as file:
        file.write("\n" + json.dumps(GOOD)[:40])
    records.append(KEY, "step", Strategy("torch"), TIMES, 3)
    assert [strategy.engine for strategy in records.read(KEY).times] == ["numpy", "torch"]


def test_nothing_is_kept_where_that_is_said_or_impossible(monkeypatch, tmp_path):
    monkeypatch.setenv(cache_folder.VARIABLE, "")
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    assert records.folder() is None and not records.read(KEY).times and records.clear() == 0
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "file" / "plans"))
    records.append(KEY, "step", Strategy("numpy"), TIMES, 3)
    assert not records.read(KEY).times


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv(cache_folder.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert records.folder() == tmp_path / "dovetail" / "plans"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert records.folder().parts[-3:] == (".cache", "dovetail", "plans")


WRONG = [
    {"format": 1},
    {"format": True},
    {"key": "b" * 40},
    {"name": 3},
    {"steps": -1},
    {"strategy": []},
    {"strategy": ["numpy", ""]},
    {"strategy": ["numpy", None, 0, 1]},
    {"strategy": ["numpy", "", 0, 0]},
    {"strategy": "numpy"},
    {"median": "0.2"},
    {"best": float("nan")},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_wrong_lines_are_ignored(folder, change):
    folder.mkdir()
    (folder / f"{KEY}.jsonl").write_text(json.dumps(GOOD))
    assert records.read(KEY).times
    (folder / f"{KEY}.jsonl").write_text(json.dumps({**GOOD, **change}))
    assert not records.read(KEY).times and not list(records.entries())


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | st.just(b"[" * 60_000))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_ignored(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("plans")
    (folder / f"{KEY}.jsonl").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache_folder.VARIABLE, str(folder))
        assert not records.read(KEY).times


@given(st.integers(0, 10_000), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_a_damaged_entry_is_ignored_or_means_what_it_says(tmp_path_factory, at, byte):
    text = bytearray(json.dumps(GOOD).encode())
    text[at % len(text)] = byte
    folder = tmp_path_factory.mktemp("plans")
    (folder / f"{KEY}.jsonl").write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache_folder.VARIABLE, str(folder))
        found = records.read(KEY)
        assert found.key == KEY and all(0 < m.median < 1e9 and m.calls > 0 for m in found.times.values())


@pytest.mark.parametrize(
    "strategy", [Strategy("nonsense"), Strategy("numpy", "nonsense"), Strategy("os.system")], ids=str
)
def test_strategies_that_are_not_there_do_not_run(strategy):
    function, strategy = made(), Strategy(*strategy)
    records.append(records.key_of(function.concrete(X).graph, [(6,)]), "step", strategy, [1e-9], 3)
    for _ in range(3):
        np.testing.assert_allclose(function(X), np.tanh(X * 2), rtol=1e-6)
    assert function.plan(X).chosen.strategy != strategy


def test_the_same_bits(engine):
    function = dt.function(lambda x: ops.tanh(x * 2.0), engine="auto", deterministic=True)
    assert len({function(X).numpy().tobytes() for _ in range(50)}) == 1
    assert function.plan(X).is_settled


CHANGES = {
    "threads": lambda patch, place: patch.setenv("DOVETAIL_THREADS", "3"),
    "threads of a library": lambda patch, place: patch.setenv("MKL_NUM_THREADS", "3"),
    "quota": lambda patch, place: patch.setattr(records, "QUOTAS", (place,)),
    "processor": lambda patch, place: patch.setattr(cache_folder, "PROCESSOR", place),
    "fork": lambda patch, place: patch.setattr(records, "_forked", ["forked"]),
    "GPU": lambda patch, place: patch.setattr(records, "DRIVER", place),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_key_stands_for_all_on_which_speed_depends(monkeypatch, tmp_path, name):
    monkeypatch.setattr(records, "machine", records.machine.__wrapped__)
    place = tmp_path / "said"
    place.write_text("model name: abacus\n50000 100000\n")
    graph = dt.function(lambda x: x + 1.0).graph(dt.spec((3,)))
    before = records.key_of(graph, [(3,)])
    assert records.key_of(graph, [(3,)]) == before
    CHANGES[name](monkeypatch, place)
    assert records.key_of(graph, [(3,)]) != before
