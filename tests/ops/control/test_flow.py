"""Control flow: the same numbers and gradients eagerly, compiled, and on engines' own values."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from tests.ops.control.programs import agree, compiled, draw, gradient, prefix, programs


@programs
def test_compiled_is_eager(engine, function, shapes, rng):
    arrays = draw(rng, shapes)
    with dt.engine("numpy"):
        expected = function(*map(ops.convert, arrays))
    open_dimensions = [dt.spec([None] * a.ndim, a.dtype) for a in arrays]
    calls = [function, dt.function(function)]
    if function is not prefix:  # this one needs to know the length
        calls.append(dt.function(function, input_signature=open_dimensions))
    for call in calls:
        found = call(*map(ops.convert, arrays))
        assert (found.engine, found.dtype, found.shape) == (engine, expected.dtype, expected.shape)
        agree([found], [expected])


# -- the branches and steps that run, and when ------------------------------------------------------------------------


def test_only_the_chosen_branch_runs(engine):
    ran = []
    for condition in (True, ops.convert(True), np.array(True), 1):
        assert float(ops.cond(condition, lambda: 1.0, lambda: ran.append("wrong"))) == 1.0
    chosen = dt.function(lambda x: ops.cond(True, lambda: x, lambda: ran.append("wrong")))
    assert float(chosen(ops.convert(2.0))) == 2.0
    assert ran == []


def test_switch_by_rank(engine):
    x, y = np.arange(6.0).reshape(2, 3), -np.ones((2, 3))
    for condition, expected in (
        (True, x),
        (np.array([False]), y),
        (np.array([True, False, True]), np.where([True, False, True], x, y)),
        (np.array([[True], [False]]), np.where([[True], [False]], x, y)),
    ):
        for call in (ops.switch, dt.function(ops.switch)):
            agree([call(condition if condition is True else ops.convert(condition), x, y)], [expected])
    deep = ops.switch(np.array([[True, False], [False, True]]), np.ones((2, 2, 3)), np.zeros((2, 2, 3)))
    agree([deep[..., 0]], [np.eye(2)])
    ran = []
    assert float(ops.switch(np.array([True]), lambda: 1.0, lambda: ran.append("wrong"))) == 1.0
    with pytest.raises(ValueError, match="broadcast"):
        ops.switch(np.array([True, False]), x, y)
    assert ran == []


def test_a_loop_without_steps(engine):
    x = ops.zeros((0, 3))

    def run(x):
        return ops.scan(lambda c, t: (c + t, (c * 2, ops.sum(t))), ops.ones((3,)), x)

    for call in (run, dt.function(run), dt.function(run, input_signature=[dt.spec((None, 3))])):
        last, (ys, sums) = call(x)
        assert (last.tolist(), ys.shape, sums.shape) == ([1, 1, 1], (0, 3), (0,))
        assert (ys.dtype, sums.dtype) == ("float32", "float32")


@pytest.mark.parametrize("shape", [(None,), (0,)])
def test_a_loop_without_steps_does_not_run_its_body(engine, shape):
    """The body gathers from an empty tensor, which fails; the graph leaves a dimension of the second result open."""

    def total(x, w):
        return ops.scan(lambda c, t: (c + ops.sum(ops.take(x, [0])), (ops.take(x, [0]), w * t)), 0.0, x)

    run = dt.function(total, input_signature=[dt.spec(shape), dt.spec((None,))])
    last, (taken, scaled) = run(ops.zeros((0,)), ops.ones((3,)))
    assert (float(last), taken.shape, scaled.shape) == (0.0, (0, 1), (0, 3))


def test_an_eager_scan_without_steps_leaves_variables_alone():
    v = dt.Variable(1.0)
    ops.scan(lambda c, t: (c, v.assign_add(t).read()), 0.0, ops.zeros((0,)))
    assert float(v) == 1.0


def test_a_carried_dimension_may_vary():
    def run(x):
        return ops.while_loop(lambda y: ops.shape(y)[0] < 5, lambda y: ops.concatenate([y, y]), (x,))[0]

    for engine in {"numpy", "torch", "tensorflow"} & set(dt.list_engines()):
        with dt.engine(engine):
            x = ops.ones((3,))
            assert run(x).shape == dt.function(run)(x).shape == (6,)
            agree(dt.function(gradient(lambda x: ops.sum(run(x) * 3)))(x), [[6, 6, 6]])


# -- engines' own values ----------------------------------------------------------------------------------------------


def recurrence(x, w):
    def step(c, t):
        c = ops.tanh(c * w + t)
        return ops.cond(ops.sum(c) > 0, lambda: c, lambda: c * 2), c

    last, ys = ops.scan(step, x[0], x)
    return ops.sum(ops.fori_loop(0, 2, lambda i, y: y * w + i, last)) + ops.sum(ys)


def test_jax_transformations_go_through(rng):
    jax = pytest.importorskip("jax")
    x, w = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=3).astype("float32")
    with dt.engine("numpy"):
        value = recurrence(ops.convert(x), ops.convert(w))
        slopes = gradient(recurrence)(ops.convert(x), ops.convert(w))
    agree([jax.jit(recurrence)(x, w), recurrence(jax.numpy.asarray(x), w)], [value, value], 1e-5)
    agree(jax.jit(jax.grad(recurrence, (0, 1)))(x, w), slopes, 1e-4)
    lowered = jax.jit(recurrence).lower(x, w).as_text()
    assert "while" in lowered and len(lowered) < 30_000
    assert isinstance(jax.jit(lambda x: ops.foldl(lambda a, t: a + t, x))(x), jax.Array)
    dynamic = jax.jit(lambda n, y: ops.fori_loop(0, n, lambda i, y: y * 2, y))
    assert float(dynamic(3, 1.0)) == 8
    bounded = jax.jit(lambda y: ops.while_loop(lambda y: y < 100, lambda y: (y * 2,), (y,), maximum_iterations=3)[0])
    assert float(bounded(1.0)) == 8


def test_torch_autograd_goes_through(rng):
    torch = pytest.importorskip("torch")
    x, w = (torch.tensor(rng.normal(size=s), requires_grad=True) for s in ((4, 3), (3,)))
    with dt.engine("numpy"):
        slopes = gradient(recurrence)(ops.convert(x.detach().numpy()), ops.convert(w.detach().numpy()))
    y = recurrence(x, w)
    assert type(y) is torch.Tensor
    y.backward()
    agree([x.grad, w.grad], slopes)


def _jax_ways():
    jax = pytest.importorskip("jax")
    slope = jax.grad(lambda w, *args: jax.numpy.sum(args[0](w)))
    return (
        jax.numpy.asarray,
        jax.Array,
        {"traced": jax.jit, "own": lambda f: f, "slope": lambda f: lambda w: slope(w, f)},
    )


def _tensorflow_ways():
    tf = pytest.importorskip("tensorflow")
    unknown = [tf.TensorSpec([None])]
    return (
        tf.constant,
        tf.Tensor,
        {
            "traced": lambda f: tf.function(f, autograph=False),
            "own": lambda f: f,
            "of any length": lambda f: tf.function(f, input_signature=unknown, autograph=False),
        },
    )


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("library", [_jax_ways, _tensorflow_ways])
def test_a_loop_over_numbers_may_use_what_a_library_traces(library, steps):
    """Check that only results that depend on the library's traced values are the library's own."""
    made, owned, ways = library()
    x, start = np.ones((steps, 3), "float32"), ops.convert(1.0)
    seen = []

    def run(w):
        def step(c, t):
            inner = ops.scan(lambda d, u: (d * ops.sum(w), u), c, t)[0]
            return c + 1, (t * w, inner, t + 1)

        last, (product, inner, other) = ops.scan(step, start, x)
        assert float(last) == 1 + steps and (type(other), other.shape) == (dt.Tensor, (steps, 3))
        assert isinstance(product, owned) and isinstance(inner, owned)
        seen.append((ops.shape(inner), product.dtype))
        return ops.concatenate([product, product])

    w = made(np.ones(3, "float32"))
    for name, way in ways.items():
        found = way(run)(w)
        assert isinstance(found, owned)
        assert tuple(found.shape) == ((3,) if name == "slope" else (2 * steps, 3))
    assert len(seen) == len(ways)


def test_the_shape_of_what_no_step_gives_must_be_known():
    tf = pytest.importorskip("tensorflow")
    start, x = ops.convert(1.0), np.zeros((0, 3), "float32")
    run = tf.function(lambda w: ops.scan(lambda c, t: (c, w), start, x)[1], autograph=False)
    with pytest.raises(
        ValueError, match=r"must be known, but it is float32\[\?\]; give init or xs as tensorflow values"
    ):
        run.get_concrete_function(tf.TensorSpec([None]))


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda x, c: ops.cond(c, x, lambda: x), TypeError, "true_fn must be a function"),
        (lambda x, c: ops.cond(c, lambda: {"a": x}, lambda: [x, x]), TypeError, r"\{'a': \*\} and \[\*, \*\]"),
        (lambda x, c: ops.cond(x > 0, lambda: x, lambda: x), ValueError, "must be a scalar"),
        (lambda x, c: ops.scan(lambda a, t: a + t, 0.0, x), TypeError, r"a pair \(carry, y\)"),
        (lambda x, c: ops.scan(lambda a, t: ((a, a), t), 0.0, x), TypeError, r"\* and \(\*, \*\)"),
        (lambda x, c: ops.scan(lambda a, t: (a, t), 0.0, x[0]), ValueError, "a scalar cannot be scanned"),
        (lambda x, c: ops.scan(lambda a, t: (a, t), 0.0, (x, x[:1])), ValueError, r"\[1, 2\]"),
        (lambda x, c: ops.scan(lambda a, t: (a, t), 0.0), ValueError, "length must be given"),
        (lambda x, c: ops.while_loop(lambda a: a < 3, lambda a: (a, a), (0,)), TypeError, "`loop_vars`"),
        (lambda x, c: ops.switch(ops.ones((2, 2)) > 0, x, x), ValueError, "rank 2 is larger than the rank 1"),
    ],
)
def test_errors_say_what_is_needed(engine, run, error, words):
    with pytest.raises(error, match=words):
        compiled(run)()
    if "float32" not in words:  # eager branches may differ
        with pytest.raises(error, match=words) if "'a'" not in words else dt.engine(engine):
            run(ops.convert([1.0, 2.0]), ops.convert(True))


def test_types_are_in_the_table():
    assert {"If", "While", "Scan", "WhileGrad"} <= set(OPS)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_a_limit_that_is_a_tensor(engine, dtype):
    def powers_of_two(limit):
        return ops.while_loop(lambda i, y: i < 100, lambda i, y: (i + 1, y * 2.0), (0, 1.0), maximum_iterations=limit)

    for call in (powers_of_two, dt.function(powers_of_two)):
        for limit in (0, 1, 5):
            count, power = call(ops.convert(limit, dtype))
            assert (int(count), float(power)) == (limit, 2.0**limit)


def test_limits_that_are_none(engine):
    def run(limit):
        return ops.while_loop(lambda y: y < 9.0, lambda y: y * 2.0, 1.0, maximum_iterations=limit)

    for call in (run, dt.function(run)):
        with pytest.raises(ValueError, match="maximum_iterations must be a scalar, not of shape"):
            call(ops.convert([1, 2]))
        with pytest.raises(TypeError, match="maximum_iterations must be a whole number"):
            call(ops.convert(1.5))
    with pytest.raises(ValueError, match="maximum_iterations must be 0 or more, not -1"):
        run(-1)
