"""Cases of sparse tensors."""

import numpy as np
import scipy.sparse

from dovetail.ops.samples import array
from tests.backend.parity import program

EAGER = ("eager",)
A = scipy.sparse.csr_matrix(np.array([[0, 2, 0], [3, 0, 4]], "float32"))
B = scipy.sparse.coo_matrix(np.array([[5, 0, 0], [0, 0, 6]], "float32"))
NOTHING = scipy.sparse.csr_matrix((2, 3), dtype="float32")
UNSORTED = scipy.sparse.coo_matrix((np.array([1, 2, 3], "float32"), ([1, 0, 1], [0, 1, 0])), shape=(2, 2))
IN_ORDER = "The elements of a matrix of SciPy are put in row-major order, and those for one place added."


def parts(s):
    return [s.indices, s.values, s.dense_shape]


def fed(K, compute):
    """The results of computing on a sparse placeholder that is fed two matrices of different sizes."""
    s = K.placeholder((None, 3), sparse=True)
    f = K.function([s], [compute(s)])
    return [f([K.variable(matrix)]) for matrix in (A, NOTHING)]


CASES = [
    program("variable of a sparse matrix", lambda K: parts(K.variable(A)), ways=EAGER),
    program("variable of a sparse matrix of integers", lambda K: parts(K.variable(A.astype("int64"))), ways=EAGER),
    program("variable of an empty sparse matrix", lambda K: parts(K.variable(NOTHING)), ways=EAGER),
    program("variable of a sparse matrix keeps its dtype", lambda K: parts(K.variable(A, dtype="float64")), ways=EAGER),
    program(
        "variable of an unsorted sparse matrix",
        lambda K: parts(K.variable(UNSORTED)),
        ways=EAGER,
        differs=IN_ORDER,
        expected=lambda: [np.array([[0, 1], [1, 0]]), np.array([2, 4], "float32"), np.array([2, 2])],
    ),
    program(
        "is_sparse", lambda K, x: [K.is_sparse(K.variable(A)), K.is_sparse(x), K.is_sparse([1.0])], array(2), ways=EAGER
    ),
    program("to_dense", lambda K: K.to_dense(K.variable(A)), ways=EAGER),
    program("to_dense of integers", lambda K: K.to_dense(K.variable(A.astype("int32"))), ways=EAGER),
    program("to_dense of an empty sparse matrix", lambda K: K.to_dense(K.variable(NOTHING)), ways=EAGER),
    program("to_dense of what is dense", lambda K, x: K.to_dense(x), array(2, 3)),
    program("eval of a sparse matrix", lambda K: K.eval(K.variable(A)), ways=EAGER),
    program(
        "int_shape ndim of a sparse matrix", lambda K: [*K.int_shape(K.variable(A)), K.ndim(K.variable(A))], ways=EAGER
    ),
    program("shape of a sparse matrix", lambda K: K.shape(K.variable(A)), ways=EAGER),
    program("dtype of a sparse matrix", lambda K: K.dtype(K.variable(A)), ways=EAGER),
    program("cast of a sparse matrix", lambda K: parts(K.cast(K.variable(A), "float64")), ways=EAGER),
    program("dot of a sparse matrix", lambda K, x: K.dot(K.variable(A), x), array(3, 4)),
    program("dot of an empty sparse matrix", lambda K, x: K.dot(K.variable(NOTHING), x), array(3, 4)),
    program(
        "dot of a sparse matrix with another size",
        lambda K, x: K.dot(K.variable(A), x),
        array(2, 4),
        raises=True,
        ways=EAGER,
    ),
    program("dot of a sparse matrix with a vector", lambda K, x: K.dot(K.variable(A), x), array(3), raises=True),
    program("dot of a dense and a sparse matrix", lambda K, x: K.dot(x, K.variable(A)), array(2, 2), raises=True),
    *(
        program(
            f"concatenate of sparse matrices along {axis}",
            lambda K, axis=axis: parts(K.concatenate([K.variable(A), K.variable(B)], axis)),
            ways=EAGER,
        )
        for axis in (-1, 0, 1, -2)
    ),
    program("concatenate of one sparse matrix", lambda K: parts(K.concatenate([K.variable(A)])), ways=EAGER),
    program("concatenate of a sparse and a dense matrix", lambda K, x: K.concatenate([K.variable(A), x]), array(2, 2)),
    program(
        "concatenate of a dense and a sparse matrix",
        lambda K, x: K.concatenate([x, K.variable(A)], axis=0),
        array(2, 3),
    ),
    program(
        "concatenate of sparse matrices of other sizes",
        lambda K: K.concatenate([K.variable(A), K.variable(A[:1])]),
        raises=True,
        ways=EAGER,
    ),
    *(
        program(
            f"sum of a sparse matrix over {axis}{' kept' * keepdims}",
            lambda K, axis=axis, keepdims=keepdims: K.sum(K.variable(A), axis, keepdims),
            expected=lambda axis=axis, keepdims=keepdims: A.toarray().sum(axis, keepdims=keepdims),
            differs="sparse tensors are taken",
        )
        for axis in (None, 0, 1, -1, (0, 1))
        for keepdims in (False, True)
    ),
    *(
        program(
            f"gather of a sparse matrix at {rows.tolist()}",
            lambda K, rows: K.gather(K.variable(A), rows),
            rows,
            expected=lambda rows: A.toarray()[rows],
            differs="sparse tensors are taken",
        )
        for rows in (np.array([1, 0, 1]), np.array([[0, 1], [1, 1]]), np.array(1), np.zeros(0, "int32"))
    ),
    *(
        program(f"{name} of a sparse matrix", lambda K, name=name: parts(getattr(K, name)(K.variable(A))), ways=EAGER)
        for name in ("abs", "sign", "sin", "square", "tanh", "stop_gradient", "cast_to_floatx")
    ),
    program("print_tensor of a sparse matrix", lambda K: parts(K.print_tensor(K.variable(A), "s")), ways=EAGER),
    program("count_params of a sparse matrix", lambda K: K.count_params(K.variable(A)), ways=EAGER),
    program("in_train_phase of a sparse matrix", lambda K: parts(K.in_train_phase(K.variable(A), None, 1)), ways=EAGER),
    program(
        "switch of sparse matrices",
        lambda K, c: parts(K.switch(c, K.variable(A), K.variable(B))),
        np.array(False),
        ways=EAGER,
    ),
    program("variable of a sparse matrix times a vector", lambda K, x: parts(K.variable(A) * x), array(3)),
    program("variable of a sparse matrix times a matrix", lambda K, x: parts(K.variable(A) * x), array(2, 1)),
    program("variable of a sparse matrix by a number", lambda K, x: parts(K.variable(A) / x), array(low=1)),
    *(
        program(
            f"placeholder is_sparse of a sparse matrix {shape}",
            lambda K, shape=shape: K.is_sparse(K.placeholder(shape, sparse=True)),
            ways=EAGER,
        )
        for shape in ((None, 3), (2, 3))
    ),
    *(
        program(
            f"placeholder function {name} of a sparse matrix",
            lambda K, y, compute=compute: fed(K, lambda s: compute(K, s, y)),
            array(3, 4),
            ways=EAGER,
        )
        for name, compute in {
            "dot": lambda K, s, y: K.dot(s, y),
            "to_dense": lambda K, s, y: K.to_dense(s),
            "concatenate": lambda K, s, y: K.to_dense(K.concatenate([s, s])),
            "square": lambda K, s, y: K.to_dense(K.square(s)),
        }.items()
    ),
    program(
        "placeholder of a sparse matrix, ragged too",
        lambda K: K.placeholder((2, None), sparse=True, ragged=True),
        raises=True,
        ways=EAGER,
    ),
    program("transpose of a sparse matrix", lambda K: K.transpose(K.variable(A)), raises=True, ways=EAGER),
]
