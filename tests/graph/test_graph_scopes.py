"""Pins of operations: the devices of engines by their own names, and wishes."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.definition import node_def_of
from dovetail.core.base.pin import Pin
from dovetail.core.engines.devices import soft_placement_of_run
from dovetail.core.wish import Wish
from dovetail.graph.attributes import Beside
from dovetail.graph.document import document_of, graph_of


def test_dovetails_own_devices_are_recorded_where_a_graph_is_built(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default(), dt.place("numpy"), dt.device("cpu:0"):
        y = ops.exp(x)
    assert y.op.pin == Pin("numpy", "cpu:0") and node_def_of(y.op).device == "/device:CPU:0"
    assert ops.exp(x).op.pin == Pin()

    def f(x):
        with dt.device("cpu:0"):
            x = ops.tanh(x)
        return ops.exp(x)

    assert [op.device for op in dt.function(f).graph(dt.spec((2,))) if op.inputs] == ["cpu:0", ""]
    np.testing.assert_allclose(dt.function(f)(np.float32([0, 1])), np.exp(np.tanh([0, 1])), rtol=1e-6)


@pytest.mark.parametrize(
    ("wish", "found"),
    [
        (Wish("any gpu", "gpu"), "gpu:0"),
        (Wish("gpu 1", "gpu", 1), "gpu:1"),
        (Wish("gpu 2", "gpu", 2), None),
        (Wish("far", "gpu", 0, is_here=False), None),
        (Wish("nothing"), None),
    ],
)
def test_wishes_are_granted_by_kind_and_number(wish, found):
    assert wish.granted(("cpu:0", "gpu:0", "gpu:1")) == found
    assert wish.names_device == (wish != "nothing")
    for again in (copy.copy(wish), pickle.loads(pickle.dumps(wish))):
        assert (again, again.facts) == (wish, wish.facts)


def test_wishes_stay_wishes_in_documents(engine):
    graph = dt.Graph()
    y = ops.exp(graph.placeholder(dt.spec((2,)), "x"), name="y")
    y.op.device = Wish("a fast one", "tpu", 7)
    graph.outputs = [y]
    beside = Beside()
    document = json.loads(json.dumps(document_of(graph, beside)))
    for other in (copy.copy(graph), pickle.loads(pickle.dumps(graph)), graph_of(document, beside)):
        found = other.get_operation("y").device
        assert (found, found.facts) == ("a fast one", ["tpu", 7, True])
        assert dt.function(other)(np.zeros(2, "float32")).numpy().tolist() == [1.0, 1.0]
    y.op.device = "tpu:7"
    problem = r"to be computed on the device 'tpu:7', but .* has the devices"
    with soft_placement_of_run(False), pytest.raises(ValueError, match=problem):
        dt.function(copy.copy(graph))(np.zeros(2, "float32"))
