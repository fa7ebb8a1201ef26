"""Replaying a graph inside of another: its effects reach the variables and tapes at the place of the call."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.edit.replay import replay


@pytest.fixture
def source():
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((None,)), "x")
    graph.outputs = [ops.tanh(x) * 2.0]
    return graph


def test_one_result_or_several(source):
    target = dt.Graph("target")
    y = target.placeholder(dt.spec((3,)), "y")
    with target.as_default():
        one = replay(source, y)
        source.outputs = [*source.outputs, source.inputs[0]]
        two = replay(source, y)
        source.outputs = []
        none = replay(source, y)
    assert one.graph is target and one.op.inputs[0].op.inputs[0] is y
    assert type(two) is tuple and two[1] is y
    assert none == ()
    target.validate()


def test_what_does_not_fit_is_refused(source):
    source.inputs[0].set_shape((3,))
    target = dt.Graph("target")
    y = target.placeholder(dt.spec((2,)), "y")
    with target.as_default():
        with pytest.raises(TypeError, match="the graph has 1 inputs, not 2"):
            replay(source, y, y)
        with pytest.raises(
            ValueError, match=r"y:0 float32\[2\]> does not fit the input <graph tensor x:0 float32\[3\]>"
        ):
            replay(source, y)
        tanh = source.outputs[0].op.inputs[0]
        source.outputs = [source.inputs[0]]
        source.prune()
        source.outputs = [tanh]
        with pytest.raises(ValueError, match="was removed"):
            replay(source, target.placeholder(dt.spec((3,))))
    with pytest.raises(TypeError, match="a graph runs on Tensors"):
        replay(source, np.ones(3))


def test_inputs_are_cast(source):
    target = dt.Graph("target")
    with target.as_default():
        found = replay(source, target.placeholder(dt.spec((3,), "int32"), "y"))
    assert found.dtype == "float32"
    assert "Cast" in [op.type for op in target.operations]


def test_variables_are_read_before_they_are_assigned(engine):
    """Check that reads give the variables' values at the time of each call."""
    v = dt.Variable(1.0, name="v")
    graph = dt.Graph("count")
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        before = v.read()
        v.assign(before + x)
        graph.outputs = [before, v.read()]
    run = dt.function(graph)
    twice = dt.function(lambda x: (run(x), run(x * 10.0)))
    found = [[float(t) for t in pair] for pair in twice(np.float32(2.0))]
    assert found == [[1, 3], [3, 23]]
    assert float(v) == 23


def test_eager_tensors_of_a_graph_are_followed_by_tapes(engine):
    c = ops.constant([1.0, 2.0])
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((2,)), "x")
    graph.outputs = [x * c]
    run = dt.function(graph)
    with dt.GradientTape() as tape:
        tape.watch(c)
        y = dt.function(lambda x: run(x) * 3.0)(ops.constant([5.0, 7.0]))
    assert tape.gradient(y, c).numpy().tolist() == [15, 21]


def test_overrides_around_a_call_apply_to_what_it_adds():
    @dt.RegisterGradient("ReplaysOwn")
    def _(op, g):
        return g * 100.0

    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec(()), "x")
    graph.outputs = [ops.tanh(x)]
    target = dt.Graph("target")
    with target.as_default(), target.gradient_override_map({"Tanh": "ReplaysOwn"}):
        y = replay(graph, target.placeholder(dt.spec(()), "y"))
    assert dict(y.op.overrides) == {"Tanh": "ReplaysOwn"}
    assert dict(graph.outputs[0].op.overrides) == {}


def test_a_call_infers_the_shapes_that_it_gives():
    graph = dt.Graph("source")
    x = graph.placeholder(dt.spec((None, 4)), "x")
    with graph.as_default():
        graph.outputs = [ops.reshape(ops.tanh(x), ops.stack([ops.shape(x)[0], 2, 2]))]
    run = dt.function(graph)
    assert dt.function(lambda x: run(x)).graph(dt.spec((3, 4))).outputs[0].shape == (3, 2, 2)
    assert graph.outputs[0].shape == (None, 2, 2)
