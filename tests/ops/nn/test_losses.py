"""Losses against SciPy and at the edges: huge and infinite scores, probabilities of 0 and 1, masked classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import dovetail as dt
from dovetail import ops


def gradient(loss, x):
    x = ops.convert(x)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    return tape.gradient(y, x).numpy()


def test_cross_entropies_of_one_thing_agree(engine, rng):
    logits = rng.normal(size=(5, 4))
    labels = rng.integers(0, 4, 5)
    expected = -special.log_softmax(logits, -1)[np.arange(5), labels]
    hot = np.eye(4)[labels]
    p = special.softmax(logits, -1)
    for found in (
        ops.softmax_cross_entropy_with_logits(hot, logits),
        ops.sparse_softmax_cross_entropy_with_logits(labels, logits),
        ops.categorical_crossentropy(hot, logits, from_logits=True),
        ops.categorical_crossentropy(hot, p * 3),
        ops.sparse_categorical_crossentropy(labels, logits, from_logits=True),
        ops.sparse_categorical_crossentropy(labels[:, None], p),
    ):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


def test_classes_along_another_axis(engine, rng):
    logits, labels = rng.normal(size=(2, 3, 4)), rng.integers(0, 3, (2, 4))
    expected = -np.take_along_axis(special.log_softmax(logits, 1), labels[:, None], 1)[:, 0]
    found = ops.sparse_categorical_crossentropy(labels, logits, True, axis=1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


def test_huge_scores(engine):
    logits = np.array([[1e4, 0.0], [0.0, 1e4], [1e30, -1e30]], "float32")
    labels = np.array([1, 1, 0])
    found = ops.sparse_softmax_cross_entropy_with_logits(labels, logits)
    np.testing.assert_array_equal(found.numpy(), np.array([1e4, 0, 0], "float32"))
    slopes = gradient(lambda x: ops.sparse_softmax_cross_entropy_with_logits(labels, x), logits)
    np.testing.assert_array_equal(slopes, [[1, -1], [0, 0], [0, 0]])
    hot = np.array([[0, 1], [0, 1], [1, 0]], "float32")
    np.testing.assert_array_equal(gradient(lambda x: ops.softmax_cross_entropy_with_logits(hot, x), logits), slopes)


def test_small_differences_of_large_scores(engine):
    """Check that a common offset costs no accuracy."""
    logits = np.array([[1000.0, 1000.5]], "float32")
    found = float(ops.sparse_softmax_cross_entropy_with_logits([1], logits)[0])
    assert found == pytest.approx(np.log1p(np.exp(-0.5)), rel=1e-6)


def test_a_masked_class_costs_nothing(engine):
    hot = np.array([[1.0, 0.0, 0.0]], "float32")
    logits = np.array([[0.0, 0.0, -np.inf]], "float32")
    assert float(ops.softmax_cross_entropy_with_logits(hot, logits)[0]) == pytest.approx(np.log(2), rel=1e-6)
    np.testing.assert_allclose(
        gradient(lambda x: ops.softmax_cross_entropy_with_logits(hot, x), logits), [[-0.5, 0.5, 0]], rtol=1e-6
    )


def test_binary_crossentropy(engine, rng):
    logits, labels = rng.normal(size=(4, 3)), rng.integers(0, 2, (4, 3)).astype("float64")
    p = special.expit(logits)
    expected = -special.xlogy(labels, p) - special.xlogy(1 - labels, 1 - p)
    np.testing.assert_allclose(ops.binary_crossentropy(labels, logits, from_logits=True).numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(ops.binary_crossentropy(labels, p).numpy(), expected, rtol=1e-6)


def test_sigmoid_cross_entropy_of_huge_scores(engine):
    logits = np.array([1e30, -1e30, 1e4, -1e4, 0.0, -20.0], "float32")
    labels = np.array([1, 0, 0, 1, 1, 0], "float32")
    expected = [0, 0, 1e4, 1e4, np.log(2), 2.0611537e-9]
    np.testing.assert_allclose(ops.sigmoid_cross_entropy_with_logits(labels, logits).numpy(), expected, rtol=1e-6)
    slopes = gradient(lambda x: ops.sigmoid_cross_entropy_with_logits(labels, x), logits)
    np.testing.assert_allclose(slopes, [0, 0, 1, -1, -0.5, 2.0611537e-9], rtol=1e-6)


def test_jax_differentiates_the_sigmoid_cross_entropy_at_zero():
    jax = pytest.importorskip("jax")
    assert float(jax.grad(lambda x: ops.sigmoid_cross_entropy_with_logits(1.0, x))(0.0)) == -0.5


def test_certain_probabilities_cost_a_finite_amount(engine):
    p = np.array([[0.0, 1.0]], "float32")
    worst = ops.categorical_crossentropy(np.array([[1.0, 0.0]], "float32"), p)
    assert float(worst[0]) == pytest.approx(-np.log(1e-7), rel=1e-4)
    assert np.isfinite(ops.binary_crossentropy(1 - p, p).numpy()).all()
    assert np.isfinite(gradient(lambda x: ops.binary_crossentropy(1 - p, x), p)).all()


def test_the_fuzz_factor_is_read_at_each_call(engine):
    p, target = np.array([[0.0, 1.0]], "float32"), np.array([[1.0, 0.0]], "float32")
    dt.config.set_epsilon(1e-3)
    assert float(ops.categorical_crossentropy(target, p)[0]) == pytest.approx(-np.log(1e-3), rel=1e-4)


def test_nan_is_not_hidden(engine):
    x = np.array([[np.nan, 0.0]], "float32")
    hot = np.array([[0.0, 1.0]], "float32")
    for found in (
        ops.softmax_cross_entropy_with_logits(hot, x),
        ops.sparse_softmax_cross_entropy_with_logits([1], x),
        ops.sigmoid_cross_entropy_with_logits(hot, x)[0, :1],
        ops.mean_squared_error(hot, x),
    ):
        assert np.isnan(found.numpy()).all()


def test_distances(engine, rng):
    t, y = rng.normal(size=(4, 5)), rng.normal(size=(4, 5)) * 2
    d = y - t
    size = np.abs(d)
    unit = [a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (t, y)]
    p, q = special.softmax(t, -1), special.softmax(y, -1)
    signs = np.sign(t)
    for found, expected in (
        (ops.mean_squared_error(t, y), (d**2).mean(-1)),
        (ops.mean_absolute_error(t, y), size.mean(-1)),
        (ops.huber(t, y, 0.7), special.huber(0.7, d).mean(-1)),
        (ops.log_cosh(t, y), np.log(np.cosh(d)).mean(-1)),
        (ops.cosine_similarity(t, y), -(unit[0] * unit[1]).sum(-1)),
        (ops.kl_divergence(p, q), special.rel_entr(p, q).sum(-1)),
        (ops.hinge(signs, y), np.maximum(1 - signs * y, 0).mean(-1)),
        (ops.hinge((signs + 1) / 2, y), np.maximum(1 - signs * y, 0).mean(-1)),
    ):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ops.softmax_cross_entropy_with_logits(np.ones((2, 3)), x),
        lambda x: ops.sparse_softmax_cross_entropy_with_logits(np.ones((3,), "int32"), x),
    ],
    ids=["dense", "sparse"],
)
def test_labels_of_another_shape_are_refused(engine, call):
    with pytest.raises(ValueError, match="the shape must be"):
        call(np.ones((2, 4)))


@pytest.mark.parametrize("shape", [(None, None), (2, None), (None, 3)], ids=str)
def test_gradient_where_the_number_of_classes_is_not_known(engine, shape, rng):
    def gradient(scores):
        with dt.GradientTape() as tape:
            tape.watch(scores)
            loss = ops.sum(ops.sparse_softmax_cross_entropy_with_logits([1, 0], scores))
        return tape.gradient(loss, scores)

    scores = rng.normal(size=(2, 3))
    expected = special.softmax(scores, -1) - np.eye(3)[[1, 0]]
    found = dt.function(gradient, input_signature=[dt.spec(shape, "float64")])(scores)
    np.testing.assert_allclose(found.numpy(), expected)
