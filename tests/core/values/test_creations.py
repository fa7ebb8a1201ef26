"""Variables made while a function is traced: only the first call makes them, as in TensorFlow's functions."""

from __future__ import annotations

import functools
import gc
import re
import threading
import weakref

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.compat import tensorflow as compat
from tests.core.creation_programs import ONE, PROGRAMS, ROW, Holder
from tests.libraries import require

AGAIN, LATER, IN_BODY = "each trace of the function", "only the first call", "The body of a loop or branch"


# -- programs by TensorFlow and by Dovetail ---------------------------------------------------------------------------


def outcome(tf, program):
    """The result of each call, or the type of its error."""
    holder, found = Holder(), []
    for function, x in program(tf, holder):
        try:
            found.append(np.asarray(function(tf.constant(x))).tolist())
        except Exception as error:
            found.append(type(error))
    return found


@functools.cache
def wanted(program):
    import tensorflow

    return outcome(tensorflow, program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_tensorflow(engine, program):
    require("tensorflow", "the oracle")
    assert outcome(compat, program) == wanted(program)


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_variable_in_each_call_is_refused(engine):
    @dt.function
    def count():
        v = dt.Variable(3.0)
        v.assign_add(1.0)
        return v.read()

    for _ in range(3):
        with pytest.raises(ValueError, match=rf"^count at test_creations.py:\d+: a variable cannot .* {AGAIN}") as said:
            count()
        assert "if self.v is None: self.v = Variable(...)" in str(said.value) and IN_BODY not in str(said.value)


MAKERS = {
    "variable": (lambda: dt.Variable(ROW, name="w"), "the variable 'w'"),
    "K": (lambda: K.variable(ROW, name="w"), "the variable 'w'"),
    "generator": (lambda: dt.Generator(3), "the variable 'generator/count'"),
    "TensorFlow": (lambda: compat.Variable(ROW, name="w"), "the variable 'w:0'"),
    "nested": (lambda: [{"w": dt.Variable(ROW)}], "a variable"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_error_names_the_function_the_variable_and_the_line(engine, kind):
    make, named = MAKERS[kind]

    @dt.function(name="step")
    def f(x):
        make()
        return x

    with pytest.raises(ValueError, match=rf"step at test_creations.py:\d+: {named} cannot be made here: {AGAIN}"):
        f(ROW)


LOOPS = {
    "while_loop": lambda body, x: ops.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, body(s)), (0, x))[1],
    "map_fn": lambda body, x: ops.map_fn(body, ops.stack([x, x])),
    "scan": lambda body, x: ops.scan(lambda s, part: (body(s), part), x, ops.stack([x, x]))[0],
    "cond": lambda body, x: ops.cond(ops.sum(x) > 0, lambda: body(x), lambda: x),
    "vectorized_map": lambda body, x: ops.vectorized_map(body, ops.stack([x, x])),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_bodies(engine, loop):
    """Check that a kept variable is made once. One for each iteration is refused, and the error speaks of bodies."""
    holder = Holder()

    @dt.function
    def kept(x):
        return LOOPS[loop](lambda s: s + holder.once(lambda: dt.Variable(ROW)), x)

    @dt.function
    def made(x):
        return LOOPS[loop](lambda s: s + dt.Variable(ROW), x)

    first = kept(ROW).numpy()
    np.testing.assert_allclose(kept(ROW).numpy(), first)
    holder.v.assign(ROW * 0)
    assert not np.array_equal(kept(ROW).numpy(), first)
    with pytest.raises(ValueError, match=rf"made at test_creations.py:\d+: a variable cannot .* {AGAIN}") as said:
        made(ROW)
    assert loop == "vectorized_map" or IN_BODY in str(said.value)


FIRST_VALUES = {
    "an argument": (lambda x: x * 2.0, ROW * 2),
    "a row of an argument": (lambda x: x[0] + ops.zeros(2), ROW * 0 + 1),
    "ops": (lambda x: ops.ones(2) * 3.0, ROW * 0 + 3),
    "its shape": (lambda x: ops.zeros(ops.shape(x)), ROW * 0),
    "numbers": (lambda x: [1.0, 5.0], [1, 5]),
}


@pytest.mark.parametrize("kind", FIRST_VALUES)
def test_first_values(engine, kind):
    first, expected = FIRST_VALUES[kind]
    holder = Holder()
    f = dt.function(lambda x: holder.once(lambda: dt.Variable(first(x))) + 0.0 * x)
    for x in (ROW, ROW * 7):
        np.testing.assert_allclose(f(x).numpy(), expected)


def test_a_first_value_that_is_not_known(engine):
    holder = Holder()
    f = dt.function(lambda x: holder.once(lambda: dt.Variable(x * 2.0)) + x, name="step")
    with pytest.raises(ValueError, match=r"its first value .* cannot be computed while 'step' is traced: .*'arg0'"):
        f.graph(dt.spec((2,)))
    body = lambda i, s: (i + 1, s + holder.once(lambda: dt.Variable(s * 2.0)))  # noqa: E731
    g = dt.function(lambda x: ops.while_loop(lambda i, s: i < 3, body, (0, x))[1])
    with pytest.raises(ValueError, match=r"its first value .* cannot be computed .* Make the variable of numbers"):
        g(ROW)
    assert holder.v is None
    np.testing.assert_allclose(f(ROW), ROW * 3)  # no call was made before


# -- other programs are unchanged --------------------------------------------------------------------------------------


def test_a_second_trace_only_where_variables_are_made():
    holder, traces = Holder(), []

    @dt.function
    def f(x):
        traces.append(x.shape)
        return holder.once(lambda: dt.Variable(1.0)) * x

    f(ROW), f(ROW), f(ONE)
    assert traces == [(2,), (2,), ()]
    assert len(f.graph(ROW)) == len(f.graph(ONE)) == 3


def test_the_graph_of_the_first_call_is_that_of_the_others():
    """Check that the graph holds one read of the variable, and no trace of its creation."""
    holder = Holder()
    f = dt.function(lambda x: holder.once(lambda: dt.Variable(ops.exp(x))) * x)
    assert [op.type for op in f.graph(ROW).operations] == ["Placeholder", "ReadVariableOp", "Mul"]
    with dt.GradientTape() as tape:
        y = f(ROW)
    np.testing.assert_allclose(tape.gradient(y, holder.v), ROW)


def test_optimizers_make_their_slots_in_the_first_call(engine):
    optimizer, w = compat.compat.v1.train.AdamOptimizer(0.1), compat.Variable([1.0, 2.0])

    @compat.function
    def step():
        with compat.GradientTape() as tape:
            loss = compat.reduce_sum(w * w)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))
        return loss

    losses = [float(step()) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == 5 and len(optimizer.variables()) == 4


def test_a_generator_that_is_kept_goes_on_from_call_to_call(engine):
    """Check that a kept generator continues from call to call, with its numbers outside of functions."""
    holder, outside = Holder(), dt.Generator(3)
    f = dt.function(lambda x: ops.random.normal(holder.once(lambda: dt.Generator(3)), (2,)) + 0.0 * ops.sum(x))
    for x in (ONE, ONE, ROW, ONE):
        np.testing.assert_allclose(f(x), ops.random.normal(outside, (2,)), rtol=1e-6)


def test_random_numbers_without_a_generator_in_later_traces(engine):
    f = dt.function(lambda x: K.random_normal((3,), seed=4) + K.random_uniform((3,)) + ops.sum(x))
    found = [f(np.zeros(n, "float32")).numpy() for n in (2, 2, 3, 3)]
    assert not np.array_equal(found[0], found[1]) and not np.array_equal(found[2], found[3])


def test_graphs_that_a_traced_function_builds_have_variables_of_their_own():
    def build():
        graph = dt.Graph()
        with graph.as_default():
            v = dt.Variable(2.0)
            return dt.Session(graph).run(v * 3.0)

    f = dt.function(lambda x: x * float(build()))
    assert [float(f(np.ones(n, "float32"))[0]) for n in (1, 2)] == [6, 6]


def test_eager_calls_make_as_many_as_they_like(engine):
    made = []

    def body(i, s):
        made.append(dt.Variable(1.0))
        return i + 1, s + made[-1].read()

    assert float(ops.while_loop(lambda i, s: i < 3, body, (0, 0.0))[1]) == 3 and len(made) == 3


def test_a_call_in_another_thread_is_a_call_of_its_own():
    holder = Holder()
    f = dt.function(lambda x: holder.once(lambda: dt.Variable(1.0)) * x)

    def made_in_a_thread():
        found = []
        thread = threading.Thread(target=lambda: found.append(dt.Variable(5.0)))
        thread.start()
        thread.join()
        return found[0]

    assert float(f(ONE)) == 1
    g = dt.function(lambda x: made_in_a_thread().numpy() * x)
    assert [g(np.ones(n, "float32")).numpy()[0] for n in (1, 2)] == [5, 5]


def test_nothing_of_the_first_call_is_kept():
    holder, x = Holder(), ops.constant(ROW)
    f = dt.function(lambda x: holder.once(lambda: dt.Variable(x[0])) * x)
    f(x)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_a_first_call_that_fails_is_none(engine):
    """Check that the call after a failed one can make variables; TensorFlow's gives None then."""
    holder = Holder()

    @dt.function
    def f(x):
        v = dt.Variable(1.0) if holder.v is None else holder.v
        holder.traces += 1
        if holder.traces == 1:
            raise KeyError("not yet")
        holder.v = v
        v.assign_add(x)
        return v.read()

    with pytest.raises(KeyError):
        f(ONE)
    assert [float(f(ONE)) for _ in range(3)] == [2, 3, 4]


def test_a_refused_call_leaves_the_function_as_it_was(engine):
    holder = Holder()

    @dt.function
    def f(x):
        if len(x.shape) == 1 and holder.v is None:
            dt.Variable(1.0)
        return x * 2.0

    assert float(f(ONE)) == 2
    with pytest.raises(ValueError, match=re.escape(LATER)):
        f(ROW)
    holder.v = True
    np.testing.assert_allclose(f(ROW), ROW * 2)
    assert len(f.plans) == 2


@pytest.mark.parametrize("kind", ["ones", "zeros", "eye"])
def test_filled_variables_of_k_are_tensors_in_a_trace(engine, kind):
    """Check that filled variables of K are tensors in a trace, the same in each call; TensorFlow refuses them there."""
    make = {"ones": lambda: K.ones((2,)), "zeros": lambda: K.zeros((2,), "float64"), "eye": lambda: K.eye(2)}[kind]
    found = dt.function(lambda x: (make(), make() * x))
    for x in (ROW, ROW, ROW[:1]):
        value, product = found(x)
        np.testing.assert_array_equal(value, make().numpy())
        np.testing.assert_array_equal(product, make().numpy() * x)
        assert value.dtype == make().dtype
    assert isinstance(make(), dt.Variable)
    with pytest.raises(TypeError, match=r"K.update_add .* needs a variable"):
        dt.function(lambda: K.update_add(make(), 1.0))()
