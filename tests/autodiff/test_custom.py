"""`custom_gradient`: eager, in graphs and compiled."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.edit.transplant import copy_into
from dovetail.execute.plan import Plan
from dovetail.passes.cse import merge_common
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify


@dt.custom_gradient
def log1pexp(x):
    e = ops.exp(x)

    def gradient(g):
        return g * (1 - 1 / (1 + e))

    return ops.log(1 + e), gradient


@dt.custom_gradient
def loud(x, y):
    """A product whose gradient is deliberately not the true one, so that nothing else can have made it."""
    return x * y, lambda g: (g * 10.0, g * x)


def taped_gradient(function, *xs):
    with dt.GradientTape() as tape:
        tape.watch(list(xs))
        y = function(*xs)
    return tape.gradient(y, list(xs))


def ways(function):
    """The gradient of a function by a tape: eager, in a compiled function, and around one."""
    yield lambda *xs: taped_gradient(function, *xs)
    yield dt.function(lambda *xs: taped_gradient(function, *xs))
    yield lambda *xs: taped_gradient(dt.function(function), *xs)
    yield dt.function(lambda *xs: dt.gradients(function(*xs), list(xs)))


def test_gradient(engine):
    x, y = ops.constant(3.0), ops.constant(4.0)
    for way in ways(lambda x, y: loud(x, y) * 2.0):
        assert [float(g) for g in way(x, y)] == [20, 6]
    for way in ways(log1pexp):
        assert float(way(ops.constant(100.0))[0]) == 1  # the true formula gives NaN


def test_value_and_identity(engine):
    """Check that the result is the function's, and is a new tensor even if the function returns its argument."""
    same = dt.custom_gradient(lambda x: (x, lambda g: g * 3.0))
    x = ops.constant([1.0, 2.0])
    assert same(x) is not x and same(x).numpy().tolist() == [1, 2]
    for way in ways(lambda x: same(x) + x):
        assert way(x)[0].numpy().tolist() == [4, 4]
    assert same([1.0, 2.0]) is not None


def test_higher_orders(engine):
    """Check that the gradient function is differentiated in turn, also through the tensors it took."""

    def second(x):
        with dt.GradientTape() as outer:
            outer.watch(x)
            slope = taped_gradient(log1pexp, x)[0]
        return outer.gradient(slope, x)

    expected = np.exp(0.5) / (1 + np.exp(0.5)) ** 2
    for way in (second, dt.function(second)):
        np.testing.assert_allclose(float(way(ops.constant(0.5))), expected, rtol=1e-5)
    compiled = dt.function(log1pexp)
    x = ops.constant(0.5)
    with dt.GradientTape() as outer:
        outer.watch(x)
        slope = taped_gradient(compiled, x)[0]
    np.testing.assert_allclose(float(outer.gradient(slope, x)), expected, rtol=1e-5)


def test_structures(engine):
    @dt.custom_gradient
    def f(batch, scale, mode="plain"):
        assert mode == "loud"
        result = {"b": batch["x"] * scale, "a": [batch["y"][0], ops.cast(scale, "int32")]}

        def gradient(*arriving):
            ga, gi, gb = arriving  # in the order of the result's leaves: by sorted keys
            assert gi is None
            return {"x": gb * 2.0, "y": [ga * 3.0]}, None

        return result, gradient

    def use(x, y, scale):
        result = f({"x": x, "y": [y]}, scale, mode="loud")
        return result["b"] + result["a"][0] * 5.0

    for way in ways(use):
        found = way(ops.constant(1.0), ops.constant(2.0), ops.constant(4.0))
        assert [g if g is None else float(g) for g in found[:2]] == [2, 15] and found[2] is None


def test_arguments_that_are_no_tensors(engine):
    @dt.custom_gradient
    def power(x, n, name):
        assert (type(n), name) == (int, "cube")
        return x**n, lambda g: g * n

    class Layer:
        @dt.custom_gradient
        def __call__(self, x):
            return x * 2.0, lambda g: g * 7.0

    for way in ways(lambda x: power(x, 3, "cube") + Layer()(x)):
        assert float(way(ops.constant(2.0))[0]) == 10


def test_arrays_become_tensors(engine):
    x = np.array([1.0, 2.0], "float32")
    w = ops.constant([3.0, 4.0])
    for way in ways(lambda w: loud(x, w)):
        assert way(w)[0].numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda g: (g, g, g), "tuple of 2"),
        (lambda g: (g, np.ones(3)), r"shape \(3,\) for one of shape \(\)"),
        (lambda g: None, "tuple of 2"),
    ],
)
def test_gradients_that_do_not_fit(gradient, words):
    f = dt.custom_gradient(lambda x, y: (x * y, gradient))
    with pytest.raises(ValueError, match=words):
        taped_gradient(f, ops.constant(1.0), ops.constant(2.0))
    with pytest.raises(ValueError, match=words):
        dt.function(f)(ops.constant(1.0), ops.constant(2.0))


def test_gradients_are_cast(engine):
    f = dt.custom_gradient(lambda x: (ops.cast(x, "float64"), lambda g: g * 2.0))
    for way in ways(f):
        assert way(ops.constant(1.0))[0].dtype == "float32"


def test_tensors_from_around(engine):
    """Check functions and gradients that use tensors of the function that is being traced around them."""

    def use(x, y):
        scale = ops.exp(y)

        @dt.custom_gradient
        def f(x):
            return x * scale, lambda g: g * scale * scale

        return f(x) + y

    for way in ways(use):
        np.testing.assert_allclose(
            [float(g) for g in way(ops.constant(1.0), ops.constant(0.5))], [np.exp(1.0), 1], rtol=1e-5
        )


def test_recursion(engine):
    """Check a gradient that is written with the function itself, and two functions that use each other."""

    @dt.custom_gradient
    def exp(x):
        return ops.exp(x), lambda g: g * exp(x)

    @dt.custom_gradient
    def sine(x):
        return ops.sin(x), lambda g: g * cosine(x)

    @dt.custom_gradient
    def cosine(x):
        return ops.cos(x), lambda g: -g * sine(x)

    def third(function):
        def found(x):
            with dt.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = tape.gradient(tape.gradient(function(x), x), x)
            return tape.gradient(y, x)

        return found

    x = ops.constant(0.3)
    for function, expected in ((exp, np.exp(0.3)), (sine, -np.cos(0.3))):
        for way in (third(function), dt.function(third(function)), third(dt.function(function))):
            np.testing.assert_allclose(float(way(x)), expected, rtol=1e-5)


def test_inside_loops_and_branches(engine):
    def use(x):
        y = ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, loud(y, ops.constant(2.0))), (0, x))[1]
        return ops.cond(x > 0, lambda: loud(y, x), lambda: y)

    for way in ways(use):  # y = 8x, z = xy; dz/dy is declared as 10, dy/dx as 1000, and dz/dx directly as y
        assert float(way(ops.constant(1.0))[0]) == 10 * 1000 + 8


def test_the_graph_holds_no_python(engine):
    """Check that a traced gradient survives copying, pruning and optimizing."""
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        unused = ops.exp(x)
        y = log1pexp(x)
        graph.outputs = dt.gradients(y, x)
    assert unused.op in graph
    copied = dt.Graph()
    with copied.as_default():
        z = copied.placeholder(dt.spec(()), "z")
        inner = dt.Graph()
        with inner.as_default():
            x = inner.placeholder(dt.spec(()), "x")
            inner.outputs = [log1pexp(x)]
        (y,) = copy_into(inner, copied, [z])
        copied.outputs = dt.gradients(y * 2.0, z)
    value = get_engine(engine).asarray(100.0, ops.constant(0.0).dtype)
    for program, expected in ((graph, 1), (copied, 2)):
        (found,) = Plan(program, get_engine(engine))([value])
        assert float(found) == expected


def test_passes_before_the_gradient():
    """Check that passes merge equal computations, but not if their gradients differ."""
    twice = dt.custom_gradient(lambda x: (ops.exp(x), lambda g: g * 2.0))
    thrice = dt.custom_gradient(lambda x: (ops.exp(x), lambda g: g * 3.0))
    graph = dt.Graph()
    with graph.as_default():
        x = graph.placeholder(dt.spec(()), "x")
        graph.outputs = [twice(x), thrice(x), log1pexp(x)]
        assert merge_common(graph) > 0 and simplify(graph) >= 0 and prune(graph) > 0
        graph.outputs = [dt.gradients(y, x)[0] for y in graph.outputs]
    assert [float(v) for v in Plan(graph, get_engine("numpy"))([np.float32(100.0)])] == [2, 3, 1]


@pytest.mark.parametrize("result", [lambda x: x, lambda x: (x, x), lambda x: (x, None), lambda x: (x, abs, abs)])
def test_what_returns_no_pair_b(result):
    wrong = dt.custom_gradient(result)
    for call in (wrong, dt.function(wrong)):
        with pytest.raises(TypeError, match=r"at test_custom.py:\d+: it must return a pair, .*but it returned "):
            call(ops.constant(1.0))


def test_a_gradient_function_is_not_asked_in_vain(engine):
    """Check that no gradient function runs for tensors through which no watched tensor went."""
    asked = []
    square = dt.custom_gradient(lambda x: (x * x, lambda g: asked.append(1) or g))
    x, other = ops.constant(3.0), ops.constant(4.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = x * square(other)
    assert float(tape.gradient(y, x)) == 16 and not asked


# the result of a gradient function of (x, 2, n), where n is an integer tensor → the gradient by x
RETURNED = {
    "one for each argument": (lambda g: (g * 4.0, None, None), 4),
    "one for each tensor": (lambda g: [g * 4.0, None], 4),
    "a number": (lambda g: (4.0, None, None), 4),
    "one for the integer": (lambda g: (g * 4.0, None, g * 9.0), 4),
    "none": (lambda g: (None, None, None), None),
}


@pytest.mark.parametrize("case", RETURNED)
def test_what_a_gradient_function_may_return(engine, case):
    gradient, expected = RETURNED[case]
    f = dt.custom_gradient(lambda x, factor, n: (x * factor, gradient))
    for way in ways(lambda x: f(x, 2, ops.constant(3))):
        (found,) = way(ops.constant(1.0))
        assert found is None if expected is None else float(found) == expected


def test_results_that_are_no_tensors(engine):
    assert dt.custom_gradient(lambda x: (None, lambda g: g))(ops.constant(1.0)) is None
    found = dt.custom_gradient(lambda x: ({"a": x, "b": 2.0}, lambda a, b: a))(ops.constant(1.0))
    assert float(found["a"]) == 1 and float(found["b"]) == 2 and found["b"].dtype == "float32"


def test_gradients_of_open_shapes_may_be_of_any():
    """Check that only a shape that is known to differ is refused."""
    f = dt.custom_gradient(lambda x: (x * 2.0, lambda g: g * 3.0))
    compiled = dt.function(lambda x: dt.gradients(f(x), [x]), input_signature=[dt.spec((None, 2))])
    assert compiled(np.ones((3, 2), "float32"))[0].numpy().tolist() == [[3, 3]] * 3


def test_gradients_asked_for_in_a_branch(engine):
    """Check that a gradient is built inside the branch for operations recorded around the branch."""

    @dt.function
    def f(x, y):
        with dt.GradientTape() as tape:
            tape.watch(x)
            z = loud(x, y) * 2.0
        return ops.cond(y > 0, lambda: tape.gradient(z, x), lambda: x)

    assert [float(f(np.float32(3), np.float32(y))) for y in (4, -4)] == [20, 3]


def test_gradients_asked_for_while_no_graph_is_open(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with dt.GradientTape() as tape:
        tape.watch(x)
        z = loud(x, x) * 2.0
    graph.outputs = [tape.gradient(z, x)]
    assert float(dt.function(graph)(np.float32(3))) == 26
