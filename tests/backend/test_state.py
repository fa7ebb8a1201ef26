"""The values of all kinds of variables: reading, setting and updating them in all modes; errors."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


def test_updates_are_made_at_once_where_no_graph_is_open(engine):
    v = K.variable([1.0, 2.0])
    assert K.update(v, [3.0, 4.0]) is v
    assert K.update_add(v, v) is v
    assert K.update_sub(v, 1.0) is v
    assert K.get_value(v).tolist() == [5.0, 7.0]
    assert K.moving_average_update(v, [1.0, 3.0], 0.5) is v
    assert K.get_value(v).tolist() == [3.0, 5.0]


def test_inside_function_updates_happen_in_program_order(engine):
    v = K.variable(1.0)

    @dt.function
    def step(x):
        before = v * 1.0
        K.update(v, x)
        between = v * 1.0
        K.update_add(v, 1.0)
        return [before, between, v * 1.0]

    assert [float(a) for a in step(K.constant(5.0))] == [1.0, 5.0, 6.0]
    assert K.get_value(v) == 6.0


def test_update_keeps_shape_and_dtype(engine):
    v = K.variable([[1.0], [2.0]], dtype="float16")
    K.update(v, np.array([[3], [4]]))
    assert (K.get_value(v).dtype, K.get_value(v).tolist()) == ("float16", [[3.0], [4.0]])
    x = K.placeholder((2, 1), dtype="float64")
    K.function([x], [], updates=[K.update(v, x)])([[[5.0], [6.0]]])
    assert (K.get_value(v).dtype, K.get_value(v).tolist()) == ("float16", [[5.0], [6.0]])


@pytest.mark.parametrize("symbolic", [False, True])
def test_mistakes(symbolic):
    if symbolic:
        K.placeholder(())
    v, c = K.variable([1.0, 2.0]), K.constant([1.0, 2.0])
    for name in ("update", "update_add", "update_sub", "set_value"):
        with pytest.raises(TypeError, match=rf"K.{name} at test_state.py:\d+: it needs a variable"):
            getattr(K, name)(c, [3.0, 4.0])
        with pytest.raises(ValueError, match=rf"K.{name}: AssignVariableOp at .* \(2,\): a value of shape \(3, 2\)"):
            getattr(K, name)(v, np.ones((3, 2)))
    with pytest.raises(TypeError, match=r"K.moving_average_update at .* needs a variable"):
        K.moving_average_update(c, c, 0.5)
    with pytest.raises(TypeError, match=r"K.batch_set_value at .* needs a variable"):
        K.batch_set_value([(v, [5.0, 6.0]), (3.0, 4.0)])
    assert K.get_value(v).tolist() == [5.0, 6.0]


def test_values_of_traced_tensors_are_refused():
    with pytest.raises(TypeError, match=r"K.get_value at .*graph tensor arg0:0.* has no value before"):
        dt.function(lambda x: K.get_value(x))(K.constant(1.0))
    keras = pytest.importorskip("keras")
    with pytest.raises(TypeError, match=r"K.eval at .*KerasTensor.* has no value before"):
        K.eval(keras.Input((2,)))


def test_values_are_of_their_own(engine):
    v, t = K.variable([1.0, 2.0]), K.constant([1.0, 2.0])
    for x in (v, t):
        found = K.get_value(x)
        found += 1.0
        assert K.get_value(x).tolist() == [1.0, 2.0]
    given = np.array([3.0, 4.0], "float32")
    K.set_value(v, given)
    given += 1.0
    assert K.get_value(v).tolist() == [3.0, 4.0]
    assert [type(K.eval(a)) for a in (v, K.variable(1.0), K.constant(1, "int32"))] == [
        np.ndarray, np.float32, np.int32,
    ]  # fmt: skip


def test_random_tensors_are_drawn_together(engine):
    K.placeholder(())
    x = K.random_uniform((3,), seed=1)
    first, same = K.batch_get_value([x, x])
    assert first.tolist() == same.tolist()
    assert K.eval(x).tolist() != first.tolist()


def test_the_first_value_of_a_variable_may_be_a_tensor_of_the_default_graph(engine):
    x, w = K.placeholder((2,)), K.variable([1.0, 2.0])
    v, drawn = K.variable(w * 2.0), K.variable(K.random_uniform((2,), seed=3))
    K.set_value(w, [5.0, 5.0])
    assert K.get_value(v).tolist() == [2.0, 4.0]
    assert K.get_value(drawn).tolist() == K.get_value(drawn * 1.0).tolist()
    with pytest.raises(ValueError, match=r"K.variable at .*a value is needed for the placeholder"):
        K.variable(x)


def test_variables_of_keras(engine):
    keras = pytest.importorskip("keras")
    v = keras.Variable(np.array([1.0, 2.0], "float32"))
    assert K.is_variable(v)
    K.set_value(v, [3.0, 4.0])
    assert (K.update_add(v, [1.0, 1.0]) is v, K.get_value(v).tolist()) == (True, [4.0, 5.0])
    K.update(v, v * 2.0)
    K.update_sub(v, [1.0, 1.0])
    K.moving_average_update(v, [1.0, 1.0], 0.5)
    assert K.eval(v).tolist() == [4.0, 5.0]
    K.placeholder(())
    K.update(v, [1.0, 1.0])
    assert K.batch_get_value([v])[0].tolist() == [1.0, 1.0]


def test_values_of_engines_own():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    for x in (torch.ones(2, requires_grad=True), jax.numpy.ones(2)):
        found = K.get_value(x)
        found += 1.0
        assert (type(found), found.tolist(), K.eval(x).tolist()) == (np.ndarray, [2.0, 2.0], [1.0, 1.0])


def test_variables_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    v = tf.Variable([1.0, 2.0])
    K.update(v, [3.0, 4.0])
    K.update_add(v, [1.0, 1.0])
    K.set_value(v, K.get_value(v) * 2.0)
    assert K.eval(v).tolist() == [8.0, 10.0]
