"""`K.gradients` wherever something keeps a record, and its error elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

X = np.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


def test_inside_function(engine):
    w = K.variable([1.0, 2.0, 3.0])

    @dt.function
    def slopes(x):
        first = K.gradients(K.sum(K.square(x) * w), [x, w])
        return first, K.gradients(K.sum(first[0] * first[1]), x)

    first, second = slopes(dt.ops.convert(X))
    np.testing.assert_allclose(first[0], 2 * X * X)
    np.testing.assert_allclose(first[1], X * X)
    np.testing.assert_allclose(second[0], 6 * X * X * X)


def test_by_what_has_been_computed(engine):
    """Check that an eager tensor is a constant of the graph, and has a gradient there."""
    x, constant, unused = K.placeholder((3,)), K.constant(X), K.constant(X)
    found = K.gradients(K.sum(x * constant), [constant, unused])
    assert found[1] is None
    assert K.function([x], found[0])(2 * X).tolist() == (2 * X).tolist()


def test_structures(engine):
    x, y = K.placeholder((3,)), K.placeholder((3,))
    total = K.sum(x * y)
    assert [len(K.gradients(total, v)) for v in (x, [x], (x, y), [y, x, y], [])] == [1, 1, 2, 3, 0]
    found = K.function([x, y], K.gradients([total, K.sum(x)], [x, y]))([X, 2 * X])
    assert [g.tolist() for g in found] == [(2 * X + 1).tolist(), X.tolist()]


def test_on_tensors_of_torch():
    torch = pytest.importorskip("torch")
    x, other, plain = torch.tensor(X, requires_grad=True), torch.ones(2, requires_grad=True), torch.ones(3)
    loss = K.sum(K.square(x) * plain)
    slope, none = K.gradients(loss, [x, other])
    assert none is None
    penalty = K.sum(K.square(slope - 1.0))
    assert type(slope) is torch.Tensor
    np.testing.assert_allclose(K.gradients(penalty, x)[0].detach(), 4 * (2 * X - 1))
    assert K.gradients(K.sum(plain), [x, K.variable(1.0)]) == [None, None]
    with pytest.raises(ValueError, match=r"K.gradients at .* x.requires_grad_\(\) before"):
        K.gradients(loss, [plain])


def test_on_tensors_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    v = tf.Variable(X)

    @tf.function
    def slopes(x):
        first = K.gradients(K.sum(K.square(x) * v), [x, v, tf.constant(1.0)])
        assert first[2] is None
        return first[:2] + K.gradients(K.sum(first[0]), x)

    for found, wanted in zip(slopes(tf.constant(X)), (2 * X * X, X * X, 2 * X), strict=True):
        np.testing.assert_allclose(found, wanted)
    with pytest.raises(NotImplementedError, match=r"K.gradients at .*tf.GradientTape"):
        K.gradients(K.sum(tf.constant(X)), [v])


def test_on_arrays_of_jax():
    jax = pytest.importorskip("jax")
    with pytest.raises(NotImplementedError, match=r"K.gradients at .*jax differentiates functions"):
        jax.jit(lambda x: K.gradients(K.sum(K.square(x)), [x])[0])(X)


def test_what_has_been_computed_has_no_gradients():
    w = K.variable(X)
    message = r"K.gradients at test_differentiation.py:\d+: .*no record .*K.placeholder does.*GradientTape"
    for loss in (K.sum(K.square(w)), 3.0, X):
        with pytest.raises(RuntimeError, match=message):
            K.gradients(loss, [w])
    K.placeholder(())
    assert K.eval(K.gradients(K.sum(K.square(w)), [w])[0]).tolist() == (2 * X).tolist()


def test_stop_gradient(engine):
    x, v = K.placeholder(()), K.variable(3.0)
    stopped = K.stop_gradient([x, v])
    assert K.gradients(stopped[0] * stopped[1], [x, v]) == [None, None]
    assert K.function([x], K.gradients(x * K.stop_gradient(x) * v, [x, v]))(2.0) == [6.0, 4.0]
