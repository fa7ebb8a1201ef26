"""The journal of an edit: a failed edit undoes its own changes, and no trace that later calls take."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.graph.journal import all_or_nothing


def failing(edit):
    with pytest.raises(RuntimeError, match="the edit fails"), all_or_nothing():
        edit()
        raise RuntimeError("the edit fails")


def test_bodies_that_a_failed_edit_traced_stay_whole(engine):
    rows = 3 if engine == "numpy" else 5  # a shape that nothing else here has
    graph = dt.Graph("edited")
    x = graph.placeholder(dt.spec((rows, 41)))
    with graph.as_default():
        failing(lambda: ops.ones_like(ops.leaky_relu(x)))
    assert [op.type for op in graph.operations] == ["Placeholder"]
    found = dt.function(lambda x: (ops.leaky_relu(x), ops.ones_like(x)))(np.full((rows, 41), -1.0, "float32"))
    np.testing.assert_allclose(found[0].numpy(), np.full((rows, 41), -0.2), rtol=1e-6)
    np.testing.assert_array_equal(found[1].numpy(), np.ones((rows, 41)))


def test_functions_that_a_failed_edit_called_stay_whole(engine):
    double = dt.function(lambda x: x + x)
    failing(lambda: double(np.ones(3)))
    assert double(np.ones(3)).numpy().tolist() == [2, 2, 2]
    assert len(double.graph(dt.spec((3,), "float64")).outputs) == 1


def test_a_failed_edit_undoes_its_changes():
    graph = dt.Graph("edited")
    x = graph.placeholder(dt.spec((2,)))
    with graph.as_default():
        graph.outputs = [ops.exp(x)]
        before = str(graph)
        failing(lambda: setattr(graph, "outputs", [ops.tanh(graph.outputs[0])]))
    assert str(graph) == before
