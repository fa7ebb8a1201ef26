"""Cases of mathematics: elementwise, reductions, norms, products, segments."""

import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.compat.tensorflow.parity import EAGER, call, program

NAN, INF = float("nan"), float("inf")
PAIR = array(2, 3), array(2, 3)
ODD = np.array([-INF, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, INF, NAN], "float32")

UNARY = {  # name → its argument
    **dict.fromkeys(
        [
            "abs",
            "square",
            "exp",
            "tanh",
            "sigmoid",
            "negative",
            "sign",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "asinh",
            "floor",
            "math.ceil",
            "round",
            "math.rint",
            "math.erf",
            "math.erfc",
            "math.expm1",
            "math.softplus",
            "math.log_sigmoid",
            "nn.tanh",
            "nn.sigmoid",
            "nn.softplus",
        ],
        array(2, 3),
    ),
    **dict.fromkeys(
        ["sqrt", "math.log", "math.rsqrt", "math.log1p", "math.lgamma", "math.digamma", "math.reciprocal"],
        array(2, 3, low=0.2),
    ),
    **dict.fromkeys(["asin", "acos", "atanh", "math.erfinv"], array(2, 3, low=-0.9, high=0.9)),
    "acosh": array(2, 3, low=1.1, high=3),
}
SPECIAL = [
    "abs",
    "sqrt",
    "exp",
    "tanh",
    "sigmoid",
    "sign",
    "floor",
    "math.ceil",
    "round",
    "math.is_nan",
    "math.is_inf",
    "math.is_finite",
    "math.log",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "truediv",
    "maximum",
    "minimum",
    "math.squared_difference",
    "atan2",
    "math.divide_no_nan",
]
COMPARISONS = ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"]
INTEGERS = [
    *("add", "subtract", "multiply", "divide", "compat.v1.div", "math.floordiv", "math.floormod", "maximum", "minimum")
]
REDUCTIONS = [
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_logsumexp",
    "math.reduce_std",
    "math.reduce_variance",
    "math.reduce_euclidean_norm",
]


def elementwise():
    yield from (call(name, x) for name, x in UNARY.items())
    yield from (call(name, ODD) for name in SPECIAL)
    yield from (call(name, array(2, 3, low=0.5, dtype="float64")) for name in ("sqrt", "exp", "math.log"))
    yield from (call(name, array(3, low=0.5, dtype="float16")) for name in ("sqrt", "tanh", "round"))
    yield from (call(name, ints(5, low=-4, high=5)) for name in ("abs", "square", "negative", "sign"))
    yield call("math.squared_difference", np.complex64([1 + 2j, 3 - 1j]), np.complex64([2j, 1]))
    yield from (call(name, *PAIR) for name in BINARY)
    yield from (call(name, array(2, 3), array(3)) for name in ("add", "maximum", "divide"))
    yield from (call(name, array(2, 3), 2.0) for name in ("add", "multiply", "pow", "maximum") if name != "pow")
    yield from (call(name, ints(5, high=4), ints(5, high=4)) for name in COMPARISONS)
    yield from (call(name, ints(6, low=-9, high=9), ints(6, low=1, high=4)) for name in INTEGERS)
    yield call("divide", ints(4, high=9, dtype="int8"), ints(4, low=1, high=9, dtype="int8"))
    yield call("math.divide_no_nan", array(3), np.float32([0, 1, 0]))
    yield call("pow", array(2, 3, low=0.5), array(2, 3))
    yield call("pow", ints(4, high=5), ints(4, high=4))
    yield from (call(f"{name}", bools(4), bools(4)) for name in ("logical_and", "logical_or", "math.logical_xor"))
    yield call("logical_not", bools(4))
    yield call("clip_by_value", array(2, 3), -0.5, 0.5)
    yield call("clip_by_value", array(2, 3), array(3, low=-1, high=-0.5), array(3, low=0.5, high=1))
    yield call("math.scalar_mul", 2.0, array(2, 3))
    yield call("complex", array(3), array(3))
    yield from (call(name, array(3, dtype="complex64")) for name in ("math.real", "math.imag", "math.conj", "abs"))
    yield call("add_n", [array(2, 3), array(2, 3), array(2, 3)])
    yield call("add_n", [array(2)])
    yield call("math.accumulate_n", [array(2), array(2)])
    yield call("add_n", [array(2), array(3)], raises=True, ways=EAGER)
    yield call("add", array(2), array(3), raises=True)
    yield program(
        "add (of arrays)", lambda tf, x: x + tf.add(x, np.float64([1, 2, 3])) * tf.multiply([1, 2, 3], x), array(3)
    )
    for name in ("log", "ceil", "expm1", "is_nan", "is_inf", "is_finite", "rsqrt", "floordiv", "mod", "logical_xor"):
        pair = name in ("floordiv", "mod", "logical_xor")
        x = bools(3) if name == "logical_xor" else array(3, low=0.5)
        yield call(f"compat.v1.{name}", *([x, x] if pair else [x]))


def reductions():
    for name in REDUCTIONS:
        yield call(name, array(2, 3, 4))
        yield call(name, array(2, 3, 4), axis=[0, -1], keepdims=True)
        yield call(name, array(2, 3), 1)
        yield call(name, array(2, 3), 2, raises=True)
    for name in ("reduce_any", "reduce_all"):
        yield call(name, bools(2, 3))
        yield call(name, bools(2, 3), axis=0)
    yield from (call(name, ints(2, 5, low=-9, high=9), 1) for name in ("reduce_sum", "reduce_mean", "reduce_max"))
    yield from (call(name, array(0, 3), 0) for name in ("reduce_sum", "reduce_prod", "reduce_max"))
    yield call("compat.v1.reduce_sum", array(2, 3), reduction_indices=1, keep_dims=True)
    yield call("compat.v1.reduce_mean", array(2, 3), 1, True, "name")
    for name in ("argmax", "argmin"):
        yield call(name, array(3, 4))
        yield call(name, array(3, 4), axis=-1, output_type="int32")
        yield call(f"compat.v1.{name}", array(3, 4), dimension=1)
        yield call(name, array(3), 2, raises=True)
    for name in ("cumsum", "math.cumprod"):
        yield call(name, array(3, 4))
        yield call(name, array(3, 4), axis=1, exclusive=True, reverse=True)
    yield call("math.cumulative_logsumexp", array(3, 4), axis=1)
    yield call("math.count_nonzero", ints(3, 4, high=2), axis=1)
    yield call("compat.v1.count_nonzero", ints(3, 4, high=2), keep_dims=True)
    yield call("math.approx_max_k", array(2, 5), 2)
    yield call("math.bincount", ints(3, 4, high=4), axis=-1)
    yield call("math.bincount", ints(3, 4, high=4), array(3, 4), axis=-1, minlength=6)
    yield call("math.bincount", ints(3, 4, high=4), axis=-1, binary_output=True, maxlength=3)
    yield call("math.bincount", ints(9, high=4), binary_output=True)
    yield call("math.bincount", ints(3, 4, high=4), axis=0)
    yield call("math.bincount", ints(9, high=4), minlength=6)
    yield call("math.bincount", ints(9, high=4), maxlength=2)
    yield call("math.bincount", ints(9, high=4), array(9))


def norms():
    yield call("norm", array(2, 3))
    for ord in ("euclidean", 1, 2, np.inf, 3):
        yield call("norm", array(2, 3), ord, axis=1)
        yield call("norm", array(2, 3), ord, keepdims=True)
    for ord in ("fro", 1, np.inf):
        yield call("norm", array(2, 3, 4), ord, axis=[1, 2])
    yield call("linalg.norm", array(2, 3), "fro", axis=1, raises=True)
    yield call("clip_by_norm", array(2, 3), 1.0)
    yield call("clip_by_norm", array(2, 3), 1.0, axes=[1])
    yield call("clip_by_norm", np.zeros((2, 3), "float32"), 1.0)
    yield call("linalg.global_norm", [array(2, 3), array(4)])
    yield call("clip_by_global_norm", [array(2, 3), array(4)], 1.0)
    yield call("clip_by_global_norm", [array(2, 3), array(4)], 100.0)
    yield call("clip_by_global_norm", [np.float32([INF, 1])], 1.0)
    yield program("clip_by_global_norm (None)", lambda tf, x: tf.clip_by_global_norm([x, None], 1.0)[0][0], array(3))
    for name in ("math.l2_normalize", "compat.v1.nn.l2_normalize"):
        yield call(name, array(2, 3))
    yield call("math.l2_normalize", array(2, 3), axis=1)
    yield call("nn.l2_normalize", array(2, 3), 0, 1e-6)
    yield call("compat.v1.nn.l2_normalize", array(2, 3), dim=1)


def counts():
    yield program("math.bincount (a computed length)", lambda tf, x: tf.math.bincount(x, minlength=tf.size(x)), ints(5))


def products():
    yield call("matmul", array(2, 3), array(3, 4))
    yield call("matmul", array(5, 3, 2), array(5, 3, 4), transpose_a=True)
    yield call("matmul", array(2, 3), array(4, 3), transpose_b=True)
    yield call("matmul", array(3, 2, dtype="complex64"), array(3, 4, dtype="complex64"), adjoint_a=True)
    yield call("matmul", array(2, 3), array(2, 3), raises=True)
    yield call("matmul", array(3), array(3, 2), raises=True)
    yield call("tensordot", array(2, 3, 4), array(4, 3, 5), [[1, 2], [1, 0]])
    yield call("tensordot", array(2, 3), array(3, 4), 1)
    yield program("tensordot (a pair of axes)", lambda tf, x, y: tf.tensordot(x, y, axes=(1, 0)), array(2, 3), array(3))
    yield call("einsum", "bij,bjk->bik", array(2, 3, 4), array(2, 4, 5))
    yield call("einsum", "ii->i", array(3, 3))
    yield call("math.top_k", array(2, 5, gap=0.1), 2)
    yield call("nn.top_k", array(5, gap=0.1))
    yield call("compat.v1.nn.top_k", array(5, gap=0.1), k=3, sorted=True)
    yield program("nn.top_k (a tensor)", lambda tf, x: tf.nn.top_k(x, tf.shape(x)[1] - 1), array(2, 5, gap=0.1))
    yield program("nn.top_k (equal elements)", lambda tf, x: tf.nn.top_k(x, tf.shape(x)[0]), ints(6, high=3))


def segments():
    numbers, ascending = np.array([0, 2, 2, 0, -1]), np.array([0, 0, 1, 3, 3], "int32")
    for kind in ("sum", "mean", "max", "min", "prod", "sqrt_n"):
        yield call(f"math.unsorted_segment_{kind}", array(5, 2, gap=0.1), numbers, 4)
        if kind != "sqrt_n":
            yield call(f"math.segment_{kind}", array(5, 2, gap=0.1), ascending)
            yield call(f"compat.v1.segment_{kind}", ints(4, high=5), np.array([0, 0, 2, 2]))
    for kind in ("sum", "mean", "max"):
        yield call(f"compat.v1.unsorted_segment_{kind}", ints(5, high=5), numbers, 3)
    yield call("math.unsorted_segment_mean", array(2, 2, 3), np.array([[0, 1], [1, 1]], "int32"), 3)
    yield call("math.unsorted_segment_max", np.float32([2, 2, 1, 2]), np.array([0, 0, 0, 1]), 2)
    nothing, none_of_them = np.zeros((0, 2), "float32"), np.array([-1, -1, -1, -1, -1])
    for kind in ("sum", "mean", "max", "min", "prod", "sqrt_n"):
        yield call(f"math.unsorted_segment_{kind}", nothing, numbers[:0], 3)
        yield call(f"math.unsorted_segment_{kind}", array(5, 2, gap=0.1), none_of_them, 0)
        yield segment_gradient(kind)
    for kind in ("sum", "max", "mean"):
        yield call(f"math.segment_{kind}", nothing, ascending[:0], ways=EAGER)
    for kind, dtype in (("max", "int64"), ("min", "int64"), ("max", "int32"), ("mean", "uint8"), ("mean", "int16")):
        yield call(f"math.unsorted_segment_{kind}", np.array([7, 2, 3, 5], dtype), np.array([0, 0, 2, -1]), 4)
    yield call("math.segment_min", np.array([7, 2, -3], "int64"), np.array([0, 0, 2]))
    yield program(
        "math.unsorted_segment_mean (as many segments as rows)",
        lambda tf, x, ids: tf.math.unsorted_segment_mean(x, ids, tf.shape(x)[0]),
        array(5, 2),
        numbers,
    )


def segment_gradient(kind):
    """A gradient of a reduction with a zero, equal numbers, an empty segment, and an infinity left out."""

    def run(tf, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = getattr(tf.math, f"unsorted_segment_{kind}")(x, [0, 0, 0, 2, 2, 3, -1], 4)
            loss = tf.reduce_sum(found[:1] ** 2) + tf.reduce_sum(found[2:] ** 2)
        return tape.gradient(loss, x)

    data = np.float32([2, 2, 0.5, 3, 0, 4, np.inf])
    return program(f"math.unsorted_segment_{kind} (gradient)", run, data, ways=EAGER)


CASES = [*elementwise(), *reductions(), *norms(), *counts(), *products(), *segments()]
