"""`graph.place`: pins of existing operations, as one edit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import UnknownEngine
from dovetail.core.base.pin import Pin
from tests.passes.checks import traced

X = np.linspace(-1, 1, 9, dtype="float32").reshape(3, 3)


def model(x):
    rows = ops.scan(lambda s, row: (ops.tanh(s + row), s), x[0], x)[1]
    return ops.exp(ops.tanh(rows @ x))


def pins(graph):
    return [(op.type, op.pin) for part in (graph, *graph.subgraphs()) for op in part if op.pin != Pin()]


# what is given → the pins of types of operations, and how many changed
PLACINGS = {
    "map": ({"MatMul": "numpy", "Sin": "torch"}, {"MatMul": Pin("numpy")}, 1),
    "loops too": ({"Tanh": dt.place("numpy", "cpu:0")}, {"Tanh": Pin("numpy", "cpu:0")}, 2),
    "function": (
        lambda op: dt.place(part=len(op.inputs)) if op.type in ("MatMul", "Exp") else None,
        {"MatMul": Pin(part=2), "Exp": Pin(part=1)},
        None,  # the exponential needs the product
    ),
    "none": (lambda op: None, {}, 0),
}


@pytest.mark.parametrize("case", PLACINGS)
def test_placings(case):
    placing, expected, count = PLACINGS[case]
    graph = traced(model, dt.spec((3, 3)))
    if count is None:
        with pytest.raises(ValueError, match="parts run one after another"):
            graph.place(placing)
        assert pins(graph) == []
        return
    assert graph.place(placing) == count
    assert dict(pins(graph)) == expected and len(pins(graph)) == count
    assert graph.place(placing) == 0


def test_what_is_given_replaces_and_an_empty_place_takes_away():
    graph = traced(model, dt.spec((3, 3)))
    graph.place({"MatMul": dt.place("numpy", part="a")})
    graph.place({"MatMul": dt.place(device="cpu:0")})
    assert pins(graph) == [("MatMul", Pin("numpy", "cpu:0", "a"))]
    assert graph.place({"MatMul": dt.place()}) == 1 and pins(graph) == []


def test_it_is_one_edit_that_the_next_run_sees(engine):
    graph = traced(model, dt.spec((3, 3)))
    f = dt.function(graph)
    expected, version = f(X).numpy(), graph.version
    graph.place({"MatMul": "numpy", "Exp": dt.place(part=1)})
    assert graph.version > version
    np.testing.assert_allclose(f(X).numpy(), expected, rtol=1e-5)
    with pytest.raises(IndexError), graph.edit():
        graph.place({"MatMul": "torch", "Tanh": "torch"})
        raise IndexError
    assert dict(pins(graph)) == {"MatMul": Pin("numpy"), "Exp": Pin(part=1)}
    assert pins(copy.copy(graph)) == pins(graph)
    assert "  part 1" in str(graph) and "  on numpy" in str(graph)


WRONG = {
    "type": ({"Matmul": "numpy"}, LookupError, "no op 'Matmul'. Did you mean 'MatMul'"),
    "engine": ({"MatMul": "torhc"}, UnknownEngine, "Did you mean 'torch'"),
    "value": ({"MatMul": 3}, TypeError, "it got 3 for 'MatMul'"),
    "late": (lambda op: 3 if op.type == "Exp" else "numpy", TypeError, "it got 3 for 'Exp'"),
    "name": ("torch", TypeError, "a function of an operation, or a map"),
    "place": (dt.place("numpy"), TypeError, "a function of an operation, or a map"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_placing_changes_nothing(case):
    placing, error, text = WRONG[case]
    graph = traced(model, dt.spec((3, 3)))
    with pytest.raises(error, match=text):
        graph.place(placing)
    assert pins(graph) == []
