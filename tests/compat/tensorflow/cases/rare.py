"""Cases of functions that are one type of graphs, and of rare windows, moments and mathematics."""

import numpy as np

from dovetail.ops.samples import array
from tests.compat.tensorflow.parity import EAGER, FIXED, call, program

X, Y = array(3, 4, low=0.1, high=2), array(3, 4, low=0.1, high=2)
IMAGES = array(2, 5, 6, 3)
WAVES = (np.arange(24).reshape(2, 3, 4) ** 1.5).astype("complex64")


def of_types():
    yield call("linalg.cross", array(5, 3), array(5, 3))
    yield call("math.invert_permutation", np.int32([2, 0, 3, 1]))
    yield call("dynamic_partition", X, np.int32([1, 0, 1]), 2, ways=EAGER)
    yield call("dynamic_stitch", [np.int32([0, 2]), np.int32([1])], [array(2, 3), array(1, 3)], ways=EAGER)
    yield call("math.betainc", X, Y, array(3, 4, low=0.05, high=0.95))
    for name in ("igamma", "igammac", "xlogy", "xlog1py", "xdivy", "multiply_no_nan", "nextafter"):
        yield call(f"math.{name}", X, Y)
    yield call("math.sobol_sample", 3, 9)
    yield call("math.sobol_sample", 40, 5, skip=7, dtype="float64")
    yield call("math.zeta", array(4, low=1.5, high=5), array(4, low=0.5, high=3))
    yield call("math.polygamma", np.float32([0, 1, 2]), array(3, low=0.5, high=3))
    yield call("math.angle", WAVES)
    yield call("math.ndtri", array(4, low=0.1, high=0.9))
    for name in ("bessel_i0", "bessel_i1", "bessel_i0e", "bessel_i1e"):
        yield call(f"math.{name}", array(5, low=-4, high=4))
    yield call("compat.v1.space_to_batch_nd", array(1, 4, 6, 2), [2, 3], [[0, 0], [0, 0]], ways=FIXED)
    yield call("compat.v1.batch_to_space_nd", array(6, 2, 2, 1), [2, 3], [[0, 0], [0, 1]], ways=FIXED)
    yield call("compat.v1.space_to_batch", array(1, 4, 6, 2), [[0, 0], [1, 1]], 2, ways=FIXED)
    yield call("compat.v1.batch_to_space", array(4, 2, 3, 1), [[0, 0], [1, 0]], 2, ways=FIXED)
    yield call("histogram_fixed_width", array(20), np.float32([0, 1]), 7, ways=EAGER)
    yield call("histogram_fixed_width_bins", array(20), [0.0, 1.0], 7)
    yield call("unravel_index", np.int32([22, 5, 0]), [4, 6], ways=FIXED)
    for name in ("truncatediv", "truncatemod"):
        yield call(name, np.int32([-7, 7, -6]), np.int32([2, -2, 4]))
    yield call("realdiv", X, Y)
    for name in ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"):
        yield call(f"signal.{name}", WAVES, ways=FIXED)
    yield call("quantization.fake_quant_with_min_max_args", array(9, low=-8, high=8), -4.0, 5.0)
    yield call("quantization.fake_quant_with_min_max_vars", array(9, low=-8, high=8), np.float32(-4), np.float32(5))
    yield call(
        "quantization.fake_quant_with_min_max_vars_per_channel", array(4, 2), np.float32([-1, 0]), np.float32([1, 2])
    )
    yield call("quantization.fake_quant_with_min_max_args_gradient", array(9), array(9, low=-8, high=8), -4.0, 5.0)
    of_channels = array(4, 2), array(4, 2, low=-3, high=3), np.float32([-1, 0]), np.float32([1, 2])
    yield call("quantization.fake_quant_with_min_max_vars_per_channel_gradient", *of_channels)
    yield call("compat.v1.sparse_matmul", array(2, 3), array(3, 4))
    yield call("compat.v1.sparse_matmul", array(3, 2), array(4, 3), True, True, a_is_sparse=True)
    for name in ("sum", "mean", "sqrt_n"):
        yield call(f"sparse.segment_{name}", array(5, 2), np.int32([0, 2, 4]), np.int32([0, 0, 1]), ways=EAGER)


def mathematics():
    yield call("math.lbeta", X)
    yield call("math.erfcinv", array(4, low=0.1, high=1.9))
    yield call("math.reciprocal_no_nan", np.float32([0, 2, -4]))
    for name in ("is_non_decreasing", "is_strictly_increasing"):
        for values in ([1, 2, 2], [1, 2, 3], [3, 1], [1]):
            yield call(f"math.{name}", np.int32(values))
    yield call("compat.v1.clip_by_average_norm", X, 0.1, ways=FIXED)
    yield call("linalg.cholesky_solve", np.float32([[2, 0], [1, 3]]), array(2, 3))
    yield call("linalg.normalize", X)
    yield call("linalg.normalize", X, 1, 1)
    for name in ("softmax", "log_softmax", "softsign"):
        yield call(f"math.{name}", X)
    yield call("math.polyval", [1.0, -2.0, 0.5], X)
    yield call("compat.v1.setdiff1d", np.int32([5, 2, 7, 2]), np.int32([2, 3]), ways=EAGER)
    yield call("debugging.assert_all_finite", X, "all finite")
    yield call("shape_n", [X, IMAGES], ways=FIXED)


def windows():
    yield call("nn.max_pool_with_argmax", IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", ways=FIXED)
    yield call("compat.v1.nn.dilation2d", IMAGES, array(2, 2, 3), [1, 1, 1, 1], [1, 1, 1, 1], "SAME", ways=FIXED)
    yield call("compat.v1.nn.erosion2d", IMAGES, array(2, 2, 3), [1, 2, 1, 1], [1, 1, 1, 1], "VALID", ways=FIXED)
    yield call("nn.sufficient_statistics", X, [0])
    yield call("nn.sufficient_statistics", X, [0], np.float32(0.5), True, ways=EAGER)
    yield call("nn.normalize_moments", np.float32(3), array(4), array(4, low=3, high=5), np.float32(0.2))
    channels = [array(3, low=0.5, high=1) for _ in range(4)]
    for scales in (True, False):
        yield call("compat.v1.nn.batch_norm_with_global_normalization", IMAGES, *channels, 1e-3, scales)
    for whole in (True, False):
        yield call("nn.log_poisson_loss", array(6, low=0, high=3), array(6), whole)
    yield call("compat.v1.nn.relu_layer", X, array(4, 2), array(2))
    yield program("compat.v1.no_regularizer", lambda tf, x: x if tf.compat.v1.no_regularizer(x) is None else -x, X)


SETS = np.int32([[1, 2, 2, 5], [7, 7, 0, 3]]), np.int32([[2, 5, 9], [0, 1, 7]])


def sets():
    def parts(tf, found):
        return found.indices, found.values, found.dense_shape

    for name in ("intersection", "union", "difference"):
        yield program(f"sets.{name}", lambda tf, a, b, name=name: parts(tf, getattr(tf.sets, name)(a, b)), *SETS)
        sparse = "sparse.from_dense"
        yield program(
            f"sets.{name} {sparse}",
            lambda tf, a, b, name=name: parts(tf, getattr(tf.sets, name)(a, tf.sparse.from_dense(b))),
            *SETS,
            ways=EAGER,
        )
    yield program("sets.difference sets.size", lambda tf, a, b: tf.sets.size(tf.sets.difference(a, b, False)), *SETS)
    for name in ("intersection", "union", "difference"):
        old = f"compat.v1.sets.set_{name}"
        yield program(old, lambda tf, a, b, n=name: getattr(tf.compat.v1.sets, f"set_{n}")(a, b).values, *SETS)
    yield program(
        "compat.v1.sets.set_size", lambda tf, a, b: tf.compat.v1.sets.set_size(tf.compat.v1.sets.set_union(a, b)), *SETS
    )
    empty = np.zeros((2, 0), "int32")
    yield program("sets.intersection", lambda tf, a, b: parts(tf, tf.sets.intersection(a, b)), empty, SETS[1])


CASES = [*of_types(), *mathematics(), *windows(), *sets()]
