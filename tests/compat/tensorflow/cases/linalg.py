"""Cases of linear algebra."""

from dovetail.ops.samples import Array, array
from tests.compat.tensorflow.parity import call, program

SPD, MATRICES = Array((2, 3, 3), kind="spd"), array(2, 3, 4)


def rebuilt_svd(tf, x):
    s, u, v = tf.linalg.svd(x)
    return [s, tf.matmul(u, tf.matmul(tf.linalg.diag(s), v, adjoint_b=True))]


def rebuilt_eigh(tf, x):
    e, v = tf.linalg.eigh(x)
    return [e, tf.matmul(v, tf.matmul(tf.linalg.diag(e), v, adjoint_b=True))]


def rebuilt_qr(tf, x, **options):
    q, r = tf.linalg.qr(x, **options)
    return [tf.shape(q), tf.matmul(q, r)]


def cases():
    for lower, upper in ((0, 0), (1, 1), (-1, 0), (0, -1), (-1, 2)):
        yield call("linalg.band_part", MATRICES, lower, upper)
    yield call("compat.v1.matrix_band_part", MATRICES, 0, -1)
    yield call("linalg.diag", array(2, 3))
    yield call("linalg.diag", array(3), k=-1)
    yield call("linalg.diag", array(3, 3), k=(-1, 1))
    yield call("linalg.diag", array(3, 3), k=(-1, 1), padding_value=5.0, align="LEFT_RIGHT")
    yield call("linalg.diag", array(2), k=1, num_rows=2, num_cols=4, padding_value=-1.0)
    yield call("linalg.diag_part", array(2, 3, 4), k=(-1, 2), padding_value=-1.0, align="LEFT_RIGHT")
    yield call("linalg.diag_part", array(3, 4), k=(-2, 0))
    yield call("linalg.set_diag", array(3, 4), array(2, 3), k=(-1, 0))
    yield call("linalg.diag_part", MATRICES)
    yield call("linalg.diag_part", MATRICES, k=1)
    yield call("linalg.set_diag", MATRICES, array(2, 3))
    yield call("linalg.set_diag", MATRICES, array(2, 3), k=1)
    yield call("linalg.set_diag", MATRICES, array(2, 2), k=-1)
    yield call("linalg.tensor_diag", array(2, 3))
    yield call("compat.v1.diag", array(3))
    yield call("compat.v1.diag_part", array(3, 3))
    yield call("linalg.tensor_diag_part", array(2, 3, 2, 3))
    yield call("linalg.inv", SPD)
    yield call("linalg.inv", SPD, adjoint=True)
    yield call("linalg.inv", array(2, 3), raises=True)
    yield call("linalg.det", array(2, 3, 3))
    yield call("linalg.slogdet", array(2, 3, 3))
    yield call("linalg.logdet", SPD)
    yield call("linalg.cholesky", SPD)
    yield call("linalg.matrix_transpose", MATRICES)
    yield call("linalg.adjoint", array(2, 3, dtype="complex64"))
    yield call("linalg.trace", MATRICES)
    yield call("linalg.pinv", array(3, 2), tolerance=10)
    yield program("linalg.qr", rebuilt_qr, array(4, 3))
    yield program("linalg.qr (full)", lambda tf, x: rebuilt_qr(tf, x, full_matrices=True), array(4, 3))
    yield program("linalg.svd", rebuilt_svd, array(2, 4, 3))
    yield call("linalg.svd", array(3, 4), compute_uv=False)
    yield program("linalg.eigh", rebuilt_eigh, SPD)
    yield program("compat.v1.self_adjoint_eig", lambda tf, x: tf.compat.v1.self_adjoint_eig(x)[0], SPD)
    yield call("linalg.eigvalsh", SPD)
    yield call("linalg.solve", SPD, array(2, 3, 2))
    yield call("linalg.solve", SPD, array(2, 3, 2), adjoint=True)
    yield call("linalg.triangular_solve", Array((2, 3, 3), kind="triangular"), array(2, 3, 2))
    yield call("linalg.triangular_solve", Array((3, 3), kind="triangular"), array(3, 2), adjoint=True)
    yield call("linalg.lstsq", array(5, 3), array(5, 2), ways=("eager", "fixed"), tolerance=20)
    yield call("linalg.lstsq", array(3, 5), array(3, 2), l2_regularizer=0.5, ways=("eager", "fixed"), tolerance=20)
    yield call("linalg.matvec", array(2, 3, 4), array(2, 4))
    yield call("linalg.matvec", array(3, 4), array(3), transpose_a=True)
    yield call("linalg.matmul", array(2, 3), array(3, 2))
    yield call("linalg.einsum", "ij,jk->ik", array(2, 3), array(3, 2))
    yield call("linalg.tensordot", array(2, 3), array(3, 2), 1)


def operators():
    """A linear operator of each kind → how it is made of a symmetric matrix."""
    return {
        "FullMatrix": lambda make, tf, x: make.LinearOperatorFullMatrix(x, is_self_adjoint=True),
        "LowerTriangular": lambda make, tf, x: make.LinearOperatorLowerTriangular(x),
        "Diag": lambda make, tf, x: make.LinearOperatorDiag(tf.reduce_sum(x, -1)),
        "Identity": lambda make, tf, x: make.LinearOperatorIdentity(3, batch_shape=[2]),
        "ScaledIdentity": lambda make, tf, x: make.LinearOperatorScaledIdentity(3, x[:, 0, 0]),
        "LowRankUpdate": lambda make, tf, x: make.LinearOperatorLowRankUpdate(
            make.LinearOperatorDiag(tf.reduce_sum(x, -1)), x[:, :, :2], x[:, 0, :2]
        ),
        "Composition": lambda make, tf, x: make.LinearOperatorComposition(
            [make.LinearOperatorFullMatrix(x), make.LinearOperatorLowerTriangular(x)]
        ),
    }


def of_operator(made):
    def run(tf, x):
        operator = made(tf.linalg, tf, x)
        found = [operator.to_dense(), operator.matmul(x), operator.matvec(x[:, 0]), operator.solve(x)]
        found += [operator.solvevec(x[:, 1]), operator.determinant(), operator.log_abs_determinant()]
        return [*found, operator.diag_part(), operator.trace(), operator.add_to_tensor(x), operator.shape_tensor()]

    return run


def lower_ones(tf, x):
    return tf.linalg.LinearOperatorLowerTriangular(tf.ones_like(x)).to_dense()


def cases_of_operators():
    for kind, made in operators().items():
        yield program(f"linalg.LinearOperator{kind}", of_operator(made), SPD, ways=("eager", "fixed"), tolerance=50)
    yield program("linalg.LinearOperatorLowerTriangular (unknown)", lower_ones, array(4, 4))


CASES = [*cases(), *cases_of_operators()]
