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


CASES = list(cases())
