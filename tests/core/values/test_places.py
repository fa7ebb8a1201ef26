"""Places: the scope of an engine, a device and a part, for values and for operations that are recorded."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import UnknownEngine
from dovetail.core.base.pin import ANYWHERE, Pin
from dovetail.core.base.scopes import scopes
from dovetail.core.engines import devices
from dovetail.core.engines.engine_registry import current_engine

# the places of nested scopes → the pin of an operation inside of them
NESTED = {
    "one": ([{"engine": "numpy", "device": "cpu:0", "part": 1}], Pin("numpy", "cpu:0", 1)),
    "merged": ([{"engine": "numpy"}, {"part": "a"}, {"device": "cpu"}], Pin("numpy", "cpu", "a")),
    "inner wins": ([{"device": "gpu:0", "part": 1}, {"device": "cpu:0", "part": 0}], Pin(None, "cpu:0", 0)),
    "closed": ([{"engine": "numpy", "part": 3}, {}, {"device": "cpu:0"}], Pin(None, "cpu:0", None)),
    "auto leaves the engine": ([{"engine": "numpy"}, {"engine": "auto"}], Pin("numpy")),
    "auto and a part": ([{"engine": "numpy"}, {"engine": "auto", "part": 2}], Pin("numpy", None, 2)),
}


def nested(places, compute):
    if not places:
        return compute()
    with dt.place(**places[0]):
        return nested(places[1:], compute)


@pytest.mark.parametrize("case", NESTED)
def test_operations_are_pinned_by_the_scopes_around_them(case):
    places, pin = NESTED[case]
    inside = dt.function(lambda x: ops.exp(nested(places, lambda: ops.tanh(x)))).graph(dt.spec((2,)))
    assert {op.type: op.pin for op in inside if op.inputs} == {"Tanh": pin, "Exp": Pin()}
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        assert nested(places, lambda: ops.tanh(x)).op.pin == pin and ops.tanh(x).op.pin == Pin()


def test_a_place_is_for_values_too(engine):
    with dt.place(engine, "cpu:0", part=1):
        x = ops.constant([1.0, 2.0])
        assert scopes().device == Pin(engine, "cpu:0") and current_engine().name == engine
        with dt.place():
            assert scopes().device is ANYWHERE and scopes().engine is None
    assert (x.engine, x.device) == (engine, "cpu:0") and scopes().device is ANYWHERE


def test_a_place_is_opened_again_and_inside_itself():
    twice = dt.place("numpy", part="a")

    def f(x):
        with twice, twice:
            x = ops.exp(x)
        y = ops.tanh(x)
        with twice:
            return ops.sin(y)

    graph = dt.function(f).graph(dt.spec(()))
    assert [op.part for op in graph if op.inputs] == ["a", None, "a"]


def test_a_called_function_takes_the_place_around_the_call(engine):
    inner = dt.function(lambda x: nested([{"part": 0}], lambda: ops.exp(x)) * 2.0)

    def f(x):
        with dt.place(engine, part=1):
            return inner(x)

    graph = dt.function(f).graph(dt.spec((2,)))
    assert {op.type: op.pin for op in graph if op.inputs} == {"Exp": Pin(engine, None, 0), "Mul": Pin(engine, None, 1)}
    np.testing.assert_allclose(dt.function(f)(np.float32([0, 1])), 2 * np.exp([0, 1]), rtol=1e-6)


def test_session_graphs_are_pinned_by_places_and_not_by_current_engines():
    graph = dt.SessionGraph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.as_default(), dt.engine("numpy"):
        assert ops.exp(x).op.engine is None
        with dt.place("numpy"):
            assert ops.exp(x).op.engine == "numpy"


def test_the_nearest_device_and_one_line_in_the_log(engine, monkeypatch, caplog):
    monkeypatch.setattr(devices, "_told", set())
    there = current_engine().devices()

    def f(x):
        with dt.place(device="gpu:99"):
            return ops.exp(x)

    for _ in range(2):
        with dt.device("gpu:99"):
            assert ops.zeros((2,)).device == next((d for d in there[::-1] if d.startswith("gpu")), there[0])
        assert dt.function(f)(np.zeros(2, "float32")).numpy().tolist() == [1, 1]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "dovetail.place"]
    assert line.startswith(f"{engine} has no device gpu:99 here; it has {', '.join(there)}. ")
    graph = dt.function(f).graph(dt.spec((2,)))
    dt.set_soft_placement(False)
    try:
        with pytest.raises(ValueError, match=f"the engine '{engine}' has the devices"), dt.device("gpu:99"):
            pass
        with pytest.raises(ValueError, match=r"Exp at test_places.py:\d+: 'Exp' .*'gpu:99', but"):
            dt.function(graph)(np.zeros(2, "float32"))
    finally:
        dt.set_soft_placement(True)


# what is given → the error, and what it says
WRONG = {
    "engine": ({"engine": "torhc"}, UnknownEngine, "Did you mean 'torch'"),
    "no name": ({"engine": 3}, TypeError, "by its name"),
    "device": ({"engine": "numpy", "device": "cpu 0"}, ValueError, "numpy' has the devices cpu:0 here, not 'cpu 0'"),
    "device of another kind": ({"device": 3}, ValueError, "has the devices"),
    "part": ({"part": 1.5}, TypeError, "a part is a number or a name"),
    "truth": ({"part": True}, TypeError, "a part is a number or a name"),
    "nameless": ({"part": ""}, TypeError, "a part is a number or a name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_places(case):
    given, error, text = WRONG[case]
    with pytest.raises(error, match=text):
        dt.place(**given)


def test_an_unknown_type_of_device_is_no_wish():
    with pytest.raises(ValueError, match="not 'gup:0'"), dt.place(device="gup:0"):
        pass
    assert scopes().device is ANYWHERE


def test_soft_placement_is_a_truth_value():
    with pytest.raises(TypeError, match="True or False, not 'yes'"):
        dt.set_soft_placement("yes")
