"""Cases of NumPy's functions by TensorFlow's names, `tf.experimental.numpy`, on floats of 32 bits."""

from __future__ import annotations

import numpy as np

from dovetail.compat.tensorflow.names.math.numpy_names import ROWS
from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.parity import EAGER, call, program

INSIDE = {"arccosh": (1.1, 3), "arccos": (-0.9, 0.9), "arcsin": (-0.9, 0.9), "arctanh": (-0.9, 0.9)}
POSITIVE = {"log", "log10", "log1p", "log2", "sqrt", "reciprocal", "power", "mod", "remainder", "floor_divide"}
NUMBERS = {"bitwise_and", "bitwise_or", "bitwise_xor"}
TRUTHS = {"logical_not", "logical_and", "logical_or", "logical_xor"}


def names_of(parameters):
    return [word.partition(":")[0] for word in ROWS[parameters].split()]


def operand(name):
    if name in NUMBERS | TRUTHS:
        return ints(2, 3, high=2) if name in NUMBERS else np.array([True, False, True])
    low, high = INSIDE.get(name, (0.2, 3) if name in POSITIVE else (-2, 2))
    return array(2, 3, low=low, high=high)


def elementwise():
    for name in names_of("x"):
        yield call(f"experimental.numpy.{name}", operand(name))
    for name in (*names_of("x1:x x2:y"), "arctan2", "nextafter"):
        other = array(3, 2) if name == "matmul" else operand(name)
        yield call(f"experimental.numpy.{name}", operand(name), other)


def along_axes():
    for name in names_of("a:x axis keepdims"):
        x = np.array([[True, False], [True, True]]) if name in ("all", "any") else array(2, 3)
        yield call(f"experimental.numpy.{name}", x)
        yield call(f"experimental.numpy.{name}", x, axis=1, keepdims=True)
    for name in ("argmax", "argmin", "argsort", "count_nonzero", "expand_dims", "sort"):
        yield call(f"experimental.numpy.{name}", array(2, 3, gap=0.1), axis=1)
    yield call("experimental.numpy.squeeze", array(2, 1, 3), axis=1)
    yield call("experimental.numpy.average", array(2, 3), axis=0, weights=np.float32([1, 2]))
    yield call("experimental.numpy.diff", array(2, 4))
    for name in ("sum", "prod", "cumsum", "cumprod"):
        yield call(f"experimental.numpy.{name}", array(2, 3))
        yield call(f"experimental.numpy.{name}", array(2, 3), axis=1)
        for dtype in ("int32", "int8", "uint8"):
            yield call(f"experimental.numpy.{name}", np.array([100, 100, 100, 7, 3]).astype(dtype))
    yield call("experimental.numpy.sum", array(2, 3), axis=1, keepdims=True)
    yield call("experimental.numpy.cumsum", ints(2, 3), axis=-1, dtype="float32")
    yield call("experimental.numpy.trace", array(3, 3))
    yield call("experimental.numpy.trace", ints(2, 2, 2))
    yield call("experimental.numpy.diagonal", array(2, 3, 4))
    yield call("experimental.numpy.diagonal", array(2, 3, 4), offset=1, axis1=1, axis2=2)
    yield call("experimental.numpy.var", array(2, 3))
    yield call("experimental.numpy.var", array(2, 3), axis=1, keepdims=True)
    yield call("experimental.numpy.var", array(2, 3), axis=1, dtype="float64", ddof=1)
    yield call("experimental.numpy.angle", array(2, 3))
    yield call("experimental.numpy.nonzero", np.float32([[1, 0, 2], [0, 3, 4]]))


def shapes():
    x = array(2, 3)
    yield call("experimental.numpy.reshape", x, (3, 2))
    yield call("experimental.numpy.reshape", x, newshape=(-1,))
    yield call("experimental.numpy.ravel", x)
    yield call("experimental.numpy.repeat", x, 2, axis=1)
    yield call("experimental.numpy.tile", x, (2, 1))
    yield call("experimental.numpy.roll", x, 1, axis=0)
    yield call("experimental.numpy.moveaxis", array(2, 3, 4), 0, -1)
    yield call("experimental.numpy.swapaxes", x, 0, 1)
    yield call("experimental.numpy.transpose", x)
    yield call("experimental.numpy.take", x, np.array([1, 0]), axis=1)
    yield call("experimental.numpy.take_along_axis", x, np.array([[1], [0]]), axis=1)
    yield call("experimental.numpy.broadcast_to", array(3), (2, 3))
    yield call("experimental.numpy.pad", x, ((1, 0), (0, 2)), mode="constant", ways=EAGER)
    yield call("experimental.numpy.flip", x, axis=1)
    yield call("experimental.numpy.tril", array(3, 3))
    yield call("experimental.numpy.triu", array(3, 3), k=1)
    yield call("experimental.numpy.diag", array(3))
    yield call("experimental.numpy.clip", x, -0.5, 0.5)
    yield program("experimental.numpy.concatenate", lambda tf, a: tf.experimental.numpy.concatenate([a, a], axis=1), x)
    yield program("experimental.numpy.stack", lambda tf, a: tf.experimental.numpy.stack([a, a]), x)
    for name in ("hstack", "vstack"):
        for shape in ((3,), (2, 3), (2, 3, 2)):
            yield program(f"experimental.numpy.{name} ({shape})", joined(name), array(*shape))
    yield program("experimental.numpy.meshgrid", lambda tf, a: tf.experimental.numpy.meshgrid(a, a[:2]), array(3))
    yield program(
        "experimental.numpy.meshgrid (ij)",
        lambda tf, a: tf.experimental.numpy.meshgrid(a, a[:2], indexing="ij"),
        array(3),
    )
    yield program("experimental.numpy.split", lambda tf, a: tf.experimental.numpy.split(a, 3, axis=1), x)
    yield program("experimental.numpy.where", lambda tf, a: tf.experimental.numpy.where(a > 0, a, -a), x)


def joined(name):
    return lambda tf, a: getattr(tf.experimental.numpy, name)([a, a + 1.0])


def products():
    x, y = array(3), array(3)
    for name in names_of("a:x b:y"):
        yield call(f"experimental.numpy.{name}", x, y)
    yield call("experimental.numpy.tensordot", array(2, 3), array(3, 4), axes=1)
    yield call("experimental.numpy.einsum", "ij,jk->ik", array(2, 3), array(3, 4))
    yield call("experimental.numpy.isclose", x, x)
    yield call("experimental.numpy.allclose", x, y)


def new():
    for name in ("zeros", "ones"):
        yield call(f"experimental.numpy.{name}", (2, 3), ways=EAGER)
        yield call(f"experimental.numpy.{name}", (2,), dtype="float32", ways=EAGER)
        yield call(f"experimental.numpy.{name}_like", array(2, 3))
    yield call("experimental.numpy.full_like", array(2), 3.0)
    yield call("experimental.numpy.eye", 2, 3, k=1, ways=EAGER)
    yield call("experimental.numpy.tri", 3, ways=EAGER)
    yield call("experimental.numpy.identity", 3, ways=EAGER)
    yield call("experimental.numpy.array", array(2, 3), ndmin=3)
    for numbers in ((3,), (1, 7, 2), (0.0, 1.0, 0.25), (5, 0, -2)):
        yield call("experimental.numpy.arange", *numbers, ways=EAGER)
    yield call("experimental.numpy.arange", 3, dtype="float32", ways=EAGER)
    for value in (7, 2.5, np.float32(2.5), True):
        yield call("experimental.numpy.full", (2, 3), value, ways=EAGER)
    yield call("experimental.numpy.linspace", 0, 1, 5, ways=EAGER)
    yield call("experimental.numpy.linspace", 0.0, 1.0, num=4, endpoint=False, retstep=True, ways=EAGER)


CASES = [*elementwise(), *along_axes(), *shapes(), *products(), *new()]
