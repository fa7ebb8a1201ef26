"""Cases of reductions."""

import numpy as np
import scipy.special

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

NAN, INF = float("nan"), float("inf")
NUMBERS = ["max", "min", "sum", "prod", "mean", "var", "std"]
TRUTHS = ["any", "all"]
AXES = [0, 1, 2, -1, [0, 2], (1, -1), []]


def to_float(f):
    return lambda x: np.asarray(f(x.astype("float32")), "float32")


CASES = [
    *(
        case
        for name in NUMBERS
        for case in (
            call(name, array(2, 3)),
            *(call(name, array(2, 3, 4), axis=axis) for axis in AXES),
            call(name, array(2, 3, 4), axis=[0, -1], keepdims=True),
            call(name, array(2, 3), 1, True),
            call(name, array(2, 3), keepdims=True),
            call(name, array()),
            call(name, array(2, 3), axis=np.int64(1)),
            program(f"{name} along an array", lambda K, x, f=name: getattr(K, f)(x, np.array([0, 1])), array(2, 3, 2)),
            call(name, array(2, 3, dtype="float64"), axis=0),
            call(name, array(4, dtype="float16"), axis=0),
            call(name, array(2, 0), axis=1),
            call(name, array(2, 0), axis=0),
            call(name, array(0, 3)),
            call(name, np.array([[1, NAN], [INF, 2], [INF, -INF]], "float32"), axis=1),
            call(name, array(2, 3), axis=2, raises=True),
            call(name, array(2, 3), axis=[0, 0], raises=True),
            call(name, array(2, 3), axis=[1, -1], raises=True),
            call(name, array(), axis=0, raises=True),
            call(name, array(2, 3), axis=1.0, raises=True),
        )
    ),
    *(
        case
        for name in ("max", "min", "sum", "prod", "mean")
        for case in (
            call(name, ints(2, 3, low=-9, high=9), axis=1),
            call(name, ints(2, 3, low=-9, high=9, dtype="int64")),
            call(name, ints(2, 0), axis=0),
        )
    ),
    *(call(name, ints(2, 0), axis=1) for name in ("max", "min", "sum", "prod")),
    *(call(name, [1.0, 2.0, 4.0]) for name in ("max", "min", "sum", "prod")),
    *(
        program(f"{name} of a list of tensors", lambda K, x, y, f=name: getattr(K, f)([x, y, 1.0]), array(), array())
        for name in ("max", "sum")
    ),
    program(
        "sum mean of nested lists", lambda K, x, y: K.sum([[x, y], [y, 1.0]], axis=1) / K.sum([x, y]), array(), array()
    ),
    call("mean", np.array([[7, 0, 1], [-7, 0, -1], [2, 2, 4]], "int32"), axis=1),
    call("mean", np.array([[7, 0, 1], [-7, 0, -1]], "int32"), axis=1, keepdims=True),
    call("mean", np.array([2**30, 2**29, 5], "int64")),
    *(call(name, bools(2, 3), axis=1) for name in ("mean", "var", "std")),
    *(
        call(name, np.array([1, 2, 6], "int32"), differs="integers become floats", expected=to_float(getattr(np, name)))
        for name in ("var", "std")
    ),
    *(
        call(
            name,
            [1.0, 2.0, 6.0],
            differs="lists are taken",
            expected=lambda f=name: getattr(np, f)(np.float32([1, 2, 6])),
        )
        for name in ("mean", "var", "std")
    ),
    *(
        call(
            name, bools(2, 3), differs="bools are numbers", expected=lambda x, f=name: getattr(np, f)(x, dtype="int32")
        )
        for name in ("sum", "prod")
    ),
    # truth
    *(
        case
        for name in TRUTHS
        for case in (
            call(name, bools(2, 3)),
            *(call(name, bools(2, 3, 2), axis=axis) for axis in (0, -1, [0, 2], [])),
            call(name, bools(2, 3), axis=1, keepdims=True),
            call(name, ints(2, 3, low=-1, high=2), axis=1),
            call(name, np.array([[0, NAN], [0, 0.5], [-0.0, 0]], "float32"), axis=1),
            call(name, bools()),
            call(name, array(2, 0), axis=1),
            call(name, [0, 1]),
            call(name, bools(2, 3), axis=2, raises=True),
            call(name, bools(2, 3), axis=[0, 0], raises=True),
        )
    ),
    # positions
    *(
        case
        for name in ("argmax", "argmin")
        for case in (
            call(name, array(2, 3, gap=0.1)),
            *(call(name, array(2, 3, 4, gap=0.1), axis=axis) for axis in (0, 1, -1, -3)),
            call(name, array(2, 3, gap=0.1), axis=None),
            call(name, np.array([1, 3, 3, 1, 3, 1], "float32")),
            call(name, ints(2, 5, low=-3, high=3)),
            call(name, ints(5, high=3, dtype="uint8")),
            call(name, array(4, dtype="float64")),
            call(name, array(4, dtype="float16", gap=0.1)),
            call(name, np.array([[-INF, INF], [INF, -INF]], "float32")),
            call(name, array(0, 2)),
            call(name, [[1, 2], [3, 0]]),
            call(name, array(2, 0), raises=True),
            call(name, array(2, 3), axis=2, raises=True),
            call(name, array(), raises=True),
            call(
                name,
                np.array([1, NAN, 3], "float32"),
                differs="NaN counts",
                expected=lambda x: np.array(1),
            ),
        )
    ),
    # logsumexp, a name that tf.keras lacks
    *(
        call(
            "logsumexp",
            x,
            axis=axis,
            keepdims=keepdims,
            differs="tf.keras has no name for it",
            expected=lambda x, a=axis, k=keepdims: np.asarray(scipy.special.logsumexp(x, axis=a, keepdims=k), x.dtype),
        )
        for x in (array(2, 3, 4), array(2, 3, 4, dtype="float64"), np.full((1, 2, 1), 1000, "float32"))
        for axis, keepdims in ((None, False), (1, False), ((0, 2), True), (-1, True))
    ),
    call(
        "logsumexp",
        np.array([[-INF, -INF], [INF, 1], [NAN, 1]], "float32"),
        axis=1,
        differs="tf.keras has no name for it",
        expected=lambda x: np.array([-INF, INF, NAN], "float32"),
    ),
    call(
        "logsumexp",
        array(2, 0),
        axis=1,
        differs="tf.keras has no name for it",
        expected=lambda x: np.full(2, -INF, "float32"),
    ),
    call(
        "logsumexp",
        np.array([0, 0], "int32"),
        differs="tf.keras has no name for it",
        expected=lambda x: np.log(np.float32(2)),
    ),
    program("sum mean max in one", lambda K, x: K.sum(x - K.max(x, 1, True), 1) / K.mean(K.abs(x)), array(3, 4)),
    program(
        "mean sum of an unknown batch", lambda K, x: K.sum(x, [1, 2]) / K.cast(K.shape(x)[0], "float32"), array(3, 2, 2)
    ),
]
