"""Locality: the transfers that a placement costs, with sizes, times, and the pins that cause them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.plan import Plan
from tests.libraries import require

require("torch", "values move between numpy and torch")

TIME = re.compile(r" (µs|ms|s)\b")


def program(x):
    return ops.exp(ops.tanh(ops.sin(x)) * 2.0)


def placed(placing, shape=(4, 3)):
    graph = dt.function(program).graph(dt.spec(shape))
    graph.place(placing)
    return graph


def rows(found):
    return [(c.tensor, c.sender, c.receiver, c.size, [cause.operation for cause in c.causes]) for c in found.crossings]


def test_the_pins_that_cause_transfers():
    graph = placed({"Tanh": "torch"})
    found = dt.locality(graph, "numpy")
    assert rows(found) == [("Sin:0", "numpy", "torch", 48, ["Tanh"]), ("Tanh:0", "torch", "numpy", 48, ["Tanh"])]
    (cause,) = found.crossings[0].causes
    assert cause.place == "torch" and cause.where.startswith("test_locality.py:")
    assert found.size == 96 and all(c.seconds is None and c.loop == "" for c in found.crossings)
    lines = str(found).splitlines()
    assert lines[0] == "locality of 'program' on numpy: 2 transfers, 96 B"
    assert lines[1:3] == ["  Sin:0 from numpy to torch: 48 B", f"    Tanh is placed on torch ({cause.where})"]


def test_pins_at_both_ends():
    graph = placed({"Sin": "torch", "Tanh": "numpy"})
    assert rows(dt.locality(graph, "numpy")) == [
        ("arg0:0", "numpy", "torch", 48, ["Sin"]),
        ("Sin:0", "torch", "numpy", 48, ["Sin"]),
    ]
    everything = placed(lambda op: "torch")
    assert [row[0] for row in rows(dt.locality(everything, "numpy"))] == ["arg0:0", "Exp:0"]


def test_a_placement_without_transfers():
    found = dt.locality(placed({}), "numpy")
    assert (found.crossings, str(found)) == ((), "locality of 'program' on numpy: no transfers")


def test_the_current_engine_is_the_place():
    with dt.engine("torch"):
        assert dt.locality(placed({"Tanh": "torch"})).crossings == ()


def test_unknown_shapes_have_no_size(monkeypatch):
    found = dt.locality(placed({"Tanh": "torch"}, (None, 3)), "numpy", measure=True)
    assert [(c.size, c.seconds) for c in found.crossings] == [(None, None)] * 2
    assert "Sin:0 from numpy to torch: unknown size" in str(found)


def test_a_measured_plan_prints_the_times():
    plan = Plan(placed({"Tanh": "torch"}), get_engine("numpy"))
    assert "move Sin:0 from numpy to torch, 48 B\n" in str(plan)
    found = dt.locality(plan, measure=True)
    assert all(0 < c.seconds < 1 for c in found.crossings) and len(TIME.findall(str(found))) == 2
    assert len(TIME.findall(str(plan))) == 2
    assert dt.locality(plan) == found
    x = np.ones((4, 3), "float32")
    np.testing.assert_allclose(plan([x])[0], np.exp(np.tanh(np.sin(x)) * 2), rtol=1e-6)


def test_a_function_with_any_engine():
    f = dt.function(placed({"Tanh": "torch"}), engine="auto")
    found = dt.locality(f.plan(dt.spec((4, 3))))
    assert {row[0] for row in rows(found)} <= {"arg0:0", "Sin:0", "Tanh:0", "Exp:0"}


def test_transfers_in_loops():
    def turn(v):
        with dt.place(engine="torch"):
            return ops.tanh(v)

    graph = dt.function(
        lambda x: ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, turn(v) + 1.0), (0, x))[1]
    ).graph(dt.spec((2,)))
    found = dt.locality(graph, "numpy", measure=True)
    assert len(found.crossings) == 2 and all(c.loop == "While" and c.size == 8 for c in found.crossings)
    assert [cause.operation for c in found.crossings for cause in c.causes] == ["Tanh", "Tanh"]
    assert ", in each turn of While" in str(found)


def test_buffers_are_printed():
    graph = dt.function(program).graph(dt.spec((1000, 3)))
    (line,) = str(Plan(graph, get_engine("numpy"))).splitlines()[1:]
    assert line == "  numpy (cpu:0): Sin, Tanh, Mul, Exp; 1 buffer, 12 kB"


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"locality.*a graph, with an engine or without, or a plan, not 3"):
        dt.locality(3)
    with pytest.raises(TypeError, match="or a plan"):
        dt.locality(Plan(placed({}), get_engine("numpy")), engine="torch")
