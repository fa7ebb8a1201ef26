"""Sparse tensors: in graphs, with gradients, of TensorFlow, and errors of functions that take none."""

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
        return s * 2, K.to_dense(s)

    twice, dense = doubled(a_sparse_one())
    np.testing.assert_array_equal(K.eval(twice), 2 * DENSE)
    np.testing.assert_array_equal(dense.numpy(), DENSE)


def test_gradients_pass_a_product_to_both_sides(engine):
    s, y = a_sparse_one(), dt.ops.convert(np.arange(6, dtype="float32").reshape(3, 2))
    values = s.values
    with dt.GradientTape() as tape:
        tape.watch([values, y])
        product = K.dot(s.with_values(values), y)
    by_values, by_y = tape.gradient(product, [values, y])
    np.testing.assert_array_equal(product.numpy(), DENSE @ y.numpy())
    np.testing.assert_array_equal(by_y.numpy(), DENSE.T @ np.ones((2, 2)))
    assert by_values.numpy().tolist() == [5, 1, 9]  # the sums of the rows of y that the values multiply


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


def test_it_is_made_of_its_parts(engine):
    s = K.SparseTensor([[0, 1], [1, 0], [1, 2]], [2.0, 3.0, 4.0], dense_shape=(2, 3))
    np.testing.assert_array_equal(K.eval(s), DENSE)
    assert (s.shape.as_list(), s.get_shape().ndims, s._keras_shape) == ([2, 3], 2, (2, 3))
    assert K.SparseTensor([], [], [4, 5]).indices.shape == (0, 2)
    for parts in (([0, 1], [1.0, 2.0], (3,)), ([[0], [1]], [1.0], (3,)), ([[0], [1]], [1.0, 2.0], (3, 3))):
        with pytest.raises(ValueError, match=r"SparseTensor.*as many ints as axes"):
            K.SparseTensor(*parts)


def test_products_with_numbers_and_tensors(engine):
    s = a_sparse_one()
    column = dt.ops.convert(np.array([[2.0], [3.0]], "float32"))
    for product, expected in (
        (s * 2, DENSE * 2),
        (column * s, DENSE * column.numpy()),
        (s / [1.0, 2.0, 4.0], DENSE / [1, 2, 4]),
        (-s, -DENSE),
        (K.multiply(s, DENSE), DENSE**2),
    ):
        assert K.is_sparse(product)
        np.testing.assert_array_equal(K.eval(product), expected)
    np.testing.assert_array_equal((s @ np.ones((3, 2), "float32")).numpy(), DENSE @ np.ones((3, 2)))


def test_rows_are_gathered_with_gradients(engine):
    values = dt.ops.convert(np.array([2, 3, 4], "float32"))
    with dt.GradientTape() as tape:
        tape.watch(values)
        rows = K.gather(a_sparse_one().with_values(values), [1, 1, -1])
        total = K.sum(rows * [[1.0], [10.0], [100.0]])
    np.testing.assert_array_equal(rows.numpy(), DENSE[[1, 1, 1]])
    assert tape.gradient(total, values).numpy().tolist() == [0, 111, 111]


def test_what_takes_none_says_so():
    with pytest.raises(ValueError, match=r"K\.mean.*it does not take sparse tensors; convert with K\.to_dense first"):
        K.mean(a_sparse_one())
    for wrong in (lambda s: s + s, lambda s: s * s, lambda s: 1.0 + s, lambda s: 1.0 / K.stack([s, s])):
        with pytest.raises(ValueError, match="it does not take sparse tensors"):
            wrong(a_sparse_one())
    with pytest.raises(ValueError, match=r"K\.gather.*|GatherV2.*first axis"):
        dt.ops.gather(a_sparse_one(), [0], axis=1)
    with pytest.raises(ValueError, match=r"must broadcast to its shape \(2, 3\), not have the shape \(2,\)"):
        a_sparse_one() * np.ones(2)
    with pytest.raises(ValueError, match=r"K\.gather.*out of (range|bounds)"):
        K.gather(a_sparse_one(), [2])


def test_messages():
    with pytest.raises(ValueError, match=r"a sparse matrix \(n, k\) is multiplied with a matrix \(k, m\)"):
        K.dot(a_sparse_one(), K.ones((2, 2)))
    with pytest.raises(ValueError, match=r"the shapes must be equal except along axis 0"):
        K.concatenate([a_sparse_one(), K.variable(scipy.sparse.eye(2))], axis=0)
    with pytest.raises(ValueError, match=r"the axis 2 is out of range"):
        K.concatenate([a_sparse_one()], axis=2)


def test_a_sparse_tensor_takes_further_attributes_and_keeps_its_parts():
    """Check what programs for Keras note on their tensors."""
    s = K.SparseTensor([[0, 1]], [5.0], (2, 3))
    s._uses_learning_phase = False
    assert s._uses_learning_phase is False
    for name in ("indices", "values", "dims"):
        with pytest.raises(AttributeError, match=f"its {name} cannot change"):
            setattr(s, name, None)
    np.testing.assert_array_equal(K.to_dense(s).numpy(), [[0, 5, 0], [0, 0, 0]])
