"""Places: who computes each node of a graph of TensorFlow, and the same values as there."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.formats.tensorflow.places import Place, Places
from tests.formats.tensorflow.calling import tf
from tests.formats.tensorflow.host.test_graphs import read
from tests.formats.tensorflow.host.test_nodes import check
from tests.libraries import require

require("tensorflow", "graphs are compared with it")


@pytest.fixture
def places(monkeypatch):
    """Names of nodes → their places, of the graphs that the test reads."""
    known: dict[str, Place] = {}
    of = Places.of

    def noted(self, node):
        known[node.name] = of(self, node)
        return known[node.name]

    monkeypatch.setattr(Places, "of", noted)
    return known


def test_a_node_has_one_place(places):
    with tf.Graph().as_default() as graph:
        length = tf.strings.length(tf.compat.v1.placeholder(tf.string, (3,), "x"), name="length")  # of strings
        less = tf.subtract(length, 1, name="less")  # integers of the host's alone
        floats = tf.cast(less, tf.float32, name="floats")  # floats of the host's alone
        added = tf.add(floats, tf.compat.v1.placeholder_with_default([0.5, 1.0, 2.0], (3,)), name="added")
    given = np.array(["a", "bcd", ""], object)
    results = read(graph, [added.name, less.name])(given)
    wanted = {"length": Place.HOST, "less": Place.SHAPED, "floats": Place.EITHER, "added": Place.GRAPH}
    assert {name: places[name] for name in wanted} == wanted
    with tf.compat.v1.Session(graph=graph) as session:
        expected = session.run([added, less], {"x:0": given})
    check([results[added.name].numpy(), results[less.name].numpy()], expected)
