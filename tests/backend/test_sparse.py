"""Sparse tensors: in graphs, with gradients, of TensorFlow, and where none is taken."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import dovetail as dt
from dovetail import backend as K

DENSE = np.array([[0, 2, 0], [3, 0, 4]], "float32")


def a_sparse_one():
    return K.variable(scipy.sparse.csr_matrix(DENSE))


def test_it_does_not_change():
    s = a_sparse_one()
    with pytest.raises(AttributeError):
        s.values = s.indices


def test_it_is_an_argument_and_a_result_of_a_function(engine):
    @dt.function
    def doubled(s):
        assert K.is_sparse(s)
        return s._replace(values=s.values * 2), K.to_dense(s._replace(dense_shape=[2, 3]))

    twice, dense = doubled(a_sparse_one())
    np.testing.assert_array_equal(K.eval(twice), 2 * DENSE)
    np.testing.assert_array_equal(dense.numpy(), DENSE)


def test_gradients_pass_a_product_to_both_sides(engine):
    s, y = a_sparse_one(), dt.ops.convert(np.arange(6, dtype="float32").reshape(3, 2))
    values = s.values
    with dt.GradientTape() as tape:
        tape.watch([values, y])
        product = K.dot(s._replace(values=values), y)
    by_values, by_y = tape.gradient(product, [values, y])
    np.testing.assert_array_equal(product.numpy(), DENSE @ y.numpy())
    np.testing.assert_array_equal(by_y.numpy(), DENSE.T @ np.ones((2, 2)))
    assert by_values.numpy().tolist() == [5, 1, 9]  # the sums of the rows of y that they are multiplied with


def test_rows_that_are_joined_stay_in_order(engine):
    both = K.concatenate([a_sparse_one(), a_sparse_one()], axis=1)
    np.testing.assert_array_equal(K.eval(both), np.concatenate([DENSE, DENSE], 1))
    assert both.indices.numpy().tolist() == sorted(both.indices.numpy().tolist())
    assert both.shape == (2, 6)


def test_those_of_tensorflow_are_sparse_too():
    tf = pytest.importorskip("tensorflow")
    s = tf.sparse.from_dense(DENSE)
    assert K.is_sparse(s)
    np.testing.assert_array_equal(K.to_dense(s), DENSE)
    np.testing.assert_array_equal(K.dot(s, tf.ones((3, 2))), DENSE @ np.ones((3, 2)))


def test_what_takes_none_says_so():
    with pytest.raises(ValueError, match=r"K\.sum.*a sparse tensor is none of its arguments; give K\.to_dense of it"):
        K.sum(a_sparse_one())


def test_messages():
    with pytest.raises(ValueError, match=r"a sparse matrix \(n, k\) is multiplied with a matrix \(k, m\)"):
        K.dot(a_sparse_one(), K.ones((2, 2)))
    with pytest.raises(ValueError, match=r"the shapes must be equal except along axis 0"):
        K.concatenate([a_sparse_one(), K.variable(scipy.sparse.eye(2))], axis=0)
    with pytest.raises(ValueError, match=r"the axis 2 is out of range"):
        K.concatenate([a_sparse_one()], axis=2)
