"""Sparse tensors by private names, and their specs."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dovetail.compat.tensorflow as tf
from tests.libraries import Library

real = Library("tensorflow")
A = np.float32([[0, 2, 0], [3, 0, -1]])
PRODUCTS = {
    "sparse, dense": lambda m, a, b: m.matmul(m.CSRSparseMatrix(a), b.T),
    "dense, sparse": lambda m, a, b: m.matmul(a, m.CSRSparseMatrix(b), transpose_b=True),
    "both": lambda m, a, b: m.matmul(m.CSRSparseMatrix(a), m.CSRSparseMatrix(b), adjoint_b=True).to_dense(),
    "turned": lambda m, a, b: m.matmul(m.CSRSparseMatrix(a), b, transpose_a=True),
}


def _numbers(module: str, name: str, *given: Any) -> Any:
    return PRODUCTS[name](importlib.import_module(module), *given).numpy()


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_matrices_in_compressed_rows(engine, name):
    pytest.importorskip("tensorflow")
    for a, b in ((A, A * 2 + 1), (np.stack([A, A * 3]), np.stack([A + 1, A]))):
        if a.ndim == 3 and name == "sparse, dense":
            continue  # b.T turns the batch, too
        ours = _numbers("dovetail.compat.tensorflow.python.ops.linalg.sparse.sparse", name, a, b)
        np.testing.assert_allclose(ours, _numbers("tensorflow.python.ops.linalg.sparse.sparse", name, a, b), rtol=1e-6)


def test_matrices_in_compressed_rows_give_their_sparse_tensors():
    csr = importlib.import_module("dovetail.compat.tensorflow.python.ops.linalg.sparse.sparse")
    x = tf.sparse.from_dense(A)
    assert csr.CSRSparseMatrix(x).to_sparse_tensor() is x and csr.CSRSparseMatrix(A).get_shape() == (2, 3)
    some = csr.CSRSparseMatrix(A, [[0, 1], [1, 1]]).to_sparse_tensor()
    assert (np.asarray(some.indices).tolist(), some.values.numpy().tolist()) == ([[0, 1], [1, 1]], [2, 0])


def test_specs_of_sparse_tensors():
    for lib in (tf, real):
        spec, x = lib.SparseTensorSpec((2, None), lib.float32), lib.sparse.from_dense(A)
        assert spec.shape.as_list() == [2, None] and spec.dtype == lib.float32
        assert spec.is_compatible_with(x) and not spec.is_compatible_with(lib.sparse.eye(3))
        assert spec == lib.SparseTensorSpec((2, None)) and spec != lib.SparseTensorSpec((2, 3))
        assert not lib.SparseTensorSpec((2, 3), lib.int32).is_compatible_with(x)
    with pytest.raises(ValueError, match="no argument is a sparse tensor"):
        tf.sparse.map_values(tf.square, A)


def test_rows_of_several_lengths():
    rows = tf.ragged.range([3, 0, 2])
    assert rows.to_list() == [[0, 1, 2], [], [0, 1]] == real.ragged.range([3, 0, 2]).to_list()
    assert tf.ragged.range([2], row_splits_dtype=tf.int32).row_splits.dtype == "int32"


@pytest.mark.parametrize("kind", ["from_value_rowids", "from_row_lengths", "from_row_splits", "from_tensor"])
def test_rows_of_several_lengths_are_made_and_padded(engine, kind):
    values, dense = np.float32([[5, 1], [6, 1], [7, 1], [8, 1]]), np.arange(12.0).reshape(3, 4)
    given = {
        "from_value_rowids": [(values, [0, 0, 2, 2]), (values[:, 0], np.int32([1, 1, 1, 3]), 5), (values[:0], [])],
        "from_row_lengths": [(values, [1, 0, 3])],
        "from_row_splits": [(values, [0, 0, 4])],
        "from_tensor": [(dense, [2, 0, 4]), (dense,)],
    }
    for arguments in given[kind]:
        rows = [getattr(lib.RaggedTensor, kind)(*arguments) for lib in (tf, real)]
        for part in ("row_lengths", "row_starts", "row_limits", "value_rowids", "nrows", "to_tensor"):
            found, wanted = (np.asarray(getattr(each, part)()) for each in rows)
            assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist()), part
        assert np.asarray(rows[0].values).tolist() == np.asarray(rows[1].values).tolist()
        assert np.asarray(rows[0].to_tensor(-1.0)).tolist() == np.asarray(rows[1].to_tensor(-1.0)).tolist()


def test_generated_sparse_ops_take_the_parts_of_tensors(engine):
    pytest.importorskip("tensorflow")
    found = []
    for path, lib in (("dovetail.compat.tensorflow", tf), ("tensorflow", real)):
        generated = importlib.import_module(f"{path}.python.ops.gen_sparse_ops")
        size = lib.shape(lib.constant([5, 6, 7]))[0]  # an int32, where int64 is needed
        where = lib.constant([[2, 0], [0, 1], [2, 2]], lib.int64)
        places, values = generated.sparse_reorder(where, lib.range(size), (size, size))
        found.append([places.numpy().tolist(), values.numpy().tolist()])
    assert found[0] == found[1]
