"""Cases of random numbers: their shapes, dtypes and errors, and the values that are certain."""

import numpy as np

from dovetail.ops.samples import array
from tests.backend.parity import program

KNOWN = ("eager", "compiled")
EAGER = ("eager",)
X = array(2, 3)
FLOATS = ("float16", "float32", "float64")
DISTRIBUTIONS = ("random_normal", "random_uniform", "truncated_normal", "random_bernoulli", "random_binomial")


def drawn(function, what, *arrays, ways=("eager", "compiled", "symbolic"), **options):
    """A case that compares only shape and dtype; the arrays become the arguments of the call.

    Args:
        what: (K, *arrays) → positional and named arguments.
    """

    def run(K, *given):
        args, named = what(K, *given)
        return K.zeros_like(getattr(K, function)(*args, **named))

    return program(options.pop("name"), run, *arrays, ways=ways, **options)


def of_all(name, what, *arrays, functions=DISTRIBUTIONS, **options):
    return [drawn(f, what, *arrays, name=f"{f} {name}", **options) for f in functions]


SHAPES = [
    *of_all("static", lambda K: (((2, 3),), {})),
    *of_all("list", lambda K: (([4],), {})),
    *of_all("scalar", lambda K: (((),), {})),
    *of_all("empty", lambda K: (((0, 3),), {})),
    *of_all("deep", lambda K: (((2, 1, 3, 2),), {})),
    *of_all("array", lambda K: ((np.array([2, 3]),), {})),
    *of_all("of a tensor", lambda K, x: ((K.shape(x),), {}), X),
    *of_all("batch of a tensor", lambda K, x: (((K.shape(x)[0], 5),), {}), X),
    *of_all("seed", lambda K: (((3,),), {"seed": 42})),
    *of_all("negative seed", lambda K: (((3,),), {"seed": -5})),
    *of_all("large seed", lambda K: (((3,),), {"seed": 2**40})),
    *of_all("float seed", lambda K: (((3,),), {"seed": 1.5})),
    *(case for d in FLOATS for case in of_all(d, lambda K, d=d: (((3,),), {"dtype": d}))),
    *of_all("dtype of NumPy", lambda K: (((3,),), {"dtype": np.float64})),
    *of_all("no length", lambda K: ((3,), {}), raises=True),
    *of_all("unknown dimension", lambda K: (((2, None),), {}), raises=True),
    *of_all("negative dimension", lambda K: (((-1, 2),), {}), raises=True),
    *of_all("float dimension", lambda K: (((2.5, 2),), {}), raises=True),
    *of_all("no shape", lambda K: ((None,), {}), raises=True),
    *of_all("words", lambda K: (("ab",), {}), raises=True),
    *of_all("no such dtype", lambda K: (((2,),), {"dtype": "float33"}), raises=True),
    *of_all("seed of words", lambda K: (((2,),), {"seed": "a"}), raises=True),
]

NORMALS = ("random_normal", "truncated_normal")
BERNOULLIS = ("random_bernoulli", "random_binomial")
BOTH = ("random_uniform_variable", "random_normal_variable")
LARGER = "parameters of more elements than the shape are refused; TensorFlow uses its numbers several times."


def refuses(K, function, *args, **options):
    """Zero, if a call raises a ValueError."""
    try:
        getattr(K, function)(*args, **options)
    except ValueError:
        return K.constant(0.0)
    return K.constant(1.0)


def refused(name, function, *args, differs, **options):
    return program(
        f"{function} {name}",
        lambda K: refuses(K, function, *args, **options),
        ways=EAGER,
        expected=lambda: np.float32(0),
        differs=differs,
    )


PARAMETERS = [
    *of_all("ints", lambda K: (((3,), 1, 2), {}), functions=("random_normal", "truncated_normal", "random_uniform")),
    *of_all("list of means", lambda K: (((3,), [1.0, 2.0, 3.0], 2.0), {}), functions=NORMALS),
    *of_all("tensors", lambda K, m, s: (((2, 3), m, s), {}), array(3), array(2, 1, low=1), functions=NORMALS),
    *of_all("negative stddev", lambda K: (((3,), 0.0, -1.0), {}), functions=NORMALS),
    program("random_normal no stddev", lambda K, m: K.random_normal((2, 3), m, 0.0), array(3)),
    program("truncated_normal no stddev", lambda K, m: K.truncated_normal((2, 3), m, 0.0), array(3)),
    *(
        refused("more means", function, (3,), np.zeros((2, 3), "float32"), 1.0, differs=LARGER)
        for function in (*NORMALS, "random_uniform")
    ),
    *(
        drawn(
            function,
            lambda K, m: (((3,), m), {}),
            np.array([1, 2, 3]),
            name=f"{function} means of another dtype",
            expected=lambda m: np.zeros(3, "float32"),
            differs="parameters of another dtype are cast.",
        )
        for function in NORMALS
    ),
    *of_all("of ints", lambda K: (((3,),), {"dtype": "int32"}), functions=NORMALS, raises=True),
    *of_all("of bools", lambda K: (((3,),), {"dtype": "bool"}), functions=NORMALS, raises=True),
    # uniform
    *(
        drawn("random_uniform", lambda K, d=d: (((3,), 0, 5), {"dtype": d}), name=f"random_uniform {d}")
        for d in ("int32", "int64")
    ),
    drawn(
        "random_uniform",
        lambda K, a, b: (((2, 3), a, b), {}),
        array(3),
        array(2, 1, low=3, high=4),
        name="random_uniform tensors",
    ),
    drawn("random_uniform", lambda K: (((3,), 5.0, 0.0), {}), name="random_uniform from above"),
    drawn("random_uniform", lambda K: (((3,), 0.0, None), {}), name="random_uniform to None"),
    program("random_uniform one number", lambda K: K.random_uniform((3,), 4.0, 4.0)),
    program("random_uniform one integer", lambda K: K.random_uniform((3,), 4, 5, "int32")),
    program("random_uniform one integer, int64", lambda K: K.random_uniform((2, 2), -(2**40), 1 - 2**40, "int64")),
    program(
        "random_uniform uint8",
        lambda K: K.random_uniform((3,), 200, 201, "uint8"),
        expected=lambda: np.full(3, 200, "uint8"),
        differs="all integer dtypes are offered, and the range of integers may be given by tensors that broadcast.",
    ),
    program(
        "random_uniform ints between tensors",
        lambda K, a: K.random_uniform((2, 3), a, a + 1, "int32"),
        np.array([1, 5, -2], "int32"),
        expected=lambda a: np.array([[1, 5, -2]] * 2, "int32"),
        differs="all integer dtypes are offered, and the range of integers may be given by tensors that broadcast.",
    ),
    *(
        drawn(
            "random_uniform", lambda K, a=a: (((3,), *a), {"dtype": "int32"}), name=f"random_uniform {why}", raises=True
        )
        for why, a in {
            "ints by default": (),
            "ints between floats": (0.0, 5.0),
            "ints to None": (0, None),
            "no int": (5, 5),
            "ints from above": (5, 0),
        }.items()
    ),
    drawn("random_uniform", lambda K: (((3,),), {"dtype": "bool"}), name="random_uniform of bools", raises=True),
    # one or zero
    *(
        program(f"{f} p={p}", lambda K, f=f, p=p: getattr(K, f)((2, 3), p))
        for f in BERNOULLIS
        for p in (0.0, 1.0, 1, 2.0, -1.0, np.nan, True)
    ),
    *(
        program(f"{f} of chances", lambda K, p, f=f: getattr(K, f)((2, 3), p), np.array([1, 1, 1], "float32"))
        for f in BERNOULLIS
    ),
    *of_all("tensor", lambda K, p: (((2, 3), p), {}), array(2, 1, low=0, high=1), functions=BERNOULLIS),
    *(
        program(
            f"{f} {d}",
            lambda K, f=f, d=d: getattr(K, f)((2,), 1.0, d),
            expected=lambda d=d: np.ones(2, d),
            differs="all dtypes are offered.",
        )
        for f in BERNOULLIS
        for d in ("int32", "bool")
    ),
    *(
        refused(
            "more chances",
            f,
            (3,),
            np.zeros((2, 3), "float32"),
            differs=LARGER,
        )
        for f in BERNOULLIS
    ),
    *of_all("no chance", lambda K: (((3,), None), {}), functions=BERNOULLIS, raises=True),
    *of_all("chance of words", lambda K: (((3,), "a"), {}), functions=BERNOULLIS, raises=True),
]


# -- variables --------------------------------------------------------------------------------------------------------


def variable(name, function, *args, **options):
    case_options = {k: options.pop(k) for k in ("raises",) if k in options}

    def run(K):
        return K.zeros_like(K.get_value(getattr(K, function)(*args, **options)))

    return program(f"{function} {name}", run, ways=EAGER, **case_options)


VARIABLES = [
    *(variable("shape", f, (2, 3), 0.0, 1.0) for f in BOTH),
    *(variable("scalar", f, (), 0.0, 1.0) for f in BOTH),
    *(variable(d, f, (2, 3), 0, 1, dtype=d) for f in BOTH for d in FLOATS),
    *(variable(d, "random_uniform_variable", (2, 3), 0, 5, dtype=d) for d in ("int32", "int64")),
    *(variable("seed", f, (2,), 0.0, 1.0, seed=3) for f in BOTH),
    *(variable("one number", f, (2,), 4.0, 4.0) for f in ("random_uniform_variable",)),
    program(
        "random_normal_variable no scale", lambda K: K.get_value(K.random_normal_variable((2,), 3.0, 0.0)), ways=EAGER
    ),
    *(program(f"{f} name", lambda K, f=f: getattr(K, f)((2,), 0, 1, name="k").name[:1], ways=EAGER) for f in BOTH),
    *(variable("of bools", f, (2,), 0, 1, dtype="bool", raises=True) for f in BOTH),
    variable("of ints", "random_normal_variable", (2,), 0, 1, dtype="int32", raises=True),
    *(variable("no such dtype", f, (2,), 0, 1, dtype="x", raises=True) for f in BOTH),
    *(variable("unknown dimension", f, (None,), 0, 1, raises=True) for f in BOTH),
    *(variable("no length", f, 3, 0, 1, raises=True) for f in BOTH),
]


# -- dropout ----------------------------------------------------------------------------------------------------------


def dropped(name, *args, array_=X, ways=("eager", "compiled", "symbolic"), **options):
    case_options = {k: options.pop(k) for k in ("raises", "differs", "expected") if k in options}

    def run(K, x):
        return K.zeros_like(K.dropout(x, *args, **options))

    return program(f"dropout {name}", run, array_, ways=ways, **case_options)


def scaled(K, x):
    """Whether each element is either 0 or scaled, without saying which."""
    y = K.dropout(x, 0.75)
    return K.all(K.less(K.abs(y * (y - 4.0 * x)), 1e-5)), K.zeros_like(y)


def whole_columns(K, x):
    kept = K.cast(K.not_equal(K.dropout(x, 0.5, (1, 3)), 0.0), "float32")
    return K.max(kept, 0) - K.min(kept, 0)


DROPOUT = [
    *(dropped(f"level={level!r}", level) for level in (0, 0.0, 0.5, 0.999, np.float32(0.5), np.float64(0.25))),
    *(program(f"dropout nothing, {level!r}", lambda K, x, p=level: K.dropout(x, p), X) for level in (0, 0.0)),
    *(dropped(d, 0.5, array_=array(2, 3, dtype=d)) for d in FLOATS),
    *(dropped(f"noise_shape={n}", 0.5, n) for n in [(1, 3), (2, 1), (None, 1), (3,), (2, 3), (1, 1), [None, 3], ()]),
    dropped("more noise", 0.5, (4, 2, 3)),
    dropped("seed", 0.5, seed=7),
    dropped("scalar", 0.5, array_=array()),
    dropped("empty", 0.5, array_=array(0, 3)),
    program("dropout level of a tensor", lambda K, x, p: K.zeros_like(K.dropout(x, p)), X, np.array(0.5, "float32")),
    program("dropout all, by a tensor", lambda K, x, p: K.dropout(x, p), array(2, 3, low=1), np.array(2.0, "float32")),
    program("dropout noise shape of a tensor", lambda K, x: K.zeros_like(K.dropout(x, 0.5, (K.shape(x)[0], 1))), X),
    program("dropout noise shape is a tensor", lambda K, x: K.zeros_like(K.dropout(x, 0.5, K.shape(x))), X),
    program("dropout scaled", scaled, array(50, 20, low=1)),
    program("dropout whole columns", whole_columns, array(20, 3, low=1)),
    program("dropout numbers", lambda K: K.zeros_like(K.dropout([1.0, 2.0], 0.5))),
    program(
        "dropout level of another dtype",
        lambda K, x, p: K.zeros_like(K.dropout(x, p)),
        X,
        np.array(0.5, "float64"),
        expected=lambda x, p: np.zeros((2, 3), "float32"),
        differs="a level may be of another dtype than `x`.",
    ),
    *(dropped(f"level={level!r}", level, raises=True) for level in (1, 1.0, -0.1, 2, None, "a", True)),
    program("dropout level of one axis", lambda K, x, p: K.dropout(x, p), X, array(1, low=0, high=1), raises=True),
    *(dropped(d, 0.5, array_=array(2, 3, dtype=d), raises=True) for d in ("int32", "bool", "complex64")),
    *(dropped(f"noise_shape={n!r}", 0.5, n, raises=True, ways=KNOWN) for n in [(2,), (5, 3), (None,), (-1, 3), "a", 3]),
]

CASES = [*SHAPES, *PARAMETERS, *VARIABLES, *DROPOUT]
