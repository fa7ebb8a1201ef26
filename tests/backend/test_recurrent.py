"""K.rnn beyond parity: engines' own values, gradients through the default graph, and messages."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import backend as K

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
MASK = np.array([[True, True, False], [False, True, False]])


@pytest.fixture(autouse=True)
def _session():
    yield
    K.clear_session()


def adds(x, states):
    return x + states[0], [x + states[0]]


def run(x, **options):
    return K.rnn(adds, x, [K.zeros_like(x[:, 0])], **options)


@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"unroll": True}, {"go_backwards": True}])
def test_engines_own_values_stay_theirs(options):
    expected = [np.asarray(v) for v in (*run(X, **options)[:2], run(X, **options)[2][0])]
    jax, torch, tf = (pytest.importorskip(name) for name in ("jax", "torch", "tensorflow"))
    for kind, call, given in (
        (torch.Tensor, run, torch.tensor(X)),
        (jax.Array, jax.jit(lambda x: run(x, **options)), jax.numpy.asarray(X)),
        (tf.Tensor, tf.function(lambda x: run(x, **options)), tf.constant(X)),
    ):
        last, outputs, states = call(given, **options) if call is run else call(given)
        assert isinstance(states, tuple)
        for found, wanted in zip((last, outputs, states[0]), expected, strict=True):
            assert isinstance(found, kind)
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)


def test_gradients_through_the_loop(engine):
    x = K.placeholder((None, None, 4))
    loss = K.sum(K.square(run(x)[0]))
    f = K.function([x], [loss, K.gradients(loss, x)[0]])
    _, gradient = f([X])
    expected = np.repeat(2 * X.sum(1, keepdims=True), 3, axis=1)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: K.rnn(adds, X[:, 0], [X[:, 0]]), ValueError, r"K.rnn .*at least 3, not float32\[2,4\]"),
        (lambda: run(X, mask=np.ones(3)), ValueError, r"K.rnn .*a mask has the axes .*float64\[3\]"),
        (lambda: run(X, mask=np.ones((2, 5))), ValueError, r"K.rnn.*one number of steps.*\[3, 5\]"),
        (lambda: K.rnn(adds, X, K.ones((2, 4))), TypeError, "K.rnn.*initial_states must be a list or tuple"),
        (lambda: K.rnn(None, X, []), TypeError, "K.rnn.*step_function must be a function"),
        (lambda: K.rnn(adds, X[:, :0], [X[:, 0]]), ValueError, "K.rnn.*at least one time step"),
        (lambda: run(X, input_length=np.ones((2, 1))), ValueError, "K.rnn.*one number for each sample"),
        (lambda: K.rnn(lambda x, s: (x, [x, x]), X, [X[:, 0]]), ValueError, "K.rnn.*keep their structure"),
        (lambda: K.rnn(adds, X, [np.zeros((1, 4))]), ValueError, r"K.rnn.*state 0 must keep its shape"),
        (lambda: K.rnn(lambda x, s: (x, s), X, [0.0], mask=MASK), ValueError, "K.rnn.*need a batch axis"),
    ],
)
def test_errors_say_what_is_needed(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_unrolling_needs_a_known_length():
    x = K.placeholder((2, None, 4))
    with pytest.raises(ValueError, match=r"K.rnn.*number of time steps must be known"):
        run(x, unroll=True)
