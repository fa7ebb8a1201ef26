"""Sparse placeholders: their static shapes, values that can be fed, and values that cannot."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import dovetail as dt
from dovetail import backend as K

DENSE = np.array([[0, 2, 0], [3, 0, 4]], "float32")
KINDS = [
    scipy.sparse.csr_matrix,
    scipy.sparse.csc_matrix,
    scipy.sparse.coo_matrix,
    scipy.sparse.csr_array,
    lambda dense: K.variable(scipy.sparse.coo_matrix(dense)),
    lambda dense: K.SparseTensor(np.argwhere(dense), dense[dense != 0], dense.shape),
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    K.clear_session()


@pytest.mark.parametrize("shape", [(None, 3), (2, 3), (None, None), (2, None)], ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=["csr", "csc", "coo", "array", "variable", "parts"])
def test_what_it_is_fed(engine, kind, shape):
    s, y = K.placeholder(shape, sparse=True), K.placeholder((3, None))
    outputs = [K.dot(s, y), K.to_dense(s), K.sum(s, 0), K.gather(s, [1, 1]), K.shape(s)]
    wanted = [DENSE @ np.ones((3, 2)), DENSE, DENSE.sum(0), DENSE[[1, 1]], [2, 3]]
    f = K.function([s, y], outputs)
    run = K.get_session().run(outputs, feed_dict={s: kind(DENSE), y: np.ones((3, 2))})
    for found in (f([kind(DENSE), np.ones((3, 2))]), run):
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_other_sizes_and_numbers_of_elements(engine, rng):
    s = K.placeholder((None, 5), sparse=True)
    f = K.function([s], [K.sum(s, axis=1), K.to_dense(s * K.sum(s))])
    for rows, density in ((1, 0.0), (4, 0.3), (7, 1.0), (4, 0.5)):
        matrix = scipy.sparse.random(rows, 5, density, "csr", "float32", rng)
        sums, scaled = f([matrix])
        dense = matrix.toarray()
        np.testing.assert_allclose(sums, dense.sum(1), rtol=1e-5)
        np.testing.assert_allclose(scaled, dense * dense.sum(), rtol=1e-4)


def test_what_is_known_of_it():
    s = K.placeholder((None, 3), sparse=True, name="features", dtype="float64")
    assert K.is_sparse(s) and K.is_placeholder(s) and K.is_symbolic(s) and K.is_keras_tensor(s) and K.is_tensor(s)
    assert (K.int_shape(s), K.ndim(s), K.dtype(s), s.name) == ((None, 3), 2, "float64", "features/values:0")
    assert K.placeholder(ndim=2, sparse=True).get_shape().as_list() == [None, None]
    assert not K.is_placeholder(K.square(s)) and K.is_sparse(K.square(s))
    assert K.int_shape(K.concatenate([s, s])) == (None, 6)
    assert K.int_shape(K.dot(s, K.placeholder((3, 4)))) == (None, 4)


def test_one_input_without_a_list_and_results_that_are_sparse(engine):
    s = K.placeholder((None, 3), sparse=True)
    matrix = scipy.sparse.csr_matrix(DENSE)
    for f, given in (
        (K.function(s, s * 2.0), matrix),
        (K.function([s], s * 2.0), matrix),
        (K.function(s, -s), [matrix]),
    ):
        found = f(given)
        assert K.is_sparse(found) and found.shape == (2, 3) and isinstance(found.values, np.ndarray)
        np.testing.assert_array_equal(abs(K.eval(found)), DENSE * (2 - (f(given).values < 0).any()))
    named = K.function({"s": s}, {"dense": K.to_dense(s)})
    np.testing.assert_array_equal(named({"s": matrix})["dense"], DENSE)


def test_elements_given_for_one_place_add_up(engine):
    s = K.placeholder((2, 2), sparse=True)
    twice = scipy.sparse.coo_matrix((np.array([1, 2, 4], "float32"), ([1, 0, 1], [0, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(K.function([s], K.to_dense(s))([twice]), [[0, 2], [5, 0]])
    assert twice.nnz == 3


def test_a_graph_network_learns(engine):
    """Check the classic use: sparse features, a dense matrix of weights, and gradients by it."""
    rng = np.random.default_rng(0)
    features = scipy.sparse.random(20, 30, 0.2, "csr", "float32", rng)
    wanted = features @ rng.normal(size=(30, 1)).astype("float32")
    s, y, w = K.placeholder((None, 30), sparse=True), K.placeholder((None, 1)), K.variable(np.zeros((30, 1)))
    loss = K.mean(K.square(K.dot(s, w) - y))
    train = K.function([s, y], [loss], updates=[K.update_sub(w, 2.0 * K.gradients(loss, [w])[0])])
    losses = [train([features, wanted])[0] for _ in range(30)]
    assert losses[-1] < 0.2 * losses[0]


def test_in_a_function(engine):
    """Check that a function takes a sparse tensor as it takes other structures, outside of the default graph."""
    product = dt.function(lambda s, y: K.dot(s, y))
    for size in (2, 3):
        s = K.variable(scipy.sparse.eye(size, dtype="float32"))
        np.testing.assert_array_equal(product(s, np.ones((size, 2), "float32")).numpy(), np.ones((size, 2)))


def test_messages():
    s, x = K.placeholder((None, 3), sparse=True, name="s"), K.placeholder((None, 3), name="x")
    matrix = scipy.sparse.csr_matrix(DENSE)
    f, g = K.function([s], K.to_dense(s)), K.function([x], x * 2.0)
    with pytest.raises(
        TypeError, match=r"K\.function.*'s' is sparse.*scipy.sparse or a K\.SparseTensor, not float32\[2,3\]"
    ):
        f([DENSE])
    with pytest.raises(ValueError, match=r"K\.function.*'s' has the shape \(None, 3\): .* \(2, 2\) does not fit"):
        f([matrix[:, :2]])
    with pytest.raises(TypeError, match=r"K\.function.*'x' is dense: make it with K\.placeholder\(sparse=True\)"):
        g([matrix])
    with pytest.raises(TypeError, match=r"get_session\(\)\.run.*'x' is dense"):
        K.get_session().run(x * 2.0, {x: matrix})
    with pytest.raises(TypeError, match=r"K\.function.*made by K\.placeholder\(sparse=True\)"):
        K.function([s * 2.0], K.to_dense(s * 2.0))
    with pytest.raises(ValueError, match=r"K\.function.*a value is needed for the placeholder .*'s/"):
        K.function([x], K.dot(s, K.transpose(x)))
    with pytest.raises(ValueError, match="the rank of a sparse placeholder must be known"):
        K.placeholder(sparse=True)
    with pytest.raises(NotImplementedError, match=r"ragged.*padded"):
        K.placeholder((None, 3), ragged=True)
