"""Plans and choices in files: loaded, called and replayed, with the times that decided; and damaged ones."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.choose.measured_plan import MeasuredPlan
from dovetail.core.base.errors import FormatError
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.choice import Choice, Row, Strategy
from dovetail.execute.plan import Plan
from tests.choose.measuring import Clock, called, learn_freely
from tests.choose.test_records import needs_two
from tests.formats.test_saved import again, changed

X = np.linspace(-1, 1, 6, dtype="float32")
CHOICE = Choice(Strategy("numpy"), (Row(Strategy("numpy"), 0.5, 0.25, 3), Row(Strategy("torch", "", 1), problem="no")))


def step(x):
    return ops.tanh(x * 2.0)


def on(plan, x):
    """The result of a plan on an array."""
    holder = plan.holder
    return holder.to_numpy(plan([holder.asarray(x, dt.dtypes.as_dtype(x.dtype))])[0])


def test_a_plan_is_saved_and_replayed(tmp_path, engine, monkeypatch):
    clock = Clock(monkeypatch)
    plan = dt.function(step, engine="auto").plan(X)
    plan.pin(engine)
    dt.save(plan, tmp_path / "plan")
    dt.save(plan.choice, tmp_path / "choice")
    for given in (plan, plan.choice, tmp_path / "plan", str(tmp_path / "choice"), dt.load(tmp_path / "plan")):
        found = dt.function(step, replay=given)
        for length in (6, 4):
            for _ in range(20):
                np.testing.assert_allclose(found(X[:length]), np.tanh(X[:length] * 2), rtol=1e-6)
            assert found.plan(X[:length]).is_settled
    assert set(clock.ran) == {engine}


@needs_two
def test_a_choice_is_kept_with_its_times(tmp_path, monkeypatch):
    learn_freely(monkeypatch)
    Clock(monkeypatch, numpy=0.5, torch=0.1, jax=1.0, tensorflow=1.0)
    function = dt.function(step, engine="auto")
    plan, _ = called(function, X)
    found = again(plan, tmp_path / "x")
    assert found.choice == plan.choice and found.choice.strategy.name == plan.chosen.strategy.name
    measured = {row.strategy.name: row.measured for row in found.choice.rows if row.measured}
    assert len(measured) >= 2 and measured[found.choice.strategy.name] == min(measured.values())
    assert found.choice.summary == plan.choice.summary and str(found).splitlines()[1].partition(":")[0] in str(plan)
    assert again(found, tmp_path / "y").choice == plan.choice


def test_a_loaded_plan_runs(tmp_path, engine):
    w = dt.Variable(np.ones(6, "float32"), name="w")

    def step(x):
        w.assign_add(ops.ones(6))
        return ops.tanh(x) * w

    for name in ("auto", engine):
        plan = dt.function(step, engine=name).plan(X)
        assert isinstance(plan, MeasuredPlan if name == "auto" else Plan)
        found = again({"plan": plan, "same": [plan], "w": w}, tmp_path / "x")
        assert found["same"][0] is found["plan"] and found["plan"].choice.strategy == plan.choice.strategy
        before = found["w"].numpy()
        np.testing.assert_allclose(on(found["plan"], X), np.tanh(X) * (before + 1), rtol=1e-5)
        assert found["w"].numpy().tolist() == (before + 1).tolist() and w.numpy()[0] == before[0]


def test_pins_and_unknown_dimensions(tmp_path, engine):
    graph = dt.function(lambda x: ops.tanh(ops.exp(x)) * 2.0).graph(dt.spec((None,)))
    graph.get_operation("Tanh").engine = "numpy"
    plan = dt.function(graph, engine=engine).plan(X)
    found = again(plan, tmp_path / "x")
    for length in (6,) if plan.shapes else (6, 4):  # some engines compile for certain shapes
        np.testing.assert_allclose(on(found, X[:length]), np.tanh(np.exp(X[:length])) * 2, rtol=1e-5)
    assert [s.graph.find(type="Tanh") != [] for s in found.segments if s.engine.name == "numpy"].count(True) == 1


def test_a_preferred_variant_is_kept():
    graph = dt.function(lambda x: x + 1.0).graph(dt.spec((2,)))
    for name, rules in get_engine("numpy").strategies.items():
        assert Plan(graph, get_engine("numpy"), variants=rules).choice.strategy == Strategy("numpy", name)


def test_another_process_replays_it(tmp_path):
    dt.save(dt.function(step, engine="numpy").plan(X), tmp_path / "x")
    code = (
        "import sys, numpy as np, dovetail as dt\n"
        "plan = dt.load(sys.argv[1])\n"
        "f = dt.function(plan.graph, replay=plan)\n"
        "print(plan.choice.strategy.name, f(np.ones(6, 'float32')).numpy().round(1).tolist() == [1.0] * 6)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x"], capture_output=True, text=True, timeout=300)
    assert done.stdout == "numpy True\n", done.stderr


@pytest.mark.parametrize("value", [3, {"plan": 1}, [CHOICE], ops.ones(2)], ids=str)
def test_no_plan(tmp_path, value):
    dt.save(value, tmp_path / "x")
    with pytest.raises(ValueError, match=r"function at .*x' holds .*, not a plan or its choice\. Write one"):
        dt.function(step, replay=tmp_path / "x")
    with pytest.raises(ValueError, match=r"this is .*, not a plan or its choice"):
        dt.function(step, replay=dt.spec(()))


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format": 2, "strategy": ["numpy", "", 0, 1]}', bytes(8)])
def test_no_file_of_a_plan(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FormatError):
        dt.function(step, replay=tmp_path / "x")


def test_a_plan_for_what_is_not_here():
    function = dt.function(step, replay=Choice(Strategy("numpy", "unheard")))
    with pytest.raises(ValueError, match="no strategy 'unheard'"):
        function(X)


def of_plan(change):
    def changing(document):
        change(next(part["plan"] for part in document["parts"] if "plan" in part))
        return document

    return changing


def of_choice(change):
    return of_plan(lambda plan: change(plan["choice"]["choice"]))


DAMAGED = {
    "no graph": (of_plan(lambda p: p.update(graph=None)), "a plan has the graph None"),
    "no choice": (of_plan(lambda p: p.update(choice=[1])), "and the choice"),
    "a plan as a graph": (of_plan(lambda p: p.update(graph={"part": 0})), "holds itself"),
    "no shapes": (of_plan(lambda p: p.update(shapes=[])), "takes 1 arguments, and 0 are said"),
    "a shape of words": (of_plan(lambda p: p.update(shapes=[["a"]])), "is no shape"),
    "a strategy too short": (of_choice(lambda c: c.update(strategy=["numpy"])), "it is no strategy"),
    "a strategy of numbers": (of_choice(lambda c: c.update(strategy=[1, 2, 3, 4])), "it is no strategy"),
    "a negative time": (of_choice(lambda c: c["rows"][0].__setitem__(1, -1.0)), "a time of a strategy is none"),
    "a time of words": (of_choice(lambda c: c["rows"][0].__setitem__(2, "fast")), "times of other types"),
    "half a row": (of_choice(lambda c: c["rows"].append([1])), "not enough values"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_plans(tmp_path, case):
    change, text = DAMAGED[case]
    dt.save(dt.function(step, replay=CHOICE).plan(X), tmp_path / "x")
    changed(tmp_path / "x", change)
    with pytest.raises(FormatError, match=text):
        dt.load(tmp_path / "x")
