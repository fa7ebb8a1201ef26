"""The learning phase: who sets it, and who reads it."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


def test_it_is_a_tensor_of_the_default_graph_unless_it_is_set(engine):
    assert K.learning_phase() == 0
    x = K.placeholder((None,))
    phase = K.learning_phase()
    assert (K.dtype(phase), K.int_shape(phase), K.is_placeholder(phase)) == ("bool", (), False)
    assert K.learning_phase() is phase
    noisy = K.in_train_phase(lambda: x + 100.0, x)
    session = K.get_session()
    for value in (1, True, 1.0, np.array(1)):
        assert session.run(noisy, {x: [1.0], phase: value}).tolist() == [101.0]
    assert session.run(noisy, {x: [1.0]}).tolist() == session.run(noisy, {x: [1.0], phase: 0}).tolist() == [1.0]
    with K.learning_phase_scope(1):
        assert K.learning_phase() == 1
        assert K.function([x], K.in_train_phase(x + 1.0, x))([[1.0]]).tolist() == [2.0]
    assert K.learning_phase() is phase


def test_it_may_be_asked_for_first_in_a_branch(engine):
    x = K.placeholder(())
    y = K.switch(x > 0.0, lambda: K.in_train_phase(x, -x), lambda: x)
    f = K.function([x, K.learning_phase()], y)
    assert [f([3.0, 1]), f([3.0, 0]), f([-3.0, 1])] == [3.0, -3.0, -3.0]


def test_a_failed_scope_restores_it():
    with pytest.raises(RuntimeError), K.learning_phase_scope(1):
        raise RuntimeError
    assert K.learning_phase() == 0
    for scope in (K.learning_phase_scope, K.set_learning_phase):
        with pytest.raises(ValueError, match=rf"K.{scope.__name__} at test_phase.py:\d+: .* 0 or 1, not 2"):
            scope(2)


def test_inside_function_it_is_what_was_set(engine):
    step = dt.function(lambda x: K.in_train_phase(x, -x))
    with K.learning_phase_scope(1):
        assert float(step(2.0)) == 2.0


def test_what_is_neither():
    with pytest.raises(TypeError, match=r"K.in_train_phase at test_phase.py:\d+: .*not 'train'"):
        K.in_train_phase(1, 2, training="train")
    with pytest.raises(TypeError, match=r"K.in_test_phase at"):
        K.in_test_phase(1, 2, training=3)


def test_a_running_layer_of_keras_is_asked_first():
    keras = pytest.importorskip("keras")
    asked = []

    class Layer(keras.layers.Layer):
        def call(self, x, training=None):
            asked.append((K.learning_phase(), K.in_train_phase("train", "test")))
            return x

    layer, x = Layer(), np.ones((1, 2), "float32")
    with K.learning_phase_scope(0):
        layer(x, training=True)
    with K.learning_phase_scope(1):
        layer(x, training=False)
        layer(x)
    assert asked == [(True, "train"), (False, "test"), (1, "train")]


def test_a_phase_that_is_set_may_be_an_input(engine):
    K.set_learning_phase(1)
    x = K.placeholder(())
    f = K.function([x, K.learning_phase()], K.in_train_phase(x, -x))
    assert f([3.0, 1]) == f([3.0, True]) == 3.0
    with pytest.raises(ValueError, match=r"K\.function .*learning phase was set to 1, so it cannot be 0"):
        f([3.0, 0])
    K.clear_session()
