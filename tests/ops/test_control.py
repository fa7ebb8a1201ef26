"""Control flow: the same numbers and gradients eagerly, compiled, and on engines' own values."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.ops.op import OPS
from tests.ops.table import finite_differences

# -- programs: (function of float arrays, shapes); each is run every way -----------------------------------------------


def branch(x):
    return ops.cond(ops.sum(x) > 0, lambda: ops.tanh(x) * 2, lambda: x * x)


def branch_of_one_input(x, y):
    """One branch uses y alone, the other neither."""
    return ops.cond(ops.sum(x) > 0, lambda: y * 3.0, lambda: ops.ones_like(y))


def recurrent(x, w, h):
    last, ys = ops.scan(lambda c, t: (ops.tanh(c @ w + t), c * t), h, x)
    return ops.sum(last) + ops.sum(ys * ys, axis=0)


def backwards(x, w, h):
    last, ys = ops.scan(lambda c, t: (ops.tanh(c @ w + t),) * 2, h, x, reverse=True)
    return ops.sum(last) + ys


def structured(x, y):
    def step(carry, slices):
        total = carry["total"] + slices[0] * slices[1]
        return {"total": total, "number": carry["number"] + 1}, (total, {"product": slices[0] * carry["total"]})

    init = {"total": ops.zeros_like(x[0]), "number": 0}
    last, (totals, more) = ops.scan(step, init, (x, y))
    return last["total"] * ops.cast(last["number"], x.dtype) + ops.sum(totals + more["product"], axis=0)


def powers(x):
    return ops.scan(lambda c, _: (c * x, c), ops.ones_like(x), length=4)[1]


def constants_alone(x, w):
    """The steps use tanh(w), which does not depend on the step."""
    return ops.scan(lambda c, t: (c * ops.tanh(w) + t, None), ops.zeros_like(x[0]), x)[0]


def newton(x):
    """Square roots, until they are good."""

    def goes_on(i, y):
        return ops.sum((y * y - x) * (y * y - x)) > 1e-3

    return ops.while_loop(goes_on, lambda i, y: (i + 1, (y + x / y) / 2), (0, x))[1]


def newton_bounded(x):
    return ops.while_loop(lambda y: ops.sum(y) > 0, lambda y: (y + x / y) / 2, x, maximum_iterations=3)


def counted(x, w):
    return ops.fori_loop(0, 3, lambda i, y: ops.tanh(y * w) + ops.cast(i, x.dtype), x)


def counted_dynamically(x, w):
    count = ops.cast(ops.sum(w * 0), "int32") + 3
    return ops.fori_loop(0, count, lambda i, y: ops.tanh(y * w), x)


def never(x):
    return ops.while_loop(lambda y: ops.sum(y) > 1e9, lambda y: y * y, x) * 2


def nested(x, w):
    """A scan in a cond in a while, with captures from all around."""

    def body(i, y):
        def total():
            return ops.scan(lambda c, t: (c * w + t * y, None), y, x)[0]

        return i + 1, ops.tanh(ops.cond(ops.sum(y) > 0, total, lambda: y - w))

    return ops.while_loop(lambda i, y: i < 3, body, (0, x[0]), maximum_iterations=5)[1]


def scan_in_scan(x, w):
    def outer(c, row):
        inner = ops.scan(lambda d, t: (d * ops.tanh(t) + w, d * t), c, row)
        return inner[0], ops.sum(inner[1])

    last, ys = ops.scan(outer, 0.5, x)
    return last * ys


def mapped(x, y):
    first, second = ops.map_fn(lambda pair: (pair[0] * pair[1], ops.sum(pair[0] * pair[0])), (x, y))
    return ops.sum(first) * second


def folded(x):
    return ops.foldl(lambda a, t: a * t + t, x) + ops.foldr(lambda a, t: a - a * t, x, ops.ones_like(x[0]))


def prefix(x):
    return ops.associative_scan(lambda a, b: a * b, x) + ops.associative_scan(lambda a, b: a + b, x, reverse=True)


def switched(x, y):
    rows = ops.switch(ops.sum(x, axis=1, keepdims=True) > 0, x, lambda: y * 2)
    return rows * ops.switch_case(1, [lambda: x, lambda: y, lambda: x * y])


PROGRAMS = [
    (branch, [(2, 3)]),
    (branch_of_one_input, [(3,), (2,)]),
    (recurrent, [(4, 2, 3), (3, 3), (2, 3)]),
    (backwards, [(4, 2, 3), (3, 3), (2, 3)]),
    (structured, [(3, 2), (3, 2)]),
    (powers, [(2,)]),
    (constants_alone, [(3, 2), (2,)]),
    (newton, [(2,)]),
    (newton_bounded, [(2,)]),
    (counted, [(2,), (2,)]),
    (counted_dynamically, [(2,), (2,)]),
    (never, [(2,)]),
    (nested, [(2, 3), (3,)]),
    (scan_in_scan, [(2, 3), ()]),
    (mapped, [(3, 2), (3, 2)]),
    (folded, [(4, 2)]),
    (prefix, [(5, 2)]),
    (switched, [(3, 2), (3, 2)]),
]
programs = pytest.mark.parametrize(("function", "shapes"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])


def total(function):
    """The function's results, weighted and summed to one number."""

    def value(*xs):
        y = function(*xs)
        return ops.sum(y * ops.tanh(y + 1))

    return value


def gradient(function):
    def run(*xs):
        with dt.GradientTape() as tape:
            tape.watch(list(xs))
            y = function(*xs)
        return tape.gradient(y, list(xs), unconnected_gradients="zero")

    return run


def draw(rng, shapes):
    return [rng.uniform(0.4, 1.2, shape) for shape in shapes]


def agree(found, expected, tolerance=1e-9):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=tolerance, atol=tolerance)


@programs
def test_compiled_is_eager(engine, function, shapes, rng):
    arrays = draw(rng, shapes)
    with dt.engine("numpy"):
        expected = function(*map(ops.convert, arrays))
    open_dimensions = [dt.spec([None] * a.ndim, a.dtype) for a in arrays]
    calls = [function, dt.function(function)]
    if function is not prefix:  # which needs to know the length
        calls.append(dt.function(function, input_signature=open_dimensions))
    for call in calls:
        found = call(*map(ops.convert, arrays))
        assert (found.engine, found.dtype, found.shape) == (engine, expected.dtype, expected.shape)
        agree([found], [expected])


@programs
def test_gradient(engine, function, shapes, rng):
    arrays = draw(rng, shapes)
    value = total(function)
    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(value(*map(ops.convert, new))), arrays)
    xs = [ops.convert(a) for a in arrays]
    calls = [gradient(value), dt.function(gradient(value)), gradient(dt.function(value))]
    if function is not prefix:
        open_dimensions = [dt.spec([None] * a.ndim, a.dtype) for a in arrays]
        calls.append(dt.function(gradient(value), input_signature=open_dimensions))
    for call in calls:
        agree(call(*xs), expected, 1e-5)


@programs
def test_gradient_of_gradient(engine, function, shapes, rng):
    arrays = draw(rng, shapes)

    def slope(*xs):
        return sum(ops.sum(g * g) for g in gradient(total(function))(*xs))

    with dt.engine("numpy"):
        expected = finite_differences(lambda new: float(slope(*map(ops.convert, new))), arrays)
    calls = [dt.function(gradient(slope))] if engine == "jax" else [gradient(slope), dt.function(gradient(slope))]
    for call in calls:
        agree(call(*map(ops.convert, arrays)), expected, 1e-4)


# -- what runs, and when ----------------------------------------------------------------------------------------------


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


def test_branches_are_promoted_and_dimensions_joined(engine):
    pick = dt.function(
        lambda c, x: ops.cond(c, lambda: x, lambda: 1), input_signature=[dt.spec((), "bool"), dt.spec(())]
    )
    for condition, expected in ((True, 2.5), (False, 1.0)):
        found = pick(condition, 2.5)
        assert (found.dtype, float(found)) == ("float32", expected)
    if engine != "jax":  # which needs to know every shape
        cut = dt.function(lambda c, x: ops.cond(c, lambda: x, lambda: x[1:]))
        assert cut.graph(ops.convert(True), np.zeros(3)).outputs[0].shape == (None,)
        assert cut(ops.convert(False), np.zeros(3)).shape == (2,)


def test_a_loop_without_steps(engine):
    x = ops.zeros((0, 3))

    def run(x):
        return ops.scan(lambda c, t: (c + t, (c * 2, ops.sum(t))), ops.ones((3,)), x)

    for call in (run, dt.function(run), dt.function(run, input_signature=[dt.spec((None, 3))])):
        last, (ys, sums) = call(x)
        assert (last.tolist(), ys.shape, sums.shape) == ([1, 1, 1], (0, 3), (0,))
        assert (ys.dtype, sums.dtype) == ("float32", "float32")


def test_an_eager_scan_without_steps_leaves_variables_alone():
    v = dt.Variable(1.0)
    ops.scan(lambda c, t: (c, v.assign_add(t).read()), 0.0, ops.zeros((0,)))
    assert float(v) == 1.0


def test_carried_dtypes_and_shapes_settle(engine):
    """An integer 0 is a fine start for a sum of floats."""

    def run(x):
        halved = ops.while_loop(lambda n, _: n < 3, lambda n, y: (n + 1, y * 0.5), (0, 8))
        return ops.scan(lambda c, t: (c + t, None), 0, x)[0], halved

    for call in (run, dt.function(run)):
        total, (count, y) = call(ops.convert([1.5, 2.0]))
        assert (float(total), total.dtype, int(count), float(y), y.dtype) == (3.5, "float32", 3, 1.0, "float32")


def test_a_carried_dimension_may_vary():
    def run(x):
        return ops.while_loop(lambda y: ops.shape(y)[0] < 5, lambda y: ops.concatenate([y, y]), (x,))[0]

    for engine in {"numpy", "torch"} & set(dt.engines()):
        with dt.engine(engine):
            x = ops.ones((3,))
            assert run(x).shape == dt.function(run)(x).shape == (6,)
            agree(dt.function(gradient(lambda x: ops.sum(run(x) * 3)))(x), [[6, 6, 6]])


def test_big_loops_take_no_ages(engine):
    x = np.linspace(0, 1, 10_000)
    run = dt.function(gradient(lambda x: ops.scan(lambda c, t: (c * 0.999 + t * t, None), 0.0, x)[0]))
    run(ops.convert(x))
    start = time.perf_counter()
    (found,) = run(ops.convert(x))
    assert time.perf_counter() - start < 5
    agree([found], [2 * x * 0.999 ** np.arange(9_999, -1, -1)])


def test_what_depends_on_constants_alone_is_not_kept():
    graph = dt.function(gradient(total(constants_alone))).graph(np.ones((3, 2)), np.ones(2))
    forward, backward = (op for op in graph.operations if op.type == "Scan")
    assert len(forward.outputs) == 2  # the carry, and the carries
    assert len(backward.args[1]) == 1  # sliced
    assert "Tanh" not in [op.type for op in backward.attr("body").operations]


# -- variables --------------------------------------------------------------------------------------------------------


def test_variables_in_bodies_and_branches(engine):
    count, total = dt.Variable(0, name="count"), dt.Variable(np.zeros(2), name="total")

    def run(x):
        def step(carry, t):
            total.assign_add(t)
            ops.cond(ops.sum(t) > 0, lambda: count.assign_add(1).read(), lambda: count.read())
            return carry, total.read()

        return ops.scan(step, (), x)[1]

    x = np.array([[1.0, 2.0], [-3.0, 1.0], [4.0, 5.0]])
    for call in (run, dt.function(run)):
        count.assign(0)
        total.assign(np.zeros(2))
        agree([call(ops.convert(x)), total, count], [np.cumsum(x, axis=0), x.sum(0), 2])


def test_a_while_loop_assigns_what_its_condition_reads(engine):
    left = dt.Variable(3)

    def run(x):
        def body(y):
            left.assign_sub(1)
            return (y * 2,)

        return ops.while_loop(lambda y: left.read() > 0, body, (x,))[0]

    for call in (run, dt.function(run)):
        left.assign(3)
        assert (float(call(ops.convert(1.0))), int(left)) == (8, 0)


def test_gradients_reach_variables_in_bodies(engine):
    w = dt.Variable(np.array([0.5, -0.3]), name="w")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def loss(x):
        return ops.sum(ops.scan(lambda c, t: (ops.tanh(c * w + t), None), ops.zeros_like(x[0]), x)[0])

    def train(x):
        with dt.GradientTape() as tape:
            y = loss(x)
        return tape.gradient(y, w)

    def of_compiled(x):
        with dt.GradientTape() as tape:
            y = dt.function(loss)(x)
        return tape.gradient(y, w)

    expected = train(ops.convert(x))
    agree([dt.function(train)(ops.convert(x)), of_compiled(ops.convert(x))], [expected, expected])


def test_captures_from_two_levels_up(engine):
    def run(x, y):
        z = x * 2

        def outer(c, t):
            return ops.cond(t > 0, lambda: ops.scan(lambda d, s: (d + s * z * y, None), c, x)[0], lambda: c - z), None

        return ops.scan(outer, ops.zeros_like(x), y)[0]

    args = ops.convert(np.array([1.0, 2.0])), ops.convert(np.array([1.0, -1.0]))
    agree([dt.function(run)(*args)], [run(*args)])


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


# -- errors -----------------------------------------------------------------------------------------------------------


def compiled(run):
    return lambda: dt.function(run)(ops.convert([1.0, 2.0]), ops.convert(True))


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda x, c: ops.cond(c, x, lambda: x), TypeError, "true_fn must be a function"),
        (lambda x, c: ops.cond(c, lambda: {"a": x}, lambda: [x, x]), TypeError, r"\{'a': \*\} and \[\*, \*\]"),
        (lambda x, c: ops.cond(c, lambda: x, lambda: x[0]), ValueError, r"float32\[2\] and float32\[\]"),
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
    if "float32" not in words:  # eager branches need not agree
        with pytest.raises(error, match=words) if "'a'" not in words else dt.engine(engine):
            run(ops.convert([1.0, 2.0]), ops.convert(True))


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda x, c: ops.scan(lambda a, t: (a[None], t), x, x), ValueError, "must have one rank"),
        (lambda x, c: ops.while_loop(lambda a: a > 0, lambda a: a, x), ValueError, "must be a scalar"),
        (lambda x, c: ops.cond(c, lambda: 1.0, 2.0), TypeError, "false_fn must be a function"),
    ],
)
def test_errors_of_traced_bodies(run, error, words):
    with pytest.raises(error, match=words):
        compiled(run)()


def test_a_condition_must_not_assign():
    v = dt.Variable(0)
    with pytest.raises(ValueError, match=f"assigns {v.name}"):
        dt.function(lambda x: ops.while_loop(lambda y: v.assign_add(1).read() < 3, lambda y: y, x))(1.0)


def test_types_are_in_the_table():
    assert {"If", "While", "Scan", "WhileGrad"} <= set(OPS)
