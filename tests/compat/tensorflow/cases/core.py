"""Cases of TensorFlow 2's core: constants, functions, tapes, structures, checks."""

from collections import defaultdict

import numpy as np

from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import EAGER, call, program


def tensors():
    yield call("constant", [[1, 2], [3, 4]])
    yield call("constant", [1.0, 2.0], "float64")
    yield call("constant", 3, shape=[2, 2])
    yield call("constant", [1, 2, 3, 4], "float32", [2, 2])
    yield program(
        "constant (array)", lambda tf: [tf.constant(np.arange(3)), tf.constant(np.ones(2)), tf.constant(True)]
    )
    yield call("constant", [1, 2, 3], shape=[2], raises=True)
    yield call("convert_to_tensor", [1, 2, 3])
    yield call("convert_to_tensor", [1, 2, 3], "float32")
    yield call("convert_to_tensor", [1, 2, 3], dtype_hint="float32")
    yield call("compat.v1.convert_to_tensor", [1, 2], None, "name", "float64")
    yield call("convert_to_tensor", array(3), "int32", raises=True)
    yield program("is_tensor", lambda tf, x: [tf.is_tensor(x), tf.is_tensor([1.0])], array(3))
    yield program(
        "float32 int32 as_dtype DType",
        lambda tf, x: [
            x.dtype == tf.float32,
            tf.as_dtype("int32") == tf.int32,
            tf.float16.name,
            tf.int64.as_numpy_dtype == np.int64,
            [tf.float64.is_floating, tf.int8.is_integer, tf.bool.is_bool, tf.complex64.is_complex],
            isinstance(tf.int32, tf.DType),
            [tf.int8.max, tf.uint8.min],
        ],
        array(2),
        ways=EAGER,
    )
    yield program(
        "TensorShape",
        lambda tf: [
            tf.TensorShape([None, 3]).rank,
            tf.TensorShape([2, 3]).as_list(),
            tf.TensorShape(None).rank is None,
            tf.TensorShape([None, 3]).is_compatible_with([2, 3]),
            tf.TensorShape([2, 3]).num_elements(),
            isinstance(tf.TensorShape([2]), tf.TensorShape),
            tf.TensorShape([None, 3]).concatenate([4]).as_list()[1:],
            tf.TensorShape([2, 3]).with_rank(2).as_list(),
        ],
        ways=EAGER,
    )
    yield program(
        "TensorSpec",
        lambda tf: [list(tf.TensorSpec([2, 3], tf.int32).shape), tf.TensorSpec([2]).dtype.name],
        ways=EAGER,
    )
    yield program("Tensor", lambda tf, x: isinstance(x, tf.Tensor), array(2))
    yield program("newaxis", lambda tf, x: x[:, tf.newaxis], array(3))
    yield program(
        "experimental.dlpack.to_dlpack experimental.dlpack.from_dlpack",
        lambda tf, x: tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)),
        array(3),
        ways=EAGER,
    )


def watched(tf, function, x, **options):
    with tf.GradientTape(**options) as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def clipped(tf, x):
    @tf.custom_gradient
    def f(x):
        return tf.identity(x), lambda g: tf.clip_by_value(g, -0.1, 0.1)

    return watched(tf, lambda x: tf.reduce_sum(5.0 * f(x)), x)


def functions():
    yield program("function", lambda tf, x: tf.function(lambda x: tf.square(x) + 1.0)(x), array(3))
    yield program(
        "function (signature)",
        lambda tf, x: tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])(x),
        array(3),
        ways=EAGER,
    )
    yield program("GradientTape", lambda tf, x: watched(tf, tf.square, x), array(3), ways=EAGER)
    yield program(
        "GradientTape (persistent)",
        lambda tf, x: watched(tf, lambda x: watched(tf, lambda x: x**3, x), x, persistent=True),
        array(3),
        ways=EAGER,
    )
    yield program("custom_gradient", clipped, array(3), ways=EAGER)
    yield program(
        "recompute_grad",
        lambda tf, x: watched(tf, tf.recompute_grad(lambda x: tf.tanh(x) ** 2), x),
        array(3),
        ways=EAGER,
    )
    yield program("UnconnectedGradients", lambda tf, x: zero_gradient(tf, x), array(3), ways=EAGER)


def zero_gradient(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(1.0)
    return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


NEST = {"b": (1, [2, 3]), "a": 4}


def structures():
    yield program("nest.flatten", lambda tf: tf.nest.flatten(NEST), ways=EAGER)
    yield program("nest.flatten (None)", lambda tf: [x is None for x in tf.nest.flatten([1, None])], ways=EAGER)
    yield program(
        "nest.map_structure",
        lambda tf, x: tf.nest.map_structure(lambda a, b: a + b, [x, (x,)], [x, (2 * x,)]),
        array(2),
    )
    yield program(
        "nest.map_structure (unlike)",
        lambda tf: tf.nest.map_structure(lambda a, b: a, [1, 2], [1]),
        raises=True,
        ways=EAGER,
    )
    yield program("nest.pack_sequence_as", lambda tf: sorted(tf.nest.pack_sequence_as(NEST, [1, 2, 3, 4])), ways=EAGER)
    counts = defaultdict(list, {"b": 1, "a": 2})
    yield program(
        "nest.pack_sequence_as (order)",
        lambda tf: list(map(str, (tf.nest.pack_sequence_as(NEST, [4, 1, 2, 3]), tf.nest.map_structure(float, counts)))),
        ways=EAGER,
    )
    yield program(
        "nest.assert_same_structure", lambda tf: tf.nest.assert_same_structure([1], (1,)), raises=True, ways=EAGER
    )


def held(tf, name, *values):
    """Whether a check lets values pass."""
    try:
        getattr(tf.debugging, f"assert_{name}")(*map(tf.constant, values))
    except tf.errors.InvalidArgumentError:
        return False
    return True


def sparse(tf, x, y):
    made = tf.sparse.from_dense(x)
    given = tf.SparseTensor([[0, 1], [2, 0]], [3.0, 4.0], [3, 2])
    arrays = tf.compat.v1.SparseTensorValue(np.int64([[0, 1], [2, 0]]), np.float32([3, 4]), np.int64([3, 2]))
    return [
        tf.sparse.to_dense(arrays, default_value=-1.0),
        tf.sparse.to_dense(tf.SparseTensor.from_value(arrays)),
        tf.sparse.to_dense(tf.sparse.concat(0, [arrays, given])),
        tf.sparse.reduce_sum(arrays, 1),
        tf.sparse.to_dense(tf.sparse.reorder(arrays)),
        tf.sparse.sparse_dense_matmul(arrays, y),
        tf.sparse.to_dense(made),
        tf.sparse.to_dense(given),
        tf.sparse.to_dense(given, default_value=-1.0),
        tf.sparse.sparse_dense_matmul(given, x, adjoint_a=True),
        tf.sparse.sparse_dense_matmul(given, y),
        tf.compat.v1.sparse_tensor_dense_matmul(given, y, adjoint_b=True),
    ]


def checks():
    yield program(
        "SparseTensor sparse.from_dense sparse.to_dense sparse.sparse_dense_matmul sparse_tensor_dense_matmul",
        sparse,
        np.float32([[0, 1], [2, 0], [0, 3]]),
        array(2, 2),
        ways=EAGER,
    )
    yield call("debugging.assert_equal", array(3), array(3), raises=True, ways=EAGER)
    yield program(
        "debugging.assert_equal (holds)", lambda tf, x: tf.debugging.assert_equal(x, x) is None, array(3), ways=EAGER
    )
    yield call("debugging.assert_near", array(3), array(3, low=5, high=6), raises=True, ways=EAGER)
    yield program(
        "debugging.assert_near (holds)",
        lambda tf, x: tf.debugging.assert_near(x, x + 1e-8) is None,
        array(3, low=1),
        ways=EAGER,
    )
    yield call("compat.v1.assert_less_equal", ints(3, low=5, high=9), ints(3, high=4), raises=True, ways=EAGER)
    yield call("debugging.assert_positive", ints(3, low=-5, high=0), raises=True, ways=EAGER)
    for name in ("equal", "none_equal", "less", "less_equal", "greater", "greater_equal"):
        for x, y in (([1, 2], [1, 2]), ([1, 2], [2, 3]), ([4, 5], [2, 3])):
            yield program(
                f"debugging.assert_{name} ({x}, {y})", lambda tf, n=name, x=x, y=y: held(tf, n, x, y), ways=EAGER
            )
    for name in ("positive", "negative", "non_negative", "non_positive"):
        for x in ([1, 2], [0, 0], [-1, -2]):
            yield program(f"debugging.assert_{name} ({x})", lambda tf, n=name, x=x: held(tf, n, x), ways=EAGER)
    yield call("debugging.assert_rank", array(3), 2, raises=True, ways=EAGER)
    yield call("debugging.assert_rank_at_least", array(3), 2, raises=True, ways=EAGER)
    yield call("debugging.assert_scalar", array(3), raises=True, ways=EAGER)
    yield call("compat.v1.assert_scalar", np.float32(3))
    yield program("debugging.assert_rank_at_least", lambda tf: tf.debugging.assert_rank_at_least(tf.ones(3), 1))
    yield program("debugging.assert_type", lambda tf: tf.debugging.assert_type(tf.ones(3), "float32"), ways=EAGER)
    yield call("debugging.Assert", False, ["no"], raises=True, ways=EAGER)
    yield call("debugging.check_numerics", array(3), "x")
    yield call("debugging.check_numerics", np.float32([1, np.inf]), "x", raises=True)


CASES = [*tensors(), *functions(), *structures(), *checks()]
