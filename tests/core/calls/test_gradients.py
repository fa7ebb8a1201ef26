"""Registered gradients and override maps: guided backpropagation, gradient clipping, and errors."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops


@dt.RegisterGradient("GuidedOfTests")
def _(op, g):
    """Let only positive gradients pass, as Springenberg et al. (2014)."""
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


dt.RegisterGradient("Gives1")(lambda op, g: g)
dt.RegisterGradient("Gives2")(lambda op, g: (g, g))


def saliency(x, scope):
    """The gradient of a small net whose hidden layer is made inside a `with` block."""
    with dt.GradientTape() as tape:
        tape.watch(x)
        with scope():
            hidden = ops.relu(x * 2.0)
        y = ops.sum(hidden * ops.constant([1.0, -1.0, 1.0]))
    return tape.gradient(y, x)


def test_guided_backpropagation(engine):
    x = ops.constant([1.0, 2.0, -3.0])

    def guided():
        return dt.gradient_override_map({"Relu": "GuidedOfTests"})

    def plain():
        return dt.gradient_override_map({})

    for compiled in (False, True):
        wrap = dt.function if compiled else lambda f: f
        assert wrap(lambda x: saliency(x, plain))(x).numpy().tolist() == [2, -2, 0]
        assert wrap(lambda x: saliency(x, guided))(x).numpy().tolist() == [2, 0, 0]
    with guided():
        graph = dt.function(lambda x: ops.sum(ops.relu(x) * ops.constant([1.0, -1.0, 1.0]))).graph(x)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = dt.function(graph)(x)  # its operations carry the map
    assert tape.gradient(y, x).numpy().tolist() == [1, 0, 0]


def test_graph_override_map():
    """Check that only operations made in this graph inside the block are overridden.

    Maps nest, and the inner one wins.
    """
    graph, other = dt.Graph(), dt.Graph()
    with other.as_default():
        z = other.placeholder(dt.spec((2,)), "z")
    with graph.as_default():
        x = graph.placeholder(dt.spec((2,)), "x")
        before = ops.tanh(x)
        with graph.gradient_override_map({"Tanh": "Tripled", "Relu": "Tripled"}):
            inside = ops.tanh(x)
            with graph.gradient_override_map({"Tanh": "GuidedOfTests"}):
                nested = ops.tanh(ops.relu(x))
            with other.as_default():
                elsewhere = ops.tanh(z)
        after = ops.tanh(x)
    assert [dict(t.op.overrides).get("Tanh") for t in (before, inside, nested, elsewhere, after)] == [
        None, "Tripled", "GuidedOfTests", None, None,
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
    """Check that an override reaches the ops inside a composite, unless it names the composite itself."""
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
        with dt.gradient_override_map({"Tanh": "GuidedOfTest0"}):
            y = ops.tanh(x)
    with pytest.raises(LookupError, match=r"Tanh at test_gradients.py:\d+.*Test0'; did you mean GuidedOfTests"):
        tape.gradient(y, x)
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        with graph.gradient_override_map({"Tanh": "NobodyKnows"}):
            y = ops.tanh(x)
        with pytest.raises(LookupError, match=r"Tanh at test_gradients.py:\d+.*'NobodyKnows'"):
            dt.gradients(y, x)
        with (
            pytest.raises(LookupError, match="'Reluu'; did you mean Relu"),
            graph.gradient_override_map({"Reluu": "x"}),
        ):
            pass
        with (
            pytest.raises(LookupError, match=r"no op of the type 'Zzzzzz'\.$"),
            graph.gradient_override_map({"Zzzzzz": "x"}),
        ):
            pass


def test_unknown_names_like_no_other():
    x = ops.constant(1.0)
    with dt.GradientTape() as tape, dt.gradient_override_map({"Tanh": "Zzzzzz"}):
        tape.watch(x)
        y = ops.tanh(x)
    with pytest.raises(LookupError, match=r"'Zzzzzz'; register it with RegisterGradient\(name\)"):
        tape.gradient(y, x)


def test_taken_names():
    with pytest.raises(KeyError, match=r"'GuidedOfTests' is taken, by .*test_gradients.py:\d+; choose"):
        dt.RegisterGradient("GuidedOfTests")(lambda op, g: g)
    with pytest.raises(KeyError, match="'MatMul' is taken, by <op MatMul>"):
        dt.RegisterGradient("MatMul")(lambda op, g: g)
    with pytest.raises(TypeError, match="a str"):
        dt.RegisterGradient(3)


@pytest.mark.parametrize(("op", "count"), [("Mul", 1), ("Tanh", 2), ("PadV2", 2)])
def test_the_number_of_gradients_is_checked_everywhere_a2(op, count):
    graph, x = dt.Graph(), ops.constant([1.0, 2.0])

    def f(x):
        with dt.gradient_override_map({op: f"Gives{count}"}):
            return ops.pad(ops.tanh(x) * x, 1)

    def taped(function):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    def loop(x):
        return ops.scan(lambda s, _: (s + ops.sum(f(x)), None), 0.0, np.zeros(2, "float32"))[0]

    ways = [
        lambda: taped(f),
        lambda: taped(dt.function(f)),
        lambda: taped(dt.function(loop)),
        lambda: dt.gradients(f(graph.placeholder(dt.spec((2,)), "x")), graph.inputs[0]),
        lambda: dt.hvp(f, [x], [x]),
    ]
    for way in ways:
        with pytest.raises(
            ValueError, match=rf"{op} at test_gradients.py:\d+: .*{count} gradients for {3 - count} inputs"
        ):
            way()


# -- a map is part of all calls under it ------------------------------------------------------------------------------

TRIPLE = {"Tanh": "Tripled", "Softplus": "Tripled"}
ZERO = np.float32(0)


def slope(function, made=None, asked=None):
    """The gradient at 0, if the function is called under the map `made` and differentiated under the map `asked`."""
    x = ops.convert(ZERO)
    with dt.GradientTape() as tape:
        tape.watch(x)
        with dt.gradient_override_map(made or {}):
            y = function(x)
    with dt.gradient_override_map(asked or {}):
        return float(tape.gradient(y, x))


def loop(x):
    return ops.scan(lambda s, _: (ops.tanh(s), None), x, np.zeros(1, "float32"))[0]


def of_graph(function, own=None):
    graph = dt.Graph("inner")
    with dt.gradient_override_map(own or {}):
        graph.outputs = [function(graph.placeholder(dt.spec(()), "x"))]
    return graph


COMPILED = {
    "a function": lambda: dt.function(lambda x: ops.tanh(x)),
    "with a signature": lambda: dt.function(lambda x: ops.tanh(x), input_signature=[dt.spec(())]),
    "of a loop": lambda: dt.function(loop),
    "of a graph": lambda: dt.function(of_graph(ops.tanh)),
    "of a graph of a loop": lambda: dt.function(of_graph(loop)),
    "that recomputes": lambda: dt.function(dt.recompute_grad(lambda x: ops.tanh(x))),
}


@pytest.mark.parametrize("made", COMPILED)
def test_a_compiled_function_under_maps_a15(made):
    with dt.engine("numpy"):
        for order in ([TRIPLE, None, TRIPLE], [None, TRIPLE, None]):
            f = COMPILED[made]()
            assert [slope(f, m) for m in order] == [3 if m else 1 for m in order]
        with dt.gradient_override_map({"Tanh": "GuidedOfTests"}):
            assert slope(COMPILED[made](), TRIPLE) == 3


def test_first_calls_inside_and_outside_of_a_map_a15(engine):
    f = dt.function(lambda x: ops.tanh(x))
    assert [slope(f, m) for m in (TRIPLE, None, TRIPLE)] == [3, 1, 3]


@pytest.mark.parametrize("body", [ops.tanh, loop])
def test_importing_under_a_map_a15(body):
    for own in (None, {"Tanh": "GuidedOfTests"}):
        source, graph = of_graph(body, own), dt.Graph()
        before = [op.overrides for op in source.operations]
        x = graph.placeholder(dt.spec(()), "x")
        with graph.gradient_override_map(TRIPLE):
            (y,) = graph.import_graph(source, {"x": x})
        graph.outputs = dt.gradients(y, x)
        assert float(dt.function(graph)(ZERO)) == 3
        assert [op.overrides for op in source.operations] == before
        assert slope(dt.function(of_graph(body, TRIPLE))) == 3  # without a map around, its own map counts


AGAIN = {
    "tanh": ops.tanh,
    "a composite": ops.log_sigmoid,
    "recomputed": dt.recompute_grad(ops.log_sigmoid),
}


@pytest.mark.parametrize("name", AGAIN)
def test_the_map_counts_where_the_op_was_used_not_where_its_gradient_is_asked_for_a15(name):
    f = AGAIN[name]
    plain, tripled = slope(f), slope(f, TRIPLE, TRIPLE)
    assert abs(plain - tripled) > 0.1

    def in_graph(made, asked):
        graph = dt.Graph()
        x = graph.placeholder(dt.spec(()), "x")
        with graph.gradient_override_map(made or {}):
            y = f(x)
        with graph.gradient_override_map(asked or {}):
            graph.outputs = dt.gradients(y, x)
        return float(dt.function(graph)(ZERO))

    for way in (lambda *maps: slope(f, *maps), lambda *maps: slope(dt.function(f), *maps), in_graph):
        np.testing.assert_allclose([way(TRIPLE, None), way(None, TRIPLE)], [tripled, plain], rtol=1e-5)
