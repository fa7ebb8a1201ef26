"""Ops that programs register: they are ops like all others, and mistakes raise errors when they are noticed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dovetail as dt
from dovetail import kinds, ops
from dovetail.compat import tensorflow as tf
from dovetail.compat.tf_graph.definition import snapshot
from dovetail.compat.tf_graph.importing import import_definition
from dovetail.core.base.errors import UnknownEngine
from dovetail.core.base.table import OPS
from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import Library

jax, jnp, tensorflow, torch = (Library(name) for name in ("jax", "jax.numpy", "tensorflow", "torch"))
X, Y = np.float32([3.0, 5.0, 8.0]), np.float32([4.0, 12.0, 15.0])
HYPOT = np.float32([5.0, 13.0, 17.0])

dt.RegisterGradient("SnakesOwn")(lambda op, g: 3.0 * g)


@pytest.fixture(autouse=True)
def table():
    """Restore the table."""
    before = set(OPS)
    yield
    for name in set(OPS) - before:
        dt.unregister_op(name)


RULES = {
    "numpy": lambda x, y: np.hypot(x, y),
    "torch": lambda x, y: torch.hypot(x, y),
    "jax": lambda x, y: jnp.hypot(x, y),
    "tensorflow": lambda x, y: tensorflow.sqrt(x * x + y * y),
}


def by_rules(name):
    """A rule made of the engine's own rules, for engines from outside."""
    rules = get_engine(name).rules
    return lambda x, y: rules["Sqrt"](rules["AddV2"](rules["Mul"](x, x), rules["Mul"](y, y)))


def hypot_of(engine, **options):
    """A primitive with a rule on one engine."""

    @dt.register_op(
        "Hypotenuse",
        infer=lambda x, y: x,
        rules={engine: RULES.get(engine) or by_rules(engine)},
        **options,
    )
    def hypot(x: kinds.Float, y: kinds.Float):
        """The length of the hypotenuse."""

    @hypot.gradient
    def _(op, g):
        return g * op.inputs[0] / op.outputs[0], g * op.inputs[1] / op.outputs[0]

    return hypot


def snake_of(**options):
    """A composite."""

    @dt.register_op("Snake", **options)
    def snake(x: dt.Tensor, frequency: float = 1.0):
        return x + ops.sin(frequency * x) ** 2 / frequency

    return snake


def taped(function, *values):
    """The result for constants, and the gradients of its sum."""
    xs = [ops.convert(v) for v in values]
    with dt.GradientTape() as tape:
        tape.watch(xs)
        y = function(*xs)
        total = ops.sum(y)
    return [y.numpy(), *(g.numpy() for g in tape.gradient(total, xs))]


def in_graph(op):
    graph = dt.Graph()
    x, y = (graph.placeholder(dt.spec((None,)), name) for name in "xy")
    z = op(x, y, name="hypotenuse")
    assert (z.op.name, z.op.type, z.spec) == ("hypotenuse", "Hypotenuse", dt.spec((None,)))
    graph.outputs = [z]
    return graph


def gradients_in_graph(x, y):
    graph = dt.Graph()
    a, b = (graph.placeholder(dt.spec((None,)), name) for name in "ab")
    z = OPS["Hypotenuse"](a, b)
    graph.outputs = [z, *dt.gradients(z, [a, b])]
    return [t.numpy() for t in dt.function(graph)(x, y)]


WAYS = {
    "eager": lambda op, *xs: taped(op, *xs),
    "compiled": lambda op, *xs: taped(dt.function(lambda x, y: op(x, y)), *xs),
    "a compiled tape": lambda op, *xs: [
        t.numpy() for t in dt.function(lambda x, y: _slopes(op, x, y))(*map(ops.convert, xs))
    ],
    "a graph": lambda op, *xs: taped(dt.function(in_graph(op)), *xs),
    "gradients in a graph": lambda op, *xs: gradients_in_graph(*xs),
    "a loop": lambda op, *xs: taped(
        dt.function(lambda x, y: ops.scan(lambda _, pair: (_, op(*pair)), 0.0, (x, y))[1]), *xs
    ),
    "by slices": lambda op, *xs: taped(lambda x, y: ops.vectorized_map(lambda pair: op(*pair), (x, y)), *xs),
    "raw_ops": lambda op, *xs: taped(lambda x, y: tf.raw_ops.Hypotenuse(x=x, y=y), *xs),
    "a pickled graph": lambda op, *xs: taped(dt.function(pickle.loads(pickle.dumps(in_graph(op)))), *xs),
    "a copied graph": lambda op, *xs: taped(dt.function(copy.copy(in_graph(op))), *xs),
    "an imported graph": lambda op, *xs: taped(dt.function(_imported(in_graph(op))), *xs),
    "a session": lambda op, *xs: _session(in_graph(op), *xs),
}


def _slopes(op, x, y):
    with dt.GradientTape() as tape:
        tape.watch([x, y])
        z = op(x, y)
    return [z, *tape.gradient(z, [x, y])]


def _imported(graph):
    other = dt.Graph()
    x, y = (other.placeholder(dt.spec((None,)), name) for name in "xy")
    other.outputs = import_definition(other, snapshot(graph), {"x": x, "y": y}, ["hypotenuse:0"], "part")
    return other


def _session(graph, x, y):
    z = graph.outputs[0]
    with dt.Session(graph) as session:
        return session.run([z, *dt.gradients(z, graph.inputs)], {"x:0": x, "y:0": y})


@pytest.mark.parametrize("way", WAYS)
def test_a_primitive_in_each_way_that_ops_are_used(engine, way):
    op = hypot_of(engine)
    found = WAYS[way](op, X, Y)
    for value, expected in zip(found, (HYPOT, X / HYPOT, Y / HYPOT), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert op.engines == [engine]


@pytest.mark.parametrize("has_rule", [False, True])
@pytest.mark.parametrize("has_gradient", [False, True])
def test_a_composite_eagerly_and_compiled(engine, has_rule, has_gradient):
    """Check a composite by its body or the engine's rule, and differentiated by its body or its own gradient."""
    calls = []

    def rule(x, frequency):
        calls.append(frequency)
        rules = get_engine(engine).rules
        return rules["AddV2"](x, rules["Mul"](rules["Sin"](x), rules["Sin"](x)))

    snake = snake_of(
        rules={engine: rule} if has_rule else None,
        gradient=(lambda op, g: 10.0 * g) if has_gradient else None,
    )
    slope = [10.0] * 3 if has_gradient else 1 + np.sin(2 * X)
    for way in (snake, dt.function(lambda x: snake(x))):
        value, gradient = taped(way, X)
        np.testing.assert_allclose(value, X + np.sin(X) ** 2, rtol=1e-5)
        np.testing.assert_allclose(gradient, slope, rtol=1e-4)
    np.testing.assert_allclose(dt.function(lambda x: snake(x))(X).numpy(), X + np.sin(X) ** 2, rtol=1e-5)
    assert bool(calls) is has_rule


def test_override_maps(engine):
    snake = snake_of()
    with dt.gradient_override_map({"Snake": "SnakesOwn"}):
        assert taped(snake, X)[1].tolist() == [3.0] * 3
    graph = dt.Graph()
    graph.outputs = [snake(graph.placeholder(dt.spec((3,)), "x"))]
    assert graph.override_gradients({"Snake": "SnakesOwn"}) == 1
    assert taped(dt.function(graph), X)[1].tolist() == [3.0] * 3
    graph.override_gradients({"Snake": None, "Sin": "SnakesOwn"})  # the ops of its body
    assert taped(dt.function(graph), X)[1].tolist() != [3.0] * 3


def test_a_gradient_by_its_name_as_programs_for_tensorflow_give_it(engine):
    @dt.register_op("Cubed", infer=lambda x: x)
    def cubed(x: kinds.Float): ...

    @cubed.rule(engine)
    def _(x):
        multiply = get_engine(engine).rules["Mul"]
        return multiply(x, multiply(x, x))

    with pytest.raises(LookupError, match=r"Cubed.*has no gradient"):
        taped(cubed, X)

    @tf.RegisterGradient("Cubed")
    def _(op, g):
        return 3.0 * op.inputs[0] ** 2 * g

    np.testing.assert_allclose(taped(cubed, X), [X**3, 3 * X**2], rtol=1e-5)
    with pytest.raises(KeyError, match="'Cubed' is taken, by "):
        dt.RegisterGradient("Cubed")(lambda op, g: g)


def test_several_results_lists_and_static_arguments(engine):
    @dt.register_op("Extremes", differentiable=False)
    def extremes(xs: kinds.Anythings, axis: int | None = None) -> tuple[dt.Tensor, ...]:
        return ops.min(ops.stack(xs), axis=axis), ops.max(ops.stack(xs), axis=axis)

    low, high = extremes([X, Y])
    assert (float(low), float(high)) == (3.0, 15.0)
    low, high = dt.function(lambda x, y: extremes([x, y], axis=0))(X, Y)
    assert (low.numpy().tolist(), high.numpy().tolist()) == (X.tolist(), Y.tolist())
    with pytest.raises(TypeError, match="axis must be an int or None, not 'x'"):
        extremes([X, Y], axis="x")


def test_values_of_torch_are_differentiated_by_torch():
    snake, x = snake_of(), torch.tensor(X, requires_grad=True)
    y = snake(x)
    assert isinstance(y, torch.Tensor)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 + np.sin(2 * X), rtol=1e-4)


def test_values_of_jax_inside_its_transformations():
    x = jnp.array(X)
    hypot, snake = hypot_of("jax"), snake_of()
    found = jax.jit(jax.grad(lambda x: hypot(snake(x), 0.0 * x + 4.0).sum()))(x)
    y = X + np.sin(X) ** 2
    np.testing.assert_allclose(found, (1 + np.sin(2 * X)) * y / np.hypot(y, 4.0), rtol=1e-4)


def test_a_compiled_program_that_xla_compiles(monkeypatch):
    """Check that XLA gets TensorFlow's programs that run often; programs that it cannot compile run as before."""
    executable = pytest.importorskip("dovetail.engines.tensorflow.executable", exc_type=ImportError)
    monkeypatch.setattr(executable, "OFTEN", 2)
    hypot, compiled = hypot_of("tensorflow"), []
    traced = executable.Executable.traced

    def note(self, xla):
        compiled.append(xla)
        return traced(self, xla)

    monkeypatch.setattr(executable.Executable, "traced", note)

    @dt.register_op("Python", infer=lambda x: x, rules={"tensorflow": _by_python})
    def python(x: kinds.Float): ...

    with dt.engine("tensorflow"):
        for f, expected in ((lambda x: hypot(x, Y) + 1.0, HYPOT + 1), (lambda x: python(x) + 1.0, X * 2 + 1)):
            function = dt.function(f)
            found = [function(X).numpy() for _ in range(4)]
            np.testing.assert_allclose(found, [expected] * 4, rtol=1e-6)
    assert compiled == [False, True, False, True]


def _by_python(x):
    found = tensorflow.py_function(lambda x: x * 2, [x], tensorflow.float32)
    found.set_shape(x.shape)
    return found


# -- errors -----------------------------------------------------------------------------------------------------------


def test_names(engine):
    snake = snake_of()
    with pytest.raises(ValueError, match=r"there is an op 'Snake' already, .*snake.*unregister_op\('Snake'\) takes it"):
        snake_of()
    with pytest.raises(ValueError, match=r"there is an op 'MatMul' already, dovetail.*matmul: choose another name.$"):
        dt.register_op("MatMul")
    for name in ("", "two words", 3, None):
        with pytest.raises(ValueError, match="the op's type must be a name"):
            dt.register_op(name)
    with pytest.raises(LookupError, match=r"'MatMul' cannot be taken out: it is one of Dovetail's own"):
        dt.unregister_op("MatMul")
    with pytest.raises(LookupError, match=r"'Snakes' cannot be taken out: no op of this name.*\['Snake'\]"):
        dt.unregister_op("Snakes")
    assert OPS["Snake"] is snake


def test_taken_out_and_registered_anew(engine):
    """Check that nothing of the first op is left: neither its resolved calls nor its traced body."""
    first = dt.function(lambda x: OPS["Snake"](x))
    snake_of()
    graph = dt.Graph()
    graph.outputs = [OPS["Snake"](graph.placeholder(dt.spec((3,)), "x"))]
    assert OPS["Snake"](X).numpy().tolist() != X.tolist() != first(X).numpy().tolist()
    saved = pickle.dumps(graph)
    dt.unregister_op("Snake")
    with pytest.raises(LookupError, match=r"no op is called 'Snake' here. .*register it first"):
        pickle.loads(saved)

    @dt.register_op("Snake")
    def snake(x: kinds.Float, frequency: float = 1.0):
        return x * frequency

    assert snake(X).numpy().tolist() == X.tolist()
    assert dt.function(lambda x: snake(x))(X).numpy().tolist() == X.tolist()
    assert dt.function(pickle.loads(saved))(X).numpy().tolist() == X.tolist()


def test_an_engine_without_a_rule():
    pytest.importorskip("torch")
    op, x = hypot_of("torch"), ops.constant(X)
    problem = (
        r"the engine 'numpy' has no rule for it; torch has. Give it one, with @hypot.rule\('numpy'\), or compute it "
        r"there: `with dovetail.engine\('torch'\):`, and in a graph `operation.engine = 'torch'`"
    )
    graph = in_graph(op)
    for way in (lambda: op(x, x), lambda: dt.function(lambda x: op(x, x))(x), lambda: dt.function(graph)(X, Y)):
        with pytest.raises(NotImplementedError, match="Hypotenuse at test_user_ops.py:.*" + problem):
            way()
    graph.outputs[0].op.engine = "torch"  # this is the error's advice
    np.testing.assert_allclose(dt.function(graph)(X, Y).numpy(), HYPOT, rtol=1e-6)
    with pytest.raises(NotImplementedError):  # an engine without a rule folds no constants
        dt.function(lambda: op(dt.ops.constant(X), dt.ops.constant(Y)))()
    op.rule("numpy")(RULES["numpy"])
    np.testing.assert_allclose(op(x, Y).numpy(), HYPOT, rtol=1e-6)
    np.testing.assert_allclose(dt.function(lambda x: op(x, Y))(x).numpy(), HYPOT, rtol=1e-6)
    assert sorted(op.engines) == ["numpy", "torch"]


def test_a_primitive_without_any_rule():
    @dt.register_op("Nowhere", infer=lambda x: x)
    def nowhere(x: kinds.Float): ...

    with pytest.raises(
        NotImplementedError, match=r"no rules yet: give it one for numpy, with @nowhere.rule\('numpy'\)"
    ):
        nowhere(X)


def test_wrong_registrations_leave_nothing():
    before = dict(OPS)

    def f(x: kinds.Float, n: int = 1): ...

    def untyped(x, n): ...

    def lost(x: "Nothing"): ...  # noqa: F821, UP037

    for error, match, function, options in [
        (UnknownEngine, "no engine 'torhc'.*Did you mean 'torch'", f, {"rules": {"torhc": np.sin}, "infer": np.sin}),
        (TypeError, "the rule for numpy must be a function, not 3", f, {"rules": {"numpy": 3}, "infer": np.sin}),
        (TypeError, "an engine is given by its name, a str, not by 3", f, {"rules": {3: np.sin}, "infer": np.sin}),
        (TypeError, "`infer` must be a function, not 3", f, {"infer": 3}),
        (TypeError, "needs a function, made by def, not 3", 3, {}),
        (TypeError, r"'x' of the op 'Wrong' has no type that is known: annotate it.*dovetail.kinds.Float", untyped, {}),
        (NameError, "Nothing", lost, {}),
    ]:
        with pytest.raises(error, match=match):
            dt.register_op("Wrong", **options)(function)
        assert before == OPS
    op = hypot_of("numpy")
    with pytest.raises(ValueError, match=r"has a rule for numpy already.*unregister_op\('Hypotenuse'\)"):
        op.rule("torch", "numpy")(np.hypot)
    assert op.engines == ["numpy"]


WRONG = {  # results of a rule, or a type rule → the error's text
    "dtype": (lambda x: x.astype("float64"), lambda x: x, r"numpy gave float64\[3\], where `infer` says float32\[3\]"),
    "shape": (lambda x: x[:2], lambda x: x, r"numpy gave float32\[2\], where `infer` says float32\[3\]"),
    "number": (lambda x: "text", lambda x: x, "must return arrays of numpy, not 'text'"),
    "spec": (lambda x: x, lambda x: x.shape, r"`infer` must return what dovetail.spec\(shape, dtype\) gives, not"),
}


@pytest.mark.parametrize("what", WRONG)
def test_rules_that_do_not_fit(what):
    rule, infer, match = WRONG[what]

    @dt.register_op("Wrong", infer=infer, rules={"numpy": rule})
    def wrong(x: kinds.Float): ...

    for way in (lambda: wrong(X), lambda: dt.function(lambda x: wrong(x) * 1.0)(X)):
        with pytest.raises(TypeError, match="Wrong.*" + match):
            way()


def test_as_many_results_as_are_said():
    @dt.register_op("Two", infer=lambda x: (x, x), rules={"numpy": lambda x: x})
    def two(x: kinds.Float) -> tuple[dt.Tensor, ...]: ...

    with pytest.raises(TypeError, match=r"must return a tuple of 2 arrays, not "):
        two(X)


def test_an_error_in_a_body_is_told_with_the_ops_name():
    @dt.register_op("Wrong")
    def wrong(x: kinds.Float):
        return ops.reshape(x, (7,))

    for way in (lambda: wrong(X), lambda: dt.function(lambda x: wrong(x))(X)):
        with pytest.raises(ValueError, match=r"Wrong.*Reshape"):
            way()


def test_a_body_that_uses_a_variable_is_refused_in_graphs_where_no_gradient_would_reach_it():
    w = dt.Variable([2.0, 3.0, 4.0], name="w")

    @dt.register_op("UsesVariable")
    def uses_variable(x: kinds.Float):
        return x * w

    with pytest.raises(ValueError, match=r"UsesVariable.*uses the variables w: give them to it as arguments"):
        dt.function(lambda x: uses_variable(x))(X)

    @dt.register_op("IsGiven")
    def is_given(x: kinds.Float, w: kinds.Float):
        return x * w

    with dt.GradientTape() as tape:
        y = dt.function(lambda x: is_given(x, w))(X)
    assert tape.gradient(y, w).numpy().tolist() == X.tolist()
