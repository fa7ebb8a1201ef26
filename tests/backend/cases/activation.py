"""Cases of the activations."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

ODD = np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-8, 100.0]], "float32")
RELU = [
    {"alpha": 0.1},
    {"max_value": 6},
    {"max_value": 1.5},
    {"threshold": 0.5},
    {"threshold": -1.0},
    {"alpha": 0.1, "threshold": 0.5},
    {"alpha": 0.5, "max_value": 6},
    {"alpha": 0.1, "max_value": 1.0, "threshold": 0.5},
    {"max_value": 1.0, "threshold": 1.5},
    {"max_value": 1.0, "threshold": -1.0},
    {"max_value": 6, "threshold": 0.5},
    {"alpha": -1.0, "max_value": 0.5},
    {"max_value": -1.0},
]
FLOATS = "integers become floats; tf.keras refuses them."


def shapes(name, **options):
    """Ranks, dtypes, an empty tensor, and unusual numbers."""
    return [*usual(name, **options), call(name, ODD, **options)]


def usual(name, **options):
    return [
        call(name, array(2, 3, low=-5, high=5), **options),
        call(name, array(2, 1, 3, dtype="float64"), **options),
        call(name, array(3, 2, dtype="float16"), **options),
        call(name, array(0, 3), **options),
    ]


def scalars(name, **options):
    return [call(name, array(), **options), call(name, array(4, low=-100, high=100), **options)]


def integers(name, expected):
    return call(name, ints(2, 3, low=-3, high=4), differs=FLOATS, expected=lambda x: expected(x.astype("float32")))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


CASES = [
    # relu
    *shapes("relu"),
    *scalars("relu"),
    call("relu", ints(2, 3, low=-9, high=10)),
    call("relu", ints(2, 3, low=-9, high=10), max_value=6),
    call("relu", ints(2, 3, low=-9, high=10, dtype="int64"), alpha=0.5),
    *(call("relu", array(4, 5, low=-8, high=8), **options) for options in RELU),
    *(call("relu", array(4, 5, dtype="float16"), **options) for options in RELU[:3] + RELU[5:6]),
    call("relu", array(2, 3, dtype="float64"), alpha=0.3, max_value=1.0, threshold=0.25),
    *(call("relu", ODD, **options) for options in RELU[:3]),
    call(
        "relu",
        ODD,
        threshold=0.5,
        differs="Minus infinity is below a threshold like other numbers; tf.keras makes it NaN.",
        expected=lambda x: np.where(x <= 0.5, np.float32(0), x),
    ),
    call(
        "relu",
        ints(2, 3, low=-3, high=4),
        max_value=1.5,
        differs="integers with parameters, and booleans, become numbers that fit; tf.keras refuses them.",
        expected=lambda x: np.clip(x, 0, 1.5).astype("float32"),
    ),
    program("relu of a variable", lambda K, x: K.relu(K.variable([-1.0, 2.0])) + x, array()),
    # elu
    *shapes("elu"),
    *scalars("elu"),
    *(call("elu", array(2, 3), alpha) for alpha in (2.0, 0.5, 0.0, -1.0)),
    call("elu", ODD, 0.5),
    integers("elu", lambda x: np.where(x > 0, x, np.expm1(x))),
    # softmax
    *usual("softmax"),
    program("softmax of NaN and infinity", lambda K, x: K.any(K.not_equal(K.softmax(x), K.softmax(x))), ODD),
    *(call("softmax", array(2, 3, 4), axis=axis) for axis in (0, 1, 2, -2, [1, 2], (-1,), [0, 1, 2])),
    call("softmax", array(2, 3, dtype="float64"), axis=[0]),
    call("softmax", array(2, 4, low=1000, high=2000)),
    call("softmax", array(2, 0)),
    call("softmax", np.full((1, 3), -np.inf, "float32")),
    call("softmax", array(3), raises=True),
    call("softmax", array(), raises=True),
    call("softmax", array(2, 3), axis=2, raises=True),
    call("softmax", array(2, 3), axis=[0, -3], raises=True),
    call(
        "softmax",
        ints(2, 3),
        differs="integers become floats, and nested lists a tensor; tf.keras refuses them.",
        expected=lambda x: (np.exp(x) / np.exp(x).sum(-1, keepdims=True)).astype("float32"),
    ),
    # softplus
    *shapes("softplus"),
    *scalars("softplus"),
    integers("softplus", lambda x: np.log1p(np.exp(x))),
    # softsign
    *shapes("softsign"),
    *scalars("softsign"),
    integers("softsign", lambda x: x / (1 + abs(x))),
    # sigmoid
    *shapes("sigmoid"),
    *scalars("sigmoid"),
    integers("sigmoid", sigmoid),
    program("sigmoid of a variable", lambda K, x: K.sigmoid(K.variable([-1.0, 2.0])) + x, array()),
    # hard_sigmoid
    *shapes("hard_sigmoid"),
    *scalars("hard_sigmoid"),
    call(
        "hard_sigmoid",
        ints(2, 3, low=-4, high=5),
        differs="integers become floats, and lists and arrays a tensor; tf.keras refuses them.",
        expected=lambda x: np.clip(0.2 * x + 0.5, 0, 1).astype("float32"),
    ),
    # tanh
    *shapes("tanh"),
    *scalars("tanh"),
    integers("tanh", np.tanh),
]
