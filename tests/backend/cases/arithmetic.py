"""Cases of arithmetic."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

NAN, INF = float("nan"), float("inf")
SPECIAL = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0, 0.5, 1.5, 2.5, 3.0], "float32")
TIES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 2.4], "float32")
NEGATIVE = np.array([-1.0, -4.0, NAN, INF, -INF, 0.0], "float32")

FLOAT_ONLY = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos}
ELEMENTWISE = ["square", "abs", "sqrt", "exp", "log", "round", "sign", "sin", "cos"]
INTEGERS = ["square", "abs", "round", "sign"]
BROADCASTS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((0, 3), (3,))]

CASES = [
    *(call(name, array(*shape, low=0.1)) for name in ELEMENTWISE for shape in ((2, 3), (), (0, 2), (2, 1, 3, 2))),
    *(call(name, array(5, low=0.1, dtype=dtype)) for name in ELEMENTWISE for dtype in ("float64", "float16")),
    *(call(name, SPECIAL) for name in ELEMENTWISE if name not in ("sin", "cos")),
    *(call(name, array(6, low=-50, high=50)) for name in ("sin", "cos", "round", "exp")),
    *(call(name, ints(2, 3, low=-9, high=9, dtype=dtype)) for name in INTEGERS for dtype in ("int32", "int64", "int8")),
    *(call(name, [0.5, 2.0]) for name in ELEMENTWISE if name != "sqrt"),
    *(
        call(
            name,
            ints(4, low=1, high=9),
            differs="integers become floats",
            expected=lambda x, f=f: f(x.astype("float32")),
        )
        for name, f in (FLOAT_ONLY | {"sqrt": np.sqrt}).items()
    ),
    call("sqrt", NEGATIVE),
    call("sqrt", array(3, 3, low=-4, high=4)),
    call("log", NEGATIVE),
    call("round", TIES),
    call("round", TIES.astype("float64")),
    call(
        "sqrt",
        [4.0, -4.0],
        differs="lists are taken",
        expected=lambda: np.array([2, 0], "float32"),
    ),
    # powers
    *(call("pow", array(2, 3, low=0.1), a) for a in (2, 3, 0, -1, 0.5, 2.0, -1.5)),
    *(call("pow", array(3, 2), a) for a in (2, 3, 0, -2)),
    *(call("pow", ints(2, 3, low=-4, high=5), a) for a in (2, 3, 0)),
    *(call("pow", array(2, 3, low=0.1), array(*shape)) for shape in ((2, 3), (3,), (2, 1), ())),
    call("pow", 2.0, array(3)),
    call("pow", [2.0, 3.0], 2),
    call("pow", array(3, low=0.1, dtype="float64"), 2),
    call("pow", array(3, low=0.1, dtype="float16"), 3),
    call("pow", np.array([0, 0, 0, -8, NAN, INF], "float32"), np.array([0, 2, 0.5, 1 / 3, 0, -1], "float32")),
    call("pow", array(2, 3, low=0.1), array(2), raises=True),
    call(
        "pow",
        np.array([1, 2, -3], "int32"),
        -1,
        differs="a negative exponent of an integer gives a truncated integer",
        expected=lambda x: np.array([1, 0, 0], "int32"),
    ),
    call(
        "pow",
        np.array([4, 9], "int32"),
        0.5,
        differs="tensors of two dtypes are promoted",
        expected=lambda x: np.array([2, 3], "float32"),
    ),
    # bounds
    call("clip", array(2, 3), -1.0, 0.5),
    call("clip", array(2, 3), -1, 1),
    call("clip", array(2, 3), 1.0, -1.0),
    call("clip", array(2, 3), None, 0.5),
    call("clip", array(2, 3), -0.5, None),
    call("clip", array(2, 3), None, None),
    call("clip", array(2, 3), array(3, low=-1, high=0), array(3, low=0, high=1)),
    call("clip", array(2, 3), array(2, 1, low=-1, high=0), 0.25),
    call("clip", array(2, 3), array(), array()),
    call("clip", ints(6, low=-9, high=9), -2, 3),
    call("clip", ints(6, low=-9, high=9, dtype="int64"), 3, -2),
    call("clip", array(5, dtype="float16"), -1, 1),
    call("clip", array(5, dtype="float64"), -1e-3, 1e-3),
    call("clip", SPECIAL, -1.0, 1.0),
    call("clip", SPECIAL, -INF, INF),
    call("clip", array(0, 3), -1.0, 1.0),
    call("clip", [1.0, 5.0], 2, 4),
    call("clip", array(2, 3), array(2), 5.0, raises=True),
    call(
        "clip",
        np.array([1, 5], "int32"),
        1.5,
        4,
        differs="integers may have floats as bounds",
        expected=lambda x: np.array([1.5, 4], "float32"),
    ),
    call(
        "clip",
        np.array([1, 5], "int32"),
        None,
        4,
        differs="integers may lack a bound",
        expected=lambda x: np.array([1, 4], "int32"),
    ),
    # the larger and the smaller
    *(
        case
        for name in ("maximum", "minimum")
        for case in (
            *(call(name, array(*x), array(*y)) for x, y in BROADCASTS),
            call(name, array(2, 3), 0.0),
            call(name, 0.0, array(2, 3)),
            call(name, array(2, 3), 1),
            call(name, ints(2, 3, low=-9, high=9), ints(3, low=-9, high=9)),
            call(name, ints(3, low=-9, high=9), 2),
            call(name, array(3, dtype="float64"), array(3, dtype="float64")),
            call(name, array(3, dtype="float16"), 0.5),
            call(name, array(3), [0.0, 1.0, -1.0]),
            call(name, np.array([NAN, INF, -INF, NAN], "float32"), np.array([0, 0, 0, NAN], "float32")),
            call(name, array(2, 3), array(2), raises=True),
            call(
                name,
                array(3),
                ints(3),
                differs="two dtypes are promoted",
                expected=lambda x, y, f=name: getattr(np, f)(x, y.astype("float32")),
            ),
        )
    ),
    # along an axis
    *(
        case
        for name in ("cumsum", "cumprod")
        for case in (
            call(name, array(2, 3)),
            *(call(name, array(2, 3, 2), axis=axis) for axis in (0, 1, 2, -1, -3)),
            call(name, array(4, dtype="float64")),
            call(name, ints(2, 4, low=-3, high=4), axis=1),
            call(name, array(2, 0), axis=1),
            call(name, array(0, 2)),
            call(name, np.array([1, NAN, 2], "float32")),
            call(name, np.array([1, INF, -INF], "float32")),
            call(name, [1.0, 2.0, 3.0]),
            call(name, array(2, 3), axis=2, raises=True),
            call(name, array(2, 3), axis=-3, raises=True),
            call(name, array(), raises=True),
        )
    ),
    *(call("l2_normalize", array(2, 3, 2), axis=axis) for axis in (None, 0, 1, -1, [0, 1], (0, -1))),
    call("l2_normalize", array(3, 4)),
    call("l2_normalize", array(4, dtype="float64"), axis=0),
    call("l2_normalize", array(4, low=0.1, dtype="float16"), axis=-1, tolerance=2),
    call("l2_normalize", np.zeros((2, 3), "float32"), axis=1),
    call("l2_normalize", np.array([[1e-8, 0], [NAN, 1], [INF, 1]], "float32"), axis=1),
    call("l2_normalize", array(2, 0), axis=1),
    call("l2_normalize", [3.0, 4.0]),
    call("l2_normalize", array(2, 3), axis=2, raises=True),
    call(
        "l2_normalize",
        np.array([3, 4], "int32"),
        differs="integers become floats",
        expected=lambda x: np.array([0.6, 0.8], "float32"),
    ),
    program("square exp in one expression", lambda K, x: K.square(x) + K.exp(-x) / (1 + K.abs(x)), array(2, 3)),
    program(
        "clip log as losses have them",
        lambda K, p: -K.log(K.clip(p, K.epsilon(), 1 - K.epsilon())),
        array(4, low=0, high=1),
    ),
]
