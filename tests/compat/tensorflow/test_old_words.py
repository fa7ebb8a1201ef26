"""Words of TensorFlow 0.x, each against the word of 1.x for the same."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from dovetail.compat.tensorflow.names.old_words import NAMES

X = np.array([[1.0, 2.0, 4.0], [-3.0, 5.0, 0.5]], "float32")
Y = np.array([[2.0, -1.0, 1.0], [0.5, 1.0, 3.0]], "float32")
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]], "float32")
CALLS = [  # the old words, and NumPy's for the same
    (lambda: tf.mul(X, Y), X * Y),
    (lambda: tf.sub(X, Y), X - Y),
    (lambda: tf.neg(X), -X),
    (lambda: tf.inv(X), 1 / X),
    (lambda: tf.pack([X, Y]), np.stack([X, Y])),
    (lambda: tf.unpack(X)[1], X[1]),
    (lambda: tf.complex_abs(X * 1j), abs(X)),
    (lambda: tf.select(X > 1, X, Y), np.where(X > 1, X, Y)),
    (lambda: tf.arg_max(X, 1), X.argmax(1)),
    (lambda: tf.arg_min(X, 1), X.argmin(1)),
    (lambda: tf.batch_matmul(X[None], Y[None], adj_y=True), X[None] @ Y.T[None]),
    (lambda: tf.batch_matmul(X[None], Y[None], adj_x=True), X.T[None] @ Y[None]),
    (lambda: tf.batch_matrix_transpose(X[None]), X.T[None]),
    (lambda: tf.batch_matrix_diag(X), X[:, :, None] * np.eye(3)),
    (lambda: tf.batch_matrix_diag_part(S[None]), np.diag(S)[None]),
    (lambda: tf.batch_matrix_band_part(S[None], 0, -1), np.triu(S)[None]),
    (lambda: tf.batch_matrix_set_diag(S[None], X[:1]), [S - np.diag(np.diag(S)) + np.diag(X[0])]),
    (lambda: tf.batch_matrix_determinant(S[None]), [np.linalg.det(S)]),
    (lambda: tf.batch_matrix_inverse(S[None]), [np.linalg.inv(S)]),
    (lambda: tf.batch_cholesky(S[None]), [np.linalg.cholesky(S)]),
    (lambda: tf.batch_matrix_solve(S[None], X.T[None]), [np.linalg.solve(S, X.T)]),
    (lambda: tf.batch_matrix_solve_ls(S[None], X.T[None]), [np.linalg.solve(S, X.T)]),
    (lambda: tf.batch_matrix_triangular_solve(np.tril(S)[None], X.T[None]), [np.linalg.solve(np.tril(S), X.T)]),
    (lambda: tf.batch_self_adjoint_eigvals(S[None]), [np.linalg.eigvalsh(S)]),
    (lambda: tf.batch_self_adjoint_eig(S[None])[0], [np.linalg.eigvalsh(S)]),
    (lambda: tf.batch_svd(S[None], compute_uv=False), [np.linalg.svd(S, compute_uv=False)]),
    (lambda: tf.image.per_image_whitening(X[..., None]), ((X - X.mean()) / X.std())[..., None]),
    (lambda: tf.reverse(X, [False, True]), X[:, ::-1]),
    (lambda: tf.reverse(X, dims=[True, False]), X[::-1]),
    (lambda: tf.reverse(X, [1]), X[:, ::-1]),
    (lambda: tf.nn.sigmoid_cross_entropy_with_logits(X, targets=Y), np.log1p(np.exp(X)) - X * Y),
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
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


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


@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_inputs_came_before_labels(loss):
    weights, labels = np.concatenate([X, Y]), np.array([[1], [3]])
    drawn = (np.array([0, 2]), np.ones((2, 1), "float32"), np.ones(2, "float32"))
    call = getattr(tf.nn, loss)
    found = call(weights, np.zeros(4, "float32"), X, labels, 2, 4, sampled_values=drawn)
    wanted = call(weights, np.zeros(4, "float32"), labels, X, 2, 4, sampled_values=drawn)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted))
