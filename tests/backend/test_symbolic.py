"""The default graph: recorded and computed operations, its tensors' methods, and replaceable functions of K."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail.sessions.session_graph import recording_graph


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


# -- recording --------------------------------------------------------------------------------------------------------


def test_expressions_of_variables_are_recorded_from_the_first_placeholder_on(engine):
    v = K.variable([1.0, 2.0])
    before = K.sum(v)
    K.placeholder(())
    after, constant = K.sum(v), K.constant(2.0) * 3.0
    assert [K.is_symbolic(t) for t in (before, after, constant, constant * v)] == [False, True, False, True]
    K.set_value(v, [5.0, 5.0])
    assert [K.eval(before), K.eval(after), K.eval(constant * v).tolist()] == [3.0, 10.0, [30.0, 30.0]]


def test_variables_of_others_are_computed_with_a18(engine):
    x, v, w = K.placeholder(()), dt.Variable(1.0), K.variable(3.0)
    twice = dt.custom_gradient(lambda a: (a * 2.0, lambda g: g))
    assert float(v * 2) == float(v + v) == float(twice(v)) == float(dt.ops.cond(v > 0, lambda: v * 2, lambda: v)) == 2.0
    assert float(dt.ops.convert(v)) == float(K.sum(v)) == 1.0 and bool(v == 1.0)
    assert float(dt.ops.while_loop(lambda i: i < 3, lambda i: i + v, v)) == 3.0
    with pytest.raises(ValueError, match="broadcast"):
        dt.Variable([1.0, 2.0]) == dt.Variable([1.0, 2.0, 3.0])  # noqa: B015
    y, z = x * v, w * v  # beside a placeholder or a variable of K's, v is read when the graph runs
    f = K.function([x], [y, z])
    v.assign(5.0)
    assert f([2.0]) == [10.0, 15.0]


def test_where_a_tape_records_variables_are_computed_with(engine):
    x, v = K.placeholder(()), K.variable([1.0, 2.0])
    with dt.GradientTape() as tape:
        assert recording_graph() is None
        loss = K.sum(K.square(v))
        assert K.is_tensor(x)
    assert tape.gradient(loss, v).numpy().tolist() == [2.0, 4.0]
    assert recording_graph() is x.graph


def test_inside_function_nothing_of_it_applies(engine):
    x, v = K.placeholder(()), K.variable(1.0)

    @dt.function
    def step(y):
        assert recording_graph() is None
        assert K.learning_phase() == 0
        K.update_add(v, y)
        return v * y

    assert [float(step(K.constant(2.0))), float(step(K.constant(2.0)))] == [6.0, 10.0]
    assert K.get_value(v) == 5.0
    with pytest.raises(ValueError, match=r"K.placeholder at .* has its arguments as inputs"):
        dt.function(lambda y: K.placeholder(()) + y)(1.0)
    with pytest.raises(ValueError, match="belongs to the graph"):
        dt.function(lambda y: x + y)(K.constant(1.0))


def test_eager_and_symbolic(engine):
    v = K.variable([1.0, 2.0])
    total = K.symbolic(K.sum)(v)
    assert K.is_symbolic(total)
    assert K.eager(K.sum)(v).numpy() == 3.0
    assert K.eager(K.update)(v, [3.0, 4.0]) is v
    assert K.eval(total) == 7.0
    assert K.eager(lambda: recording_graph())() is None
    assert recording_graph() is total.graph
    assert K.eager(K.sum).__name__ == "sum"


def test_loops_and_branches_on_variables_are_recorded(engine):
    K.placeholder(())
    v, n = K.variable(2.0), K.variable(3, dtype="int32")
    picked = K.switch(v > 1.0, lambda: v * 10.0, lambda: v)
    doubled = dt.ops.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2.0), (dt.ops.constant(0), v * 1.0))[1]
    assert [K.eval(picked), K.eval(doubled)] == [20.0, 16.0]
    K.batch_set_value([(v, 0.5), (n, 2)])
    assert [K.eval(picked), K.eval(doubled)] == [0.5, 2.0]


def test_a_variable_as_a_shape_is_recorded(engine):
    K.placeholder(())
    rows = K.variable([3, 2], dtype="int32")
    table = K.reshape(K.constant(np.arange(6.0)), rows)
    assert K.eval(table).shape == (3, 2)


def test_functions_with_gradients_of_their_own_are_recorded(engine):
    @dt.custom_gradient
    def twice(a):
        return a * 2.0, lambda g: g * 7.0

    x, v = K.placeholder((2,)), K.variable([1.0, 2.0])
    forgetting = dt.recompute_grad(lambda a: K.square(a * v))
    f = K.function([x], [*K.gradients(K.sum(twice(x) * twice(v)), [x, v]), *K.gradients(K.sum(forgetting(x)), [x, v])])
    found = f([[3.0, 4.0]])
    assert [g.tolist() for g in found] == [[14.0, 28.0], [42.0, 56.0], [6.0, 32.0], [18.0, 64.0]]
    K.set_value(v, [0.0, 0.0])
    assert f([[3.0, 4.0]])[0].tolist() == [0.0, 0.0]


def test_names(engine):
    K.get_session()
    with K.name_scope("layer"):
        x = K.placeholder((2,), name="x")
        y = K.square(K.variable([1.0, 2.0], name="w"))
    assert [x.name, y.name] == ["layer/x:0", "layer/Square:0"]


def test_an_unknown_rank(engine):
    x = K.placeholder()
    f = K.function([x], [K.sum(x), x * 2.0])
    assert [f([np.ones(shape)])[0] for shape in ((), (2,), (2, 3))] == [1.0, 2.0, 6.0]


# -- methods of the tensors -------------------------------------------------------------------------------------------


def test_a_comparison_is_identity(engine):
    x, y, wide = K.placeholder((2,)), K.placeholder((2,)), K.placeholder((3,))
    v = K.variable([1.0, 2.0])
    assert x == x
    assert not x == y  # noqa: SIM201
    assert x != y
    assert not v == 0.0  # noqa: SIM201
    assert v == v
    assert not x == wide  # noqa: SIM201
    assert wide in [x, v, y, wide, None, "x", 3.0]
    assert [x, v, y].index(y) == 2
    kept = [x, wide, y, v]
    kept.remove(v)
    assert [t.name for t in kept] == [x.name, wide.name, y.name]
    assert K.function([x, y], [K.equal(x, y)])([[1.0, 2.0], [1.0, 3.0]])[0].tolist() == [True, False]
    assert {x: 1, v: 2}[v] == 2
    with pytest.raises(TypeError, match=r"Greater at test_symbolic.py:\d+: .*need a value"):
        bool(x > 0)
    K.clear_session()
    assert (v == K.constant([1.0, 5.0])).numpy().tolist() == [True, False]


def test_elsewhere_a_comparison_has_no_truth_while_it_is_traced():
    with pytest.raises(TypeError, match=r"Equal at .*need a value"):
        dt.function(lambda x: 1.0 if x == x else 0.0)(K.constant(1.0))


def test_programs_may_note_things_on_tensors():
    x = K.placeholder((None, 2))
    x._keras_shape, x._uses_learning_phase = (None, 2), True
    assert (x._keras_shape, x._uses_learning_phase) == ((None, 2), True)


def test_what_a_value_is():
    x, v, t = K.placeholder((2,)), K.variable([1.0]), K.constant([1.0])
    values = x, x + 1.0, v, t, np.ones(1), [1.0], 1.0, "x", None
    assert [K.is_placeholder(a) for a in values] == [True] + 8 * [False]
    assert [K.is_symbolic(a) for a in values] == [True, True] + 7 * [False]
    assert [K.is_tensor(a) for a in values] == 4 * [True] + 5 * [False]
    assert [K.is_variable(a) for a in values] == [False, False, True] + 6 * [False]
    assert [K.is_keras_tensor(a) for a in values[:4]] == [True, True, False, False]
    traced = []
    dt.function(lambda y: (traced.extend([K.is_symbolic(y), K.is_keras_tensor(y), K.is_placeholder(y)]), y)[1])(t)
    assert traced == [True, False, False]


def test_what_an_engines_own_value_is():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    values = torch.ones(2), jax.numpy.ones(2)
    assert [K.is_tensor(a) and not K.is_symbolic(a) and not K.is_variable(a) for a in values] == [True, True]
    traced = []
    jax.jit(lambda x: (traced.append(K.is_symbolic(x)), x)[1])(1.0)
    assert traced == [True]


def test_what_a_value_of_tensorflow_is():
    tf = pytest.importorskip("tensorflow")
    variable, constant, traced = tf.Variable([1.0]), tf.constant([1.0]), []
    tf.function(lambda x: (traced.append(K.is_symbolic(x)), x)[1])(constant)
    assert [K.is_variable(variable), K.is_variable(constant), K.is_symbolic(constant), *traced] == [1, 0, 0, 1]


# -- order ------------------------------------------------------------------------------------------------------------


def test_control_dependencies_need_updates_and_show_their_values(engine):
    x, v, u = K.placeholder(()), K.variable(1.0), K.variable(0.0)
    with K.control_dependencies([K.update_add(v, x)]), K.control_dependencies(K.update(u, x)):
        y = K.identity(v) * 10.0
        loss = x * 2.0
    outside = v * 1.0
    f = K.function([x], [loss])
    assert (f([3.0]), K.batch_get_value([v, u])) == ([6.0], [4.0, 3.0])
    assert (K.function([x], y)(1.0), K.batch_get_value([v, u])) == (50.0, [5.0, 1.0])
    assert (K.function([], outside)([]), K.get_value(v)) == (5.0, 5.0)


def test_control_dependencies_eagerly():
    v = K.variable(1.0)
    with K.control_dependencies([K.update(v, 2.0)]):
        assert K.get_value(v) == 2.0
    assert isinstance(K.control_dependencies([]), contextlib.AbstractContextManager)


# -- one mutable module -----------------------------------------------------------------------------------------------


def test_published_code_may_replace_update(engine, monkeypatch):
    """Check code of optimizers with one rate per layer: they change another optimizer's arguments of `K.update`."""
    x, w = K.placeholder((2,)), K.variable([1.0, 1.0])

    class Optimizer:
        def get_updates(self, loss, params):
            return [K.update(p, p - g) for p, g in zip(params, K.gradients(loss, params), strict=True)]

    class Slower(Optimizer):
        def get_updates(self, loss, params):
            update = K.update
            K.update = lambda p, new: update(p, p + 0.5 * (new - p))
            try:
                return super().get_updates(loss, params)
            finally:
                K.update = update

    loss = K.sum(x * w)
    for optimizer, wanted in ((Optimizer(), [0.0, -1.0]), (Slower(), [-0.5, -2.0])):
        K.function([x], [loss], updates=optimizer.get_updates(loss, [w]))([[1.0, 2.0]])
        assert K.get_value(w).tolist() == wanted


def test_published_code_may_replace_gradients(monkeypatch):
    """Check code of gradient accumulation and normalization, which replaces a function in the module's dictionary."""
    x = K.placeholder((2,))
    gradients = K.__dict__["gradients"]
    monkeypatch.setitem(K.__dict__, "gradients", lambda loss, v: [K.sign(g) for g in gradients(loss, v)])
    f = K.function([x], K.gradients(K.sum(x * [3.0, -5.0]), [x]))
    assert f([[1.0, 1.0]])[0].tolist() == [1.0, -1.0]


def test_functions_of_k_find_each_other_when_they_are_called(monkeypatch):
    made = []
    monkeypatch.setattr(K, "update_sub", lambda x, y: made.append((x, float(y))))
    v = K.variable(2.0)
    K.moving_average_update(v, 4.0, 0.5)
    assert made == [(v, -1.0)]


# -- placeholders that are refused ------------------------------------------------------------------------------------


def test_placeholders_that_are_not_offered():
    with pytest.raises(NotImplementedError, match=r"K.placeholder at .* ragged"):
        K.placeholder((2, None), ragged=True)
    with pytest.raises(ValueError, match=r"K.placeholder at .* 0 or more.* not \(2, -1\)"):
        K.placeholder((2, -1))
    assert recording_graph() is None
