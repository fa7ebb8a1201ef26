"""Cases of the values of variables and their updates."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import program

EAGER = ("eager",)
ANY_DTYPE = "a value of another dtype is cast"
BROADCASTS = "may broadcast; tf.keras refuses it"
PASSES = "what is no tensor comes back as it is"


def updated_twice(K, x):
    v = K.variable(np.zeros((2, 3)))
    K.update(v, x)
    return K.update(v, x * 2.0)


def of_dtype(dtype, name="update"):
    return lambda K, x: getattr(K, name)(K.variable(np.ones((2,)), dtype=dtype), x)


def step(name, start):
    return lambda K, x: getattr(K, name)(K.variable(start), x)


def average(momentum):
    return lambda K, x: K.moving_average_update(K.variable(np.full((2, 3), 4.0)), x, momentum)


def values(K):
    v = K.variable([[1.0, 2.0]])
    K.set_value(v, [[3, 4]])
    n = K.variable(1, dtype="int32")
    K.batch_set_value([(v, K.get_value(v) + 1.0), (n, 7.9)])
    K.batch_set_value([])
    return [K.get_value(v), K.eval(v), K.get_value(n), K.eval(K.constant([1.0])), *K.batch_get_value([v, n])]


def dtypes(K):
    found = []
    for dtype in ("float16", "float64", "int64", "uint8"):
        v = K.variable([0, 1], dtype=dtype)
        K.set_value(v, np.array([1.0, 0.0]))
        found.append(K.get_value(v))
    return found


def flags(K):
    K.manual_variable_initialization(True)
    K.manual_variable_initialization(False)
    v = K.variable([1.0])
    return [K.get_value(v), K.get_value(3), K.get_value("word"), K.get_value([1, 2]), K.eval(np.ones(2))]


def generator(K):
    before = K.experimental.is_tf_random_generator_enabled()
    K.experimental.enable_tf_random_generator()
    on = K.experimental.is_tf_random_generator_enabled()
    K.experimental.disable_tf_random_generator()
    return [before, on, K.experimental.is_tf_random_generator_enabled()]


def refused(function, **options):
    return program(f"{function.__name__} refused", function, ways=EAGER, raises=True, **options)


def update_of_a_tensor(K):
    return K.update(K.constant([1.0]), [2.0])


def update_of_a_number(K):
    return K.update_add(1.0, 2.0)


def update_of_another_shape(K):
    return K.update(K.variable([1.0, 2.0]), [1.0, 2.0, 3.0])


def update_add_of_another_shape(K):
    return K.update_add(K.variable(1.0), [1.0, 2.0])


def moving_average_of_a_number(K):
    return K.moving_average_update(1.0, 2.0, 0.9)


def set_value_of_a_number(K):
    return K.set_value(3.0, 4.0)


def set_value_of_a_tensor(K):
    return K.set_value(K.constant(3.0), 4.0)


def set_value_of_another_shape(K):
    return K.set_value(K.variable(3.0), [4.0, 5.0])


def batch_set_value_without_pairs(K):
    return K.batch_set_value([K.variable(3.0)])


CASES = [
    program("update of_a_matrix", lambda K, x: K.update(K.variable(np.ones((2, 3))), x), array(2, 3)),
    program("update of_a_scalar", step("update", 2.0), array()),
    program("update of_nothing", lambda K, x: K.update(K.variable(np.zeros((0, 2))), x), array(0, 2)),
    program("update with_a_number", lambda K: K.update(K.variable(2.0), 3), ways=EAGER),
    program("update twice", updated_twice, array(2, 3)),
    program("update with_nan", step("update", [0.0, 0.0, 0.0]), np.array([np.nan, np.inf, -np.inf], "float32")),
    *(program(f"update of_{d}", of_dtype(d), array(2, dtype=d)) for d in ("float16", "float64")),
    program("update of_int32", of_dtype("int32"), ints(2)),
    program("update_add", step("update_add", [[1.0, 2.0]]), array(1, 2)),
    program("update_add of_int32", of_dtype("int32", "update_add"), ints(2)),
    program("update_add of_float16", of_dtype("float16", "update_add"), array(2, dtype="float16")),
    program("update_sub", step("update_sub", [[1.0, 2.0]]), array(1, 2)),
    program("update_sub of_int32", of_dtype("int32", "update_sub"), ints(2)),
    program("moving_average_update", average(0.9), array(2, 3)),
    program("moving_average_update at_once", average(0.0), array(2, 3)),
    program("moving_average_update never", average(1.0), array(2, 3)),
    program("moving_average_update by_a_tensor", lambda K, x: average(K.constant(0.25))(K, x), array(2, 3)),
    program("moving_average_update of_doubles", average(0.5), array(2, 3, dtype="float64")),
    program("get_value set_value batch_get_value batch_set_value eval", values, ways=EAGER),
    program("get_value set_value dtypes", dtypes, ways=EAGER),
    program("manual_variable_initialization get_value", flags, ways=EAGER),
    program(
        "is_tf_random_generator_enabled enable_tf_random_generator disable_tf_random_generator", generator, ways=EAGER
    ),
    program("update", of_dtype("float32"), ints(2), differs=ANY_DTYPE, expected=lambda x: x.astype("float32")),
    program(
        "update_add of_doubles", of_dtype("float32", "update_add"), array(2, dtype="float64"), differs=ANY_DTYPE,
        expected=lambda x: (1 + x).astype("float32"),
    ),
    program(
        "update_sub of_doubles", of_dtype("float32", "update_sub"), array(2, dtype="float64"), differs=ANY_DTYPE,
        expected=lambda x: (1 - x).astype("float32"),
    ),
    program(
        "update_add with_a_number", of_dtype("float32", "update_add"), array(), differs=BROADCASTS,
        expected=lambda x: np.full(2, 1 + x),
    ),
    program(
        "update_sub with_a_number", of_dtype("float32", "update_sub"), array(), differs=BROADCASTS,
        expected=lambda x: np.full(2, 1 - x),
    ),
    program("batch_get_value of_numbers", lambda K: K.batch_get_value([1, 2]), ways=EAGER, differs=PASSES,
            expected=lambda: [1, 2]),
    *map(refused, (
        update_of_a_tensor, update_of_a_number, update_of_another_shape, update_add_of_another_shape,
        moving_average_of_a_number, set_value_of_a_number, set_value_of_a_tensor, set_value_of_another_shape,
        batch_set_value_without_pairs,
    )),
]  # fmt: skip
