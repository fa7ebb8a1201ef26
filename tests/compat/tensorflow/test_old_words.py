"""Words of TensorFlow 0.x, each against the word of 1.x for the same."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from dovetail.compat.tensorflow.names.old_words import NAMES

X = np.array([[1.0, 2.0, 4.0], [-3.0, 5.0, 0.5]], "float32")
Y = np.array([[2.0, -1.0, 1.0], [0.5, 1.0, 3.0]], "float32")
CALLS = [  # the old words, and NumPy's for the same
    (lambda: tf.mul(X, Y), X * Y),
    (lambda: tf.sub(X, Y), X - Y),
    (lambda: tf.neg(X), -X),
    (lambda: tf.inv(X), 1 / X),
    (lambda: tf.pack([X, Y]), np.stack([X, Y])),
    (lambda: tf.unpack(X)[1], X[1]),
    (lambda: tf.complex_abs(X * 1j), abs(X)),
    (lambda: tf.select(X > 1, X, Y), np.where(X > 1, X, Y)),
    (lambda: tf.concat(1, [X, Y]), np.concatenate([X, Y], 1)),
    (lambda: tf.concat(concat_dim=1, values=[X, Y]), np.concatenate([X, Y], 1)),
    (lambda: tf.concat([X, Y], 1), np.concatenate([X, Y], 1)),
    (lambda: tf.split(1, 3, X)[2], X[:, 2:]),
    (lambda: tf.split(X, 3, 1)[2], X[:, 2:]),
    (lambda: tf.split(split_dim=1, num_split=3, value=X)[2], X[:, 2:]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_values(number, mode):
    call, wanted = CALLS[number]
    if mode == "eager":
        found = np.asarray(call())
    else:
        with tf.Graph().as_default(), tf.Session() as session:
            found = session.run(call())
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["sigmoid", "softmax", "sparse_softmax"])
def test_logits_come_first_where_arguments_have_no_names(kind):
    entropy = getattr(tf.nn, f"{kind}_cross_entropy_with_logits")
    labels = np.array([2, 1]) if kind == "sparse_softmax" else np.eye(3, dtype="float32")[[2, 1]]
    np.testing.assert_allclose(np.asarray(entropy(X, labels)), np.asarray(entropy(labels=labels, logits=X)))


@pytest.mark.parametrize("old", NAMES)
def test_each_word_is_that_of_today(old):
    def at(name):
        found = tf
        for part in name.split("."):
            found = getattr(found, part)
        return found

    assert at(old) is at(NAMES[old])
