"""Cases of functions that make values."""

import ml_dtypes
import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

NAN, INF = float("nan"), float("inf")
ONCE = ("eager", "compiled")  # the programs have no placeholders
DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8", "bool"]


def value(K, x):
    """The value of a tensor or a variable."""
    return x + 0 if K.dtype(x) != "bool" else K.cast(x, "int32")


CASES = [
    # variables
    *(
        program(f"variable of {text}", lambda K, v=v: value(K, K.variable(v)), ways=ONCE)
        for text, v in {
            "a number": 1.5,
            "an int": 3,
            "a bool": True,
            "a list": [1, 2, 3],
            "a nested list": [[1.0, 2.0], [3.0, 4.0]],
            "an array": np.arange(6).reshape(2, 3),
            "a float64 array": np.ones((2, 1)),
            "an empty array": np.ones((0, 2)),
            "special values": np.array([NAN, INF, -INF]),
        }.items()
    ),
    *(
        program(f"variable {d}", lambda K, d=d: value(K, K.variable([0, 1, 1], d)), ways=ONCE)
        for d in DTYPES
        if d != "bool"
    ),
    program("variable of a variable", lambda K: value(K, K.variable(K.variable([1, 2]))), ways=ONCE),
    program("variable of a tensor", lambda K, x: value(K, K.variable(x)), array(2, 3), ways=("eager",)),
    program("variable dtype", lambda K: np.array(K.dtype(K.variable([1, 2]))), ways=("eager",)),
    program("variable int_shape", lambda K: np.array(K.int_shape(K.variable(np.ones((2, 3))))), ways=ONCE),
    program("variable of None", lambda K: K.variable(None), ways=ONCE, raises=True),
    program("variable of a word", lambda K: K.variable("a"), ways=ONCE, raises=True),
    program("variable of no rectangle", lambda K: K.variable([[1], [1, 2]]), ways=ONCE, raises=True),
    program("variable of no dtype", lambda K: K.variable([1.0], dtype="float31"), ways=ONCE, raises=True),
    program(
        "variable of another type's tensor",
        lambda K, x: value(K, K.variable(x)),
        ints(3),
        ways=("eager",),
        differs="a tensor of another dtype is cast",
        expected=lambda x: x.astype("float32"),
    ),
    # constants
    *(
        program(f"constant of {text}", lambda K, v=v: K.constant(v), ways=ONCE)
        for text, v in {
            "a number": 1.5,
            "an int": 3,
            "a bool": True,
            "a list": [1, 2, 3],
            "an array": np.arange(6).reshape(2, 3),
            "an empty array": np.ones((0, 2)),
            "special values": np.array([NAN, INF, -INF]),
        }.items()
    ),
    *(program(f"constant {d}", lambda K, d=d: K.constant([0, 1, 1], d), ways=ONCE) for d in DTYPES[:-1]),
    call("constant", [True, False], dtype="bool", ways=ONCE),
    call("constant", 7, shape=(2, 3), ways=ONCE),
    call("constant", [7], shape=[2, 3], ways=ONCE),
    call("constant", [1, 2, 3, 4], shape=(2, 2), ways=ONCE),
    call("constant", [[1, 2], [3, 4]], "int32", (4,), ways=ONCE),
    call("constant", 2.0, shape=(0, 3), ways=ONCE),
    call("constant", [2.0], shape=(), ways=ONCE),
    call("constant", 1, name="one", ways=ONCE),
    call("constant", [1, 2], shape=(3,), ways=ONCE, raises=True),
    call("constant", None, ways=ONCE, raises=True),
    call("constant", [1, 2], dtype="int31", ways=ONCE, raises=True),
    program("constant in a program", lambda K, x: x * K.constant([1, 2, 3]) + K.constant(1), array(2, 3)),
    # filled tensors
    *(
        case
        for name in ("zeros", "ones")
        for case in (
            *(
                program(f"{name} {shape}", lambda K, f=name, s=shape: value(K, getattr(K, f)(s)), ways=ONCE)
                for shape in ((2, 3), [2, 3], (), (1,), (3, 0), np.array([2, 2]))
            ),
            *(
                program(f"{name} {d}", lambda K, f=name, d=d: value(K, getattr(K, f)((2,), d)), ways=ONCE)
                for d in DTYPES
            ),
            program(f"{name} dtype", lambda K, f=name: np.array(K.dtype(getattr(K, f)((2,)))), ways=("eager",)),
            program(f"{name} name", lambda K, f=name: value(K, getattr(K, f)((2,), name="v")), ways=ONCE),
            program(
                f"{name} of a shape",
                lambda K, x, f=name: value(K, getattr(K, f)(K.shape(x))),
                array(2, 3),
                ways=("eager",),
            ),
            program(
                f"{name} of an unknown shape",
                lambda K, x, f=name: value(K, getattr(K, f)((K.shape(x)[0], 2))),
                array(3, 1),
                ways=("compiled", "symbolic"),
            ),
            call(name, (-1, 2), ways=ONCE, raises=True),
            call(
                name,
                (None, 2),
                ways=ONCE,
                raises=True,
            ),
            call(name, (1.5, 2), ways=ONCE, raises=True),
            call(name, (2,), "float31", ways=ONCE, raises=True),
            call(f"{name}_like", array(2, 3)),
            call(f"{name}_like", array()),
            call(f"{name}_like", array(0, 3)),
            call(f"{name}_like", ints(2, 2)),
            call(f"{name}_like", bools(3)),
            call(f"{name}_like", array(2, dtype="float16")),
            call(f"{name}_like", array(2, 3), dtype="int32"),
            call(f"{name}_like", array(2, 3), dtype="bool"),
            call(f"{name}_like", ints(2, 3), dtype="float64", name="like"),
            call(f"{name}_like", [1, 2]),
            call(f"{name}_like", np.array([NAN, INF], "float32")),
            call(f"{name}_like", array(2), dtype="float31", raises=True),
        )
    ),
    *(program(f"eye {n}", lambda K, n=n: value(K, K.eye(n)), ways=ONCE) for n in (0, 1, 3)),
    *(program(f"eye {d}", lambda K, d=d: value(K, K.eye(2, d)), ways=ONCE) for d in ("float64", "int32", "float16")),
    program("eye name", lambda K: value(K, K.eye(size=2, name="v")), ways=ONCE),
    call("eye", -1, ways=ONCE, raises=True),
    call("eye", 2.5, ways=ONCE, raises=True),
    call("eye", (2, 3), ways=ONCE, raises=True),
    # ranges
    *(
        call("arange", *args, ways=ONCE)
        for args in (
            (3,),
            (0,),
            (-5,),
            (-5.5,),
            (1.0,),
            (2, 8),
            (2, 8, 3),
            (8, 2, -3),
            (0, 0),
            (0, 10, 1.5),
            (0.5, 3.0),
            (3, 3, -1),
        )
    ),
    *(call("arange", 4, dtype=d, ways=ONCE) for d in ("float32", "float64", "int64", "float16", "int32")),
    call("arange", 0, 2, 0.5, dtype="float64", ways=ONCE),
    call("arange", np.int64(3), ways=ONCE),
    call("arange", start=1, stop=7, step=2, dtype="int32", ways=ONCE),
    program("arange of a dimension", lambda K, x: K.arange(K.shape(x)[1]), array(2, 3)),
    program("arange between tensors", lambda K, x: K.arange(1, K.shape(x)[0], 2), array(6, 1)),
    program("arange down to a tensor", lambda K, x: K.arange(K.shape(x)[0] - 1, -1, -1), array(4)),
    program("arange as floats", lambda K, x: K.arange(0, K.shape(x)[0], dtype="float32") * 0.5, array(4)),
    call("arange", 0, 1, 0, ways=ONCE, raises=True),
    call("arange", 3, dtype="int31", ways=ONCE, raises=True),
    call(
        "arange",
        5,
        2,
        ways=ONCE,
        differs="there are no numbers between a start and a stop that lies the other way",
        expected=lambda: np.zeros(0, "int32"),
    ),
    # casts
    *(call("cast", array(2, 3, low=-9, high=9), d) for d in ("float64", "float16", "int32", "int64", "int8", "bool")),
    *(call("cast", ints(2, 3, high=9), d) for d in ("float32", "float64", "int64", "uint8", "bool")),
    *(call("cast", bools(5), d) for d in ("float32", "int32", "float64")),
    call("cast", np.array([0, 0.5, NAN, -0.0], "float32"), "bool"),
    call("cast", array(), "int32"),
    call("cast", array(0, 2), "int32"),
    call("cast", array(2), "float32"),
    call("cast", array(3), np.float64),
    call("cast", array(3), np.dtype("int32")),
    call("cast", array(3), float),
    call("cast", 3, "float32", ways=ONCE),
    call("cast", [1, 2], "float32", ways=ONCE),
    call("cast", array(2), "float31", raises=True),
    call("cast", array(2), None, raises=True),
    call(
        "cast",
        array(3),
        ml_dtypes.bfloat16,
    ),
    *(call("cast_to_floatx", x) for x in (array(2, 3), ints(2, 3), bools(3), array(2, dtype="float64"), array(0))),
    call("cast_to_floatx", [1, 2], ways=ONCE),
    call("cast_to_floatx", 3, ways=ONCE),
    call("cast_to_floatx", "a", ways=ONCE, raises=True),
    *(
        call("identity", x, expected=lambda x: x, differs="tf.keras has no name for it")
        for x in (array(2, 3), ints(2), bools(3), array(0), array())
    ),
]
