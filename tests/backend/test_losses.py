"""Losses: gradients against the oracle's, warnings, messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

ONE_HOT = np.array([[0, 0, 1], [0, 1, 0]], "float32")
SCORES = np.array([[2.0, -1.0, 0.5], [50.0, 0.0, -50.0]], "float32")
CLASSES = np.array([2, 1], "int32")
LOSSES = {
    "categorical_crossentropy": ("softmax", ONE_HOT),
    "categorical_focal_crossentropy": ("softmax", ONE_HOT),
    "sparse_categorical_crossentropy": ("softmax", CLASSES),
    "binary_crossentropy": ("sigmoid", ONE_HOT),
    "binary_focal_crossentropy": ("sigmoid", ONE_HOT),
}


def gradient(loss, x):
    """The gradient of a loss's sum, eagerly; it must be the same in a graph."""
    x = dt.ops.convert(x)
    with dt.GradientTape() as tape:
        tape.watch(x)
        total = K.sum(loss(K, x))
    eager = tape.gradient(total, x).numpy()
    compiled = dt.function(lambda x: dt.gradients(K.sum(loss(K, x)), [x])[0])(x).numpy()
    np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-6)
    return eager


def gradient_of_oracle(loss, x):
    tf = pytest.importorskip("tensorflow")
    tf_keras = pytest.importorskip("tf_keras", reason="the oracle")
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(loss(tf_keras.backend, x))
    return tape.gradient(total, x).numpy()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("way", ["after activation", "of scores", "of probabilities"])
def test_gradients_are_those_of_the_oracle(engine, name, way):
    activation, target = LOSSES[name]

    def loss(K, x):
        if way == "after activation":
            return getattr(K, name)(target, getattr(K, activation)(x))
        return getattr(K, name)(target, x, from_logits=way == "of scores")

    x = SCORES if way != "of probabilities" else np.array([[0.2, 0.3, 0.5], [0.0, 0.25, 1.0]], "float32")
    np.testing.assert_allclose(gradient(loss, x), gradient_of_oracle(loss, x), rtol=1e-4, atol=1e-6)


def test_the_gradient_of_ignored_classes_is_zero(engine):
    def loss(K, x):
        return K.sparse_categorical_crossentropy(np.array([255, 1]), x, from_logits=True, ignore_class=255)

    found = gradient(loss, SCORES)
    assert not found[0].any()
    np.testing.assert_allclose(found, gradient_of_oracle(loss, SCORES), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_from_logits_with_an_output_of_an_activation_warns_of_the_user_s_line(engine, name):
    activation, target = LOSSES[name]
    output = getattr(K, activation)(SCORES)
    with pytest.warns(UserWarning, match=r"received `from_logits=True`.*scores that they were computed from") as caught:
        found = getattr(K, name)(target, output, from_logits=True)
    assert [w.filename for w in caught] == [__file__]
    if "focal" not in name:  # in its own weight, the binary one takes the output for scores
        np.testing.assert_array_equal(found.numpy(), getattr(K, name)(target, output).numpy())


def test_it_warns_while_a_function_is_traced(engine):
    with pytest.warns(UserWarning, match=r"K\.binary_crossentropy received `from_logits=True`"):
        dt.function(lambda x: K.binary_crossentropy(ONE_HOT, K.sigmoid(x), from_logits=True))(SCORES)


def test_nothing_else_warns(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, (activation, target) in LOSSES.items():
            loss = getattr(K, name)
            loss(target, getattr(K, activation)(SCORES))
            loss(target, SCORES, from_logits=True)
            loss(target, K.tanh(SCORES), from_logits=True)


def test_losses_of_lists_and_arrays_of_other_dtypes(engine):
    assert K.binary_crossentropy([1], [0.5]).dtype == "float32"
    assert K.binary_focal_crossentropy([[1.0]], [[0.5]]).shape == (1, 1)
    assert K.categorical_crossentropy([[True, False]], [[1, 3]]).dtype == "float32"


def test_epsilon_is_that_of_the_settings(engine):
    K.set_epsilon(1e-3)
    np.testing.assert_allclose(K.binary_crossentropy([0.0], [1.0]).numpy(), -np.log(2e-3), rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: K.categorical_crossentropy(ONE_HOT, SCORES[:1]),
            ValueError,
            r"K\.categorical_crossentropy at test_losses\.py:\d+: target and output must have one shape\. "
            r"Given: target=float32\[2,3\], output=float32\[1,3\]",
        ),
        (
            lambda: K.sparse_categorical_crossentropy([2, 7], SCORES),
            ValueError,
            r"the target has the number 7, but the classes are 0 to 2; see ignore_class",
        ),
        (
            lambda: K.sparse_categorical_crossentropy([2, 1], SCORES, axis=2),
            ValueError,
            r"axis must be one of those of the output, whose rank is 2, but it is 2",
        ),
        (lambda: K.sparse_categorical_crossentropy([2, 1, 0], SCORES), ValueError, r"K\.sparse_categorical_crossentr"),
        (lambda: K.softmax([1.0, 2.0]), ValueError, r"the rank must be 2 or more, but it is 1; add an axis"),
    ],
)
def test_messages(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("ignore_class", [None, 2])
def test_classes_of_what_has_no_known_rank(engine, rng, ignore_class):
    probabilities = rng.dirichlet(np.ones(4), (2, 3)).astype("float32")
    classes = np.array([[0, 3, 1], [2, 2, 0]])
    wanted = K.sparse_categorical_crossentropy(classes, probabilities, ignore_class=ignore_class).numpy()
    p, unknown, matrix = K.placeholder(), K.placeholder(dtype="int32"), K.placeholder((None, None))
    for target in (unknown, matrix):
        loss = K.sparse_categorical_crossentropy(target, p, ignore_class=ignore_class)
        np.testing.assert_allclose(K.function([target, p], loss)([classes, probabilities]), wanted, rtol=1e-5)
    loss = K.sparse_categorical_crossentropy(unknown, p, ignore_class=ignore_class, axis=1)
    found = K.function([unknown, p], loss)([classes, np.moveaxis(probabilities, 2, 1)])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    K.clear_session()


@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("shape", [None, (None, None), (None, None, None)], ids=str)
def test_sparse_cross_entropy_of_unknown_classes_and_rank(engine, shape, from_logits, rng):
    scores = K.placeholder(shape, dtype="float64")
    values = rng.uniform(0.1, 0.9, (2, 3) if shape is None or len(shape) == 2 else (2, 1, 3))
    target = np.array([1, 0]).reshape(values.shape[:-1])
    losses = K.sparse_categorical_crossentropy(target, scores, from_logits)
    found = K.function([scores], [losses, *K.gradients(losses, [scores])])([values])
    logs = values if from_logits else np.log(values)
    total = np.log(np.exp(logs).sum(-1, keepdims=True))
    hot = np.eye(3)[target]
    slope = np.exp(logs - total) - hot
    np.testing.assert_allclose(found[0], -((logs - total) * hot).sum(-1))
    np.testing.assert_allclose(found[1], slope if from_logits else slope / values)
