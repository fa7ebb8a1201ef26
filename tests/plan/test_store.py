"""What is kept of measurements: found again, bounded, and ignored where it is damaged, foreign, future or hostile."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import ops
from dovetail.plan import choice, store
from dovetail.plan.store import Measured
from tests.conftest import ENGINES
from tests.plan.test_choice import Clock, settled

needs_two = pytest.mark.skipif(len(ENGINES) < 2, reason="there is nothing to choose from")
KEY = "a" * 40
GOOD = {"format": 1, "key": KEY, "name": "step", "shapes": "((3,),)", "made": "2026-01-01T00:00:00+00:00"}
RANKING = [["numpy", "", 0.2, 0.1, 10]]
X = np.linspace(-1, 1, 6, dtype="float32")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "plans"))
    monkeypatch.setattr(choice, "later", lambda function: function())
    return tmp_path / "plans"


def made():
    return dt.function(lambda x: ops.tanh(x * 2.0), engine="auto")


@needs_two
def test_a_second_start_chooses_at_once(monkeypatch):
    clock = Clock(monkeypatch, **{ENGINES[-1]: 0.5})
    settled(made(), X)
    clock.ran.clear()
    function = made()  # as in another process
    np.testing.assert_allclose(function(X), np.tanh(X * 2), rtol=1e-6)
    assert function.plan(X).is_settled and clock.ran == [ENGINES[-1]]
    made()(X[:4])
    assert clock.ran[-1] == "numpy"  # of another shape nothing is known


def test_entries_are_listed_and_cleared(monkeypatch, folder):
    for number in range(3):
        store.write(str(number) * 40, "step", [(3,)], [Measured("numpy", "", 0.2, 0.1, 10)])
        os.utime(folder / f"{str(number) * 40}.json", (number, number))
    assert [entry.key[0] for entry in store.entries()] == ["2", "1", "0"]
    monkeypatch.setattr(store, "MOST", 2)
    store.write("3" * 40, "step", [(3,)], [Measured("numpy", "", 0.2, 0.1, 10)])
    assert [entry.key[0] for entry in store.entries()] == ["3", "2"]
    assert store.clear() == 2 and not list(store.entries())


def test_nothing_is_kept_where_that_is_said_or_impossible(monkeypatch, tmp_path):
    measured = [Measured("numpy", "", 0.2, 0.1, 10)]
    monkeypatch.setenv(store.VARIABLE, "")
    store.write(KEY, "step", [], measured)
    assert store.folder() is None and store.read(KEY) is None and store.clear() == 0
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "file" / "plans"))
    store.write(KEY, "step", [], measured)
    assert store.read(KEY) is None


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv(store.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "dovetail" / "plans"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store.folder().parts[-3:] == (".cache", "dovetail", "plans")


WRONG = [
    {"format": 2},
    {"format": True},
    {"key": "b" * 40},
    {"name": 3},
    {"ranking": []},
    {"ranking": [["numpy", "", 0.2, 0.1]]},
    {"ranking": [["numpy", "", "0.2", 0.1, 10]]},
    {"ranking": [["numpy", None, 0.2, 0.1, 10]]},
    {"ranking": [["numpy", "", 0.2, float("nan"), 10]]},
    {"ranking": {"numpy": 1}},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_what_is_no_entry_is_ignored(folder, change):
    folder.mkdir()
    (folder / f"{KEY}.json").write_text(json.dumps({**GOOD, "ranking": RANKING}))
    assert store.read(KEY) is not None
    (folder / f"{KEY}.json").write_text(json.dumps({**GOOD, "ranking": RANKING, **change}))
    assert store.read(KEY) is None and not list(store.entries())


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | st.just(b"[" * 60_000))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_ignored(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("plans")
    (folder / f"{KEY}.json").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(store.VARIABLE, str(folder))
        assert store.read(KEY) is None


@given(st.integers(0, 10_000), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_a_damaged_entry_is_ignored_or_means_what_it_says(tmp_path_factory, at, byte):
    text = bytearray(json.dumps({**GOOD, "ranking": RANKING}).encode())
    text[at % len(text)] = byte
    folder = tmp_path_factory.mktemp("plans")
    (folder / f"{KEY}.json").write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(store.VARIABLE, str(folder))
        found = store.read(KEY)
        assert found is None or (found.key == KEY and all(map(store._is_measured, found.ranking)))


@pytest.mark.parametrize("way", [["nonsense", ""], ["numpy", "nonsense"], ["os.system", "x"]], ids=str)
def test_ways_that_are_not_there_are_measured_anew(folder, way):
    function = made()
    graph = function.concrete(X).graph
    key = store.key_of(graph, [(6,)])
    store.write(key, "step", [(6,)], [Measured(*way, 0.2, 0.1, 10)])
    np.testing.assert_allclose(function(X), np.tanh(X * 2), rtol=1e-6)
    assert not function.plan(X).is_settled and function.plan(X).chosen.name == "numpy"


def test_a_plan_is_saved_and_replayed(tmp_path, engine, monkeypatch):
    clock = Clock(monkeypatch, **{engine: 0.1})
    function = made()
    plan, _ = settled(function, X) if len(ENGINES) > 1 else (function.plan(X), function(X))
    plan.save(tmp_path / "step.json")
    clock.ran.clear()
    again = dt.function(lambda x: ops.tanh(x * 2.0), replay=tmp_path / "step.json")
    for length in (6, 4):
        np.testing.assert_allclose(again(X[:length]), np.tanh(X[:length] * 2), rtol=1e-6)
        assert again.plan(X[:length]).is_settled
    assert set(clock.ran) == {engine}


def test_the_same_bits(engine):
    function = dt.function(lambda x: ops.tanh(x * 2.0), engine="auto", deterministic=True)
    assert len({function(X).numpy().tobytes() for _ in range(50)}) == 1
    assert function.plan(X).is_settled


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 9, "engine": "numpy", "strategy": ""}', "\x00"])
def test_no_plan(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ValueError, match="is no plan that this version"):
        dt.function(lambda x: x, replay=tmp_path / "plan.json")


def test_a_plan_for_what_is_not_here(tmp_path):
    store.save(tmp_path / "plan.json", ("numpy", "unheard"))
    function = dt.function(lambda x: x + 1.0, replay=tmp_path / "plan.json")
    with pytest.raises(ValueError, match="no strategy 'unheard'"):
        function(X)
