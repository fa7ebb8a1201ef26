"""Cases of control flow: branches, loops, arrays of tensors, Python functions."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import EAGER, call, program


def branches():
    for sign in (">", "<"):
        yield program(
            f"cond (x {sign} 0)",
            lambda tf, x, up=sign == ">": tf.cond(tf.reduce_sum(x) > (-99 if up else 99), lambda: x + 1.0, lambda: -x),
            array(3),
        )
    yield program(
        "compat.v1.cond",
        lambda tf, x: tf.compat.v1.cond(tf.reduce_any(x > -9.0), fn1=lambda: [x], fn2=lambda: [-x]),
        array(3),
    )
    yield call("cond", True, 1, 2, raises=True)
    for value in (-1.0, 0.5, 3.0):
        yield program(
            "case",
            lambda tf, x: tf.case([(x < 0.0, lambda: -x), (x < 1.0, lambda: x * 10.0)], default=lambda: x),
            np.float32(value),
        )
    for number in (0, 2, 7, -1):
        yield program(
            "switch_case",
            lambda tf, i: tf.switch_case(
                i, [lambda: tf.constant(1.0), lambda: tf.constant(2.0), lambda: tf.constant(3.0)]
            ),
            np.int32(number),
        )
    yield program(
        "switch_case (default)",
        lambda tf, i: tf.switch_case(i, {0: lambda: tf.constant(1.0)}, lambda: tf.constant(9.0)),
        np.int32(5),
    )


def collected(tf, n):
    array = tf.TensorArray(tf.float32, size=n)
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * tf.ones([2]))), [0, array]
    )
    return array.stack()


def filled(tf, x):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        array = array.write(i, x * float(i))
    return [
        array.stack(),
        array.size(),
        array.gather([2, 0]),
        array.concat(),
        tf.TensorArray(tf.float32, 3).unstack(x).stack(),
        array.read(1),
    ]


def loops():
    yield program(
        "while_loop", lambda tf, x: tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2.0), [0, x]), array(3)
    )
    yield program(
        "while_loop (one)", lambda tf, n: tf.while_loop(lambda i: i < n, lambda i: [i * 2], [1]), np.int32(20)
    )
    yield program(
        "while_loop (at most)",
        lambda tf, x: tf.while_loop(lambda a: True, lambda a: (a + 1.0,), (x,), maximum_iterations=3),
        array(2),
        ways=EAGER,
    )
    yield program(
        "compat.v1.while_loop",
        lambda tf, n: tf.compat.v1.while_loop(lambda i: i < n, lambda i: i * 2, [1]),
        np.int32(20),
    )
    yield program("map_fn", lambda tf, x: tf.map_fn(lambda v: tf.reduce_sum(v) * v, x), array(3, 2))
    yield program(
        "map_fn (pairs)",
        lambda tf, x, y: tf.map_fn(lambda v: v[0] * v[1], (x, y), fn_output_signature=tf.float32),
        array(3, 2),
        array(3, 2),
    )
    yield program("vectorized_map", lambda tf, x: tf.vectorized_map(lambda v: tf.reduce_sum(v), x), array(3, 2))
    yield program("foldl", lambda tf, x: tf.foldl(lambda a, v: a * 0.5 + v, x), array(4, 2))
    yield program("foldr", lambda tf, x: tf.foldr(lambda a, v: a * 0.5 + v, x, initializer=tf.zeros([2])), array(4, 2))
    yield program("scan", lambda tf, x: tf.scan(lambda a, v: a * 0.5 + v, x), array(4, 2))
    yield program("scan (reverse)", lambda tf, x: tf.scan(lambda a, v: a * 0.5 + v, x, reverse=True), array(4, 2))
    yield program(
        "scan (start)", lambda tf, x: tf.scan(lambda a, v: (a[0] + v, a[1] * 0.5), x, (tf.zeros([2]), 1.0)), array(4, 2)
    )
    yield program("TensorArray while_loop", collected, np.int32(4), ways=EAGER)
    yield program("TensorArray", filled, array(3))


def python():
    for name in ("compat.v1.py_func", "numpy_function"):
        yield program(
            name,
            lambda tf, x, name=name: (tf.compat.v1.py_func if "v1" in name else tf.numpy_function)(
                lambda a: a * 2, [x], tf.float32
            ),
            array(3),
        )
    yield program(
        "py_function",
        lambda tf, x: tf.py_function(lambda a: [a * 2, a + 1], [x], [tf.float32, tf.float32]),
        array(3),
    )


def draws():
    for name in ("normal", "uniform", "truncated_normal"):
        yield program(f"random.{name}", lambda tf, name=name: tf.shape(getattr(tf.random, name)([3, 4])))
        yield program(
            f"random.{name} (dtype)",
            lambda tf, name=name: str(np.asarray(getattr(tf.random, name)([2], dtype="float64")).dtype),
            ways=EAGER,
        )
    yield program("random.uniform (integers)", lambda tf: tf.reduce_max(tf.random.uniform([50], 3, 4, tf.int32)))
    yield call("random.uniform", [3], dtype="int32", raises=True)
    yield program("random.shuffle", lambda tf, x: tf.sort(tf.random.shuffle(x)), ints(9, high=99))
    yield program("random.categorical", lambda tf: tf.random.categorical([[-1e9, 0.0], [0.0, -1e9]], 3))
    yield program("compat.v1.multinomial", lambda tf: tf.compat.v1.multinomial([[-1e9, 0.0]], 2, output_dtype=tf.int32))
    yield program("random.stateless_normal", lambda tf: tf.shape(tf.random.stateless_normal([3], seed=[1, 2])))
    yield program(
        "random.stateless_uniform", lambda tf: tf.reduce_max(tf.random.stateless_uniform([3], [1, 2], 5, 6, tf.int32))
    )
    yield program(
        "random.stateless_uniform (64 bits)",
        lambda tf: [
            tf.reduce_all(tf.equal(*(tf.random.stateless_uniform([9], seed) for seed in (np.int64([n, 1]), [5, 1]))))
            for n in (5, 2**32 + 5, 5 - 2**32)
        ],
    )
    yield program("random.Generator", lambda tf: tf.shape(tf.random.Generator.from_seed(1).normal([2, 3])))
    yield program("random.gamma", lambda tf, a: tf.shape(tf.random.gamma([4], a)), array(3, low=0.5))
    yield program("random.poisson", lambda tf: tf.shape(tf.random.poisson([4], [1.0, 2.0])))


CASES = [*branches(), *loops(), *python(), *draws()]
