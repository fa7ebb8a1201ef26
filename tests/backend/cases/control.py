"""Cases of branches and of loops over slices."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

KNOWN = ("eager", "compiled")  # shapes must be known: for an error, or for the call itself
EAGER = ("eager",)

A, B = array(2, 3), array(2, 3)
DEEP, DEEPER = array(2, 2, 4), array(2, 2, 4)
TRUE, FALSE = np.array(True), np.array(False)


def where(condition, a, b):
    return np.where(condition, a, b)


def fails():
    raise AssertionError("the branch that is not picked was called")


def lazy(K, x):
    """Calls of `switch` whose other function fails; eagerly, only the chosen function is called."""
    return K.switch(K.sum(x) > 1000.0, fails, lambda: -x), K.switch(K.sum(x) < 1000.0, lambda: 2.0 * x, fails)


def reads_outside(K, c, x):
    """Functions that capture tensors from around them, and nested branches."""
    y = x * 2.0
    return K.switch(c, lambda: K.switch(K.sum(y) > 0.0, lambda: y + x, lambda: y - x), lambda: x)


SWITCHES = [
    *(call("switch", condition, A, B) for condition in (TRUE, FALSE)),
    *(call("switch", np.array(c), A, B) for c in (2, 0, -1.5, 0.0, np.nan, np.inf)),
    call("switch", np.array(1, "float16"), A, B),
    call("switch", TRUE, A, array(4), ways=EAGER),  # in a graph the rank must be known
    call("switch", FALSE, array(0, 3), array(0, 3)),
    call("switch", TRUE, ints(3), ints(3)),
    call("switch", FALSE, array(3, dtype="bool"), array(3, dtype="bool")),
    program("switch numbers", lambda K, c: K.cast(K.switch(c, 1.0, 2.0), "float32"), FALSE),
    program("switch functions", lambda K, c, a, b: K.switch(c, lambda: a * 2.0, lambda: b - 1.0), TRUE, A, B),
    program("switch functions", lambda K, c, a, b: K.switch(c, lambda: a * 2.0, lambda: b - 1.0), FALSE, A, B),
    program("switch function, tensor", lambda K, c, a, b: K.switch(c, lambda: a * 2.0, b), FALSE, A, B),
    program("switch pairs", lambda K, c, a, b: K.switch(c, lambda: (a, b * 2.0), lambda: (b, a)), FALSE, A, B),
    program("switch lazy", lazy, A, ways=EAGER),
    program("switch reads outside", reads_outside, TRUE, A),
    program("switch reads outside", reads_outside, FALSE, A),
    program("switch computed", lambda K, x: K.switch(K.sum(x) > 0.0, x, -x), A),
    # a condition of one axis picks along the last
    call("switch", np.array([True, False, True]), A, B),
    call("switch", np.array([1, 0, 2]), A, B),
    call("switch", np.array([True, False, True]), array(3), array(3)),
    call("switch", np.array([True]), A, B),
    call("switch", np.array([False]), A, array(1)),
    call("switch", np.array([True]), array(1), array(3)),
    # a condition of more axes picks slices
    call("switch", np.array([[True], [False]]), A, B),
    call("switch", np.array([[True, False, True], [False, False, True]]), A, B),
    call("switch", np.array([[1.0, 0.0, np.nan], [0.0, -2.0, 0.0]]), A, B),
    call("switch", np.array([[True, False], [False, True]]), DEEP, DEEPER),
    call("switch", np.array([[True], [False]]), DEEP, DEEPER),
    call("switch", np.array([[[True], [False]]]), DEEP, DEEPER),
    call("switch", np.array([[True, False, True]]), A, B),
    call("switch", np.array([[True, False], [False, True], [True, True]]), array(1, 2), array(1, 2)),
    call("switch", array(2, 3, dtype="bool"), A, array(4, 2, 3)),
    call("switch", array(2, 3, dtype="bool"), array(2, 3, 4), array(3, 4)),
    call("switch", array(2, 3, dtype="bool"), A, array(3)),
    call("switch", array(2, 3, dtype="bool"), A, array()),
    call("switch", array(2, 3, dtype="bool"), ints(2, 3), ints(2, 3)),
    call("switch", array(2, 3, dtype="bool"), array(2, 3, dtype="float64"), array(2, 3, dtype="float64")),
    call("switch", array(0, 1), array(0, 3), array(0, 3)),
    program("switch number", lambda K, c, a: K.switch(c, a, 0.0), array(2, 3, dtype="bool"), A),
    program(
        "switch functions", lambda K, c, a, b: K.switch(c, lambda: a, lambda: b), np.array([[True], [False]]), A, B
    ),
    program("switch NaN is not picked", lambda K, x: K.switch(x > 0.0, K.sqrt(x), 0.0 * x), A),
    # Keras 2 code uses more than the oracle allows
    program(
        "switch bool",
        lambda K, a, b: (K.switch(True, a, b), K.switch(False, lambda: a, lambda: b)),
        A,
        B,
        expected=lambda a, b: (a, b),
        differs="the condition may be a Python bool, a list, or of shape (1,) with scalar values or lazy functions.",
    ),
    program(
        "switch list",
        lambda K, a, b: K.switch([[True], [False]], a, b),
        A,
        B,
        expected=lambda a, b: where([[True], [False]], a, b),
        differs="the condition may be a Python bool, a list, or of shape (1,) with scalar values or lazy functions.",
    ),
    call(
        "switch",
        np.array([False]),
        array(),
        array(),
        ways=KNOWN,
        expected=lambda c, a, b: b,
        differs="the condition may be a Python bool, a list, or of shape (1,) with scalar values or lazy functions.",
    ),
    program(
        "switch (1,) lazy",
        lambda K, c, a: K.switch(c, lambda: a, fails),
        np.array([True]),
        A,
        ways=EAGER,
        expected=lambda c, a: a,
        differs="the condition may be a Python bool, a list, or of shape (1,) with scalar values or lazy functions.",
    ),
    program(
        "switch number first",
        lambda K, c, a: K.switch(c, 0.0, a),
        array(2, 3, dtype="bool"),
        A,
        expected=lambda c, a: where(c, np.float32(0), a),
        differs="the first may be a number, also where the condition has axes",
    ),
    call("switch", array(2, 3, dtype="bool"), array(3), A, raises=True),
    call("switch", array(2, 3, dtype="bool"), array(3), array(3), raises=True),
    call(
        "switch",
        array(2, 3, dtype="bool"),
        A,
        ints(2, 3),
        expected=lambda c, a, b: where(c, a, b).astype("float32"),
        differs="the two may have different dtypes, which are promoted where both are needed.",
    ),
    call("switch", np.array([True, False]), A, B, raises=True),
    call("switch", np.ones((3, 1)), A, B, raises=True),
    call("switch", np.ones((2, 2)), A, B, raises=True),
    call("switch", np.ones((2, 3, 1)), A, B, raises=True),
    call("switch", np.array([True, False]), array(), array(), raises=True),
    call("switch", None, A, B, raises=True),
]


# -- loops ------------------------------------------------------------------------------------------------------------

X, ROWS, N = array(6), array(3, 2), ints(4)


def square(x):
    return x * x


def mapped(what, fn, *arrays, **options):
    """`map_fn` over the arrays; one, or a tuple of them."""
    case_options = {k: options.pop(k) for k in ("raises", "differs", "expected", "ways") if k in options}

    def run(K, *given):
        return K.map_fn(lambda x: fn(K, x), given[0] if len(given) == 1 else given, **options)

    return program(f"map_fn {what}", run, *arrays, **case_options)


def scaled_by_outside(K, x, y):
    total = K.sum(y)
    return K.map_fn(lambda row: row * total, x)


MAPS = [
    *(mapped("square", lambda K, x: x * x, array(4, dtype=d)) for d in ("float16", "float32", "float64", "int32")),
    mapped("square", lambda K, x: x * x, ROWS),
    mapped("rows to numbers", lambda K, x: K.sum(x), ROWS),
    mapped("numbers to rows", lambda K, x: K.stack([x, -x]), X),
    mapped("deep", lambda K, x: K.transpose(x), array(2, 3, 4)),
    mapped("not", lambda K, x: K.equal(x, False), array(3, dtype="bool")),
    mapped("named", lambda K, x: x + 1.0, X, name="add_one"),
    mapped("one", lambda K, x: x + 1.0, array(1)),
    mapped("NaN", lambda K, x: x + 1.0, np.array([np.nan, np.inf, -np.inf], "float32")),
    mapped("dtype", lambda K, x: K.cast(x, "int32"), X, dtype="int32"),
    mapped("dtype of NumPy", lambda K, x: x + 1.0, X, dtype=np.float32),
    mapped("comparison", lambda K, x: x > 0.0, X, dtype="bool"),
    mapped("number", lambda K, x: 1, X),
    mapped("number, dtype", lambda K, x: 1, X, dtype="int32"),
    mapped("pair to one", lambda K, xy: xy[0] + xy[1], X, array(6), dtype="float32"),
    mapped("pair to pair", lambda K, xy: (xy[1], xy[0]), X, array(6, 2)),
    mapped("one to pair", lambda K, x: (x, K.cast(x, "int32")), X, dtype=("float32", "int32")),
    mapped("to nested", lambda K, x: (x, (x, -x)), X, dtype=("float32", ("float32", "float32"))),
    mapped("to dict", lambda K, x: {"a": x, "b": x * 2.0}, X, dtype={"a": "float32", "b": "float32"}),
    program(
        "map_fn from dict",
        lambda K, x, y: K.map_fn(lambda d: {"a": d["b"], "b": d["a"]}, {"a": x, "b": y}),
        X,
        array(6),
    ),
    program("map_fn list", lambda K, x, y: K.map_fn(lambda xy: [xy[1], xy[0]], [x, y]), X, array(6)),
    program("map_fn outside", scaled_by_outside, ROWS, X),
    program("map_fn in map_fn", lambda K, x: K.map_fn(lambda row: K.map_fn(square, row), x), ROWS),
    mapped(
        "other dtype",
        lambda K, x: K.cast(x, "int32"),
        X,
        expected=lambda x: x.astype("int32"),
        differs="without `dtype`, results of another dtype than the slices' stay as they are",
    ),
    mapped(
        "dtype casts",
        lambda K, x: x * 2.0,
        X,
        dtype="int32",
        expected=lambda x: (x * 2).astype("int32"),
        differs="without `dtype`, results of another dtype than the slices' stay as they are",
    ),
    mapped(
        "nothing",
        lambda K, x: x * 2.0,
        array(0, 2),
        expected=lambda x: x,
        differs="over no slices, the result has the shape that it has in a TensorFlow graph, also eagerly.",
    ),
    mapped("new structure", lambda K, x: (x, x), X, raises=True),
    mapped("new structure, one dtype", lambda K, x: (x, x), X, dtype="float32", raises=True),
    mapped("pair to one, no dtype", lambda K, xy: xy[0] + xy[1], X, array(6), raises=True),
    mapped("returns nothing", lambda K, x: None, X, raises=True),
    mapped("scalar", lambda K, x: x, array(), raises=True),
    mapped("other lengths", lambda K, xy: xy[0] + xy[1], X, array(2), dtype="float32", raises=True, ways=KNOWN),
    mapped("no such dtype", lambda K, x: x, X, dtype="float33", raises=True),
    program("map_fn of numbers", lambda K: K.map_fn(square, [1.0, 2.0]), raises=True, ways=KNOWN),
    program("map_fn of nothing", lambda K: K.map_fn(square, ()), raises=True, ways=KNOWN),
    program("map_fn no function", lambda K, x: K.map_fn(3, x), X, raises=True),
]


def both(what, fn, *arrays, **options):
    """`foldl` and `foldr` over the first array, or a tuple of all but the initializer, with options."""
    case_options = {k: options.pop(k) for k in ("raises", "differs", "expected", "ways") if k in options}
    start = options.pop("start", False)  # whether the last array is the initializer

    def fold(function):
        def run(K, *given):
            elems = given[:-1] if start else given
            initializer = {"initializer": given[-1]} if start else {}
            elems = elems[0] if len(elems) == 1 else elems
            return getattr(K, function)(lambda a, x: fn(K, a, x), elems, **initializer, **options)

        return program(f"{function} {what}", run, *arrays, **case_options)

    return [fold("foldl"), fold("foldr")]


def differences(K, a, x):
    return a * 2 - x


FOLDS = [
    *both("differences", differences, X),
    *both("differences", differences, N),
    *both("differences", differences, array(5, dtype="float64")),
    *both("differences", differences, array(5, dtype="float16")),
    *both("rows", differences, ROWS),
    *both("one", differences, array(1)),
    *both("start", differences, X, array(), start=True),
    *both("start of another shape", lambda K, a, x: a * 2.0 - K.sum(x), ROWS, array(), start=True),
    *both("start of another dtype", lambda K, a, x: a + K.cast(x > 0.0, "int32"), X, np.array(5, "int32"), start=True),
    *both("start for nothing", differences, array(0), array(), start=True),
    *both("number", lambda K, a, x: a * 2.0 - x, X, initializer=1.0),
    *both("named", differences, X, name="differences"),
    *both("pairs", lambda K, a, xy: (a[0] - xy[0], a[1] * xy[1]), X, array(6)),
    *both("pairs to one", lambda K, a, xy: a - xy[0] * xy[1], X, array(6), array(), start=True),
    *both("one to pairs", lambda K, a, x: (a[0] - x, a[1] * x), X, initializer=(0.0, 1.0)),
    *both("NaN", differences, np.array([1.0, np.nan, 2.0], "float32")),
    *both("nothing", differences, array(0), raises=True, ways=KNOWN),
    *both("another structure", lambda K, a, x: (a, x), X, raises=True),
]

CASES = [*SWITCHES, *MAPS, *FOLDS]
