"""Registered gradients and override maps: guided backpropagation, gradient clipping, and what goes wrong."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


@dt.RegisterGradient("GuidedRelu")
def _(op, g):
    """Springenberg et al. (2014): only positive gradients pass."""
    return ops.where(ops.logical_and(g > 0, op.outputs[0] > 0), g, 0.0)


@dt.RegisterGradient("ClippedMatMul")
def _(op, g):
    assert op.type == "MatMul" and op.attr("transpose_a") is False
    x, y = op.inputs
    dx, dy = ops.matmul(g, y, transpose_b=True), ops.matmul(x, g, transpose_a=True)
    return [ops.minimum(ops.maximum(d, -0.1), 0.1) for d in (dx, dy)]


@dt.RegisterGradient("Tripled")
def _(op, g):
    return 3 * g


def saliency(x, scope):
    """The gradient of a small net, whose hidden layer is made inside a `with` block."""
    with dt.GradientTape() as tape:
        tape.watch(x)
        with scope():
            hidden = ops.relu(x * 2.0)
        y = ops.sum(hidden * ops.constant([1.0, -1.0, 1.0]))
    return tape.gradient(y, x)


def test_guided_backpropagation(engine):
    x = ops.constant([1.0, 2.0, -3.0])

    def guided():
        return dt.gradient_override_map({"Relu": "GuidedRelu"})

    def plain():
        return dt.gradient_override_map({})

    for compiled in (False, True):
        wrap = dt.function if compiled else lambda f: f
        assert wrap(lambda x: saliency(x, plain))(x).numpy().tolist() == [2, -2, 0]
        assert wrap(lambda x: saliency(x, guided))(x).numpy().tolist() == [2, 0, 0]
    with guided():
        f = dt.function(lambda x: ops.sum(ops.relu(x) * ops.constant([1.0, -1.0, 1.0])))
        f(x)  # traced here, so its operations carry the map
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy().tolist() == [1, 0, 0]


def test_graph_override_map():
    """Only operations made in this graph inside the block; maps nest, and the inner one wins."""
    graph, other = dt.Graph(), dt.Graph()
    with other.as_default():
        z = other.placeholder(dt.spec((2,)), "z")
    with graph.as_default():
        x = graph.placeholder(dt.spec((2,)), "x")
        before = ops.tanh(x)
        with graph.gradient_override_map({"Tanh": "Tripled", "Relu": "Tripled"}):
            inside = ops.tanh(x)
            with graph.gradient_override_map({"Tanh": "GuidedRelu"}):
                nested = ops.tanh(ops.relu(x))
            with other.as_default():
                elsewhere = ops.tanh(z)
        after = ops.tanh(x)
    assert [dict(t.op.overrides).get("Tanh") for t in (before, inside, nested, elsewhere, after)] == [
        None, "Tripled", "GuidedRelu", None, None,
    ]  # fmt: skip
    assert nested.op.inputs[0].op.overrides["Relu"] == "Tripled"
    with graph.as_default():
        assert dt.gradients(inside, x)[0].op.type == "Mul"


def test_gradient_clipping(engine):
    x, w = ops.constant([[1.0, 2.0]]), dt.Variable([[3.0], [4.0]])
    with dt.GradientTape() as tape, dt.gradient_override_map({"MatMul": "ClippedMatMul"}):
        tape.watch(x)
        y = ops.sum(x @ w)
    np.testing.assert_allclose(
        np.concatenate([g.numpy().ravel() for g in tape.gradient(y, [x, w])]), [0.1] * 4, rtol=1e-6
    )


def test_inside_composites(engine):
    """An override reaches the ops that a composite consists of, unless it names the composite itself."""
    x = ops.constant([1.0, 2.0])

    def found(overrides, compiled):
        def program(x):
            with dt.GradientTape() as tape:
                tape.watch(x)
                with dt.gradient_override_map(overrides):
                    y = ops.mean(x)
            return tape.gradient(y, x, output_gradients=ops.constant(1.0))

        return (dt.function(program) if compiled else program)(x).numpy().tolist()

    for compiled in (False, True):
        assert found({}, compiled) == [0.5, 0.5]
    with dt.GradientTape() as tape:
        tape.watch(x)
        with dt.gradient_override_map({"Square": "Tripled"}):
            y = ops.square(x)
    assert tape.gradient(y, x).numpy().tolist() == [3, 3]


def test_unknown_names():
    x = ops.constant(1.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        with dt.gradient_override_map({"Tanh": "GuidedRelo"}):
            y = ops.tanh(x)
    with pytest.raises(LookupError, match=r"Tanh at test_registry.py:\d+.*'GuidedRelo'; did you mean GuidedRelu"):
        tape.gradient(y, x)
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        with graph.gradient_override_map({"Tanh": "NobodyKnows"}):
            y = ops.tanh(x)
        with pytest.raises(LookupError, match=r"Tanh at test_registry.py:\d+.*'NobodyKnows'"):
            dt.gradients(y, x)
        with (
            pytest.raises(LookupError, match="'Reluu'; did you mean Relu"),
            graph.gradient_override_map({"Reluu": "x"}),
        ):
            pass


def test_taken_names():
    with pytest.raises(KeyError, match="'GuidedRelu'"):
        dt.RegisterGradient("GuidedRelu")(lambda op, g: g)
    with pytest.raises(KeyError, match="'MatMul'"):
        dt.RegisterGradient("MatMul")(lambda op, g: g)
    with pytest.raises(TypeError, match="a str"):
        dt.RegisterGradient(3)


def test_wrong_number_of_gradients():
    @dt.RegisterGradient("TooMany")
    def _(op, g):
        return g, g

    x = ops.constant(1.0)
    with dt.GradientTape() as tape, dt.gradient_override_map({"Tanh": "TooMany"}):
        tape.watch(x)
        y = ops.tanh(x)
    with pytest.raises(ValueError, match="2 gradients for 1 inputs"):
        tape.gradient(y, x)
