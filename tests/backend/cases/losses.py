"""Cases of the losses."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

PROMOTED = "targets of another dtype are promoted, and integers become floats; tf.keras refuses them."
EPSILON = 1e-7
ONE_HOT = np.array([[0, 0, 1], [0, 1, 0]], "float32")
CERTAIN = np.array([[0.2, 0.3, 0.5], [1, 0, 0]], "float32")
ODD = [
    ("nan", np.array([[np.nan, 0.5, 0.5], [0.2, 0.2, 0.6]], "float32")),
    ("outside", np.array([[-0.4, -0.1, 0.5], [2.0, -1.0, 0.0]], "float32")),
    ("zeros", np.zeros((2, 3), "float32")),
]


def probabilities(*shape, dtype="float32"):
    return array(*shape, low=0.05, high=0.95, dtype=dtype)


def pair(*shape, dtype="float32"):
    """A target and an output."""
    return array(*shape, low=0.0, high=1.0, dtype=dtype), probabilities(*shape, dtype=dtype)


def scores(*shape):
    return array(*shape, low=-30, high=30)


def usual(name, **options):
    """Ranks, dtypes, empty tensors, certain and unusual probabilities, and scores."""
    return [
        call(name, *pair(4, 3), **options),
        call(name, *pair(2, 3, 4), **options),
        call(name, *pair(5), **options),
        call(name, *pair(3, 4, dtype="float64"), **options),
        call(name, *pair(3, 4, dtype="float16"), **options),
        call(name, *pair(0, 3), **options),
        call(name, ONE_HOT, CERTAIN, **options),
        *(
            program(f"{name} of {what}", lambda K, t, o: getattr(K, name)(t, o, **options), ONE_HOT, o)
            for what, o in ODD
        ),
        call(name, array(3, 4, low=0, high=1), scores(3, 4), from_logits=True, **options),
        call(name, *pair(3, 4, dtype="float64"), from_logits=True, **options),
        call(name, *pair(3, 4, dtype="float16"), from_logits=True, **options),
    ]


def after(name, activation, target, *arrays, **options):
    """A case of a loss of an activation's output."""
    return program(
        f"{name} after {activation}{options or ''}",
        lambda K, t, x: getattr(K, name)(t, getattr(K, activation)(x), **options),
        target,
        *arrays,
    )


def refused(run):
    """The result, or the type of the error, where the oracle computes a result."""
    try:
        return run()
    except Exception as error:
        return np.array(type(error).__name__)


def cross_entropy(target, output):
    p = np.clip(output / output.sum(-1, keepdims=True), EPSILON, 1 - EPSILON)
    return -(target * np.log(p)).sum(-1)


def focal(target, output):
    p = np.clip(output / output.sum(-1, keepdims=True), EPSILON, 1 - EPSILON)
    return (0.25 * (1 - p) ** 2 * -target * np.log(p)).sum(-1)


def binary(target, output):
    p = np.clip(output, EPSILON, 1 - EPSILON)
    return -(target * np.log(p + EPSILON) + (1 - target) * np.log(1 - p + EPSILON))


def binary_focal(target, output):
    return (1 - (target * output + (1 - target) * (1 - output))) ** 2 * binary(target, output)


def lenient(name, right, differs=PROMOTED):
    """Cases of targets of other dtypes."""
    return [
        call(name, array(3, 4, low=0, high=1, dtype="float64"), probabilities(3, 4), differs=differs, expected=right),
        call(
            name,
            ints(3, 4, high=2),
            probabilities(3, 4),
            differs=differs,
            expected=lambda t, o: right(t, o).astype("float32"),
        ),
    ]


SPARSE = "sparse_categorical_crossentropy"
LABELS = np.array([[0, 1, 2], [3, 2, 1]], "int32")
ON_AXIS_1 = np.array([[0, 1, 2, 0], [1, 2, 0, 1]], "int32")
VOID = np.array([255, 1, 255], "uint8")

CASES = [
    # categorical_crossentropy
    *usual("categorical_crossentropy"),
    *lenient("categorical_crossentropy", cross_entropy),
    *(call("categorical_crossentropy", *pair(2, 3, 4), axis=axis) for axis in (0, 1, -2)),
    *(call("categorical_crossentropy", *pair(2, 3, 4), from_logits=True, axis=axis) for axis in (0, 1)),
    call("categorical_crossentropy", *pair(2, 0)),
    call("categorical_crossentropy", *pair(2, 3), axis=2, raises=True),
    call("categorical_crossentropy", *pair(2, 3), axis=2, from_logits=True, raises=True),
    call("categorical_crossentropy", array(2, 3), array(2, 4), raises=True, ways=("eager", "compiled")),
    call("categorical_crossentropy", array(1, 3), array(2, 3), raises=True, ways=("eager", "compiled")),
    call("categorical_crossentropy", array(3), array(2, 3), raises=True),
    after("categorical_crossentropy", "softmax", ONE_HOT, scores(2, 3)),
    after("categorical_crossentropy", "softmax", ONE_HOT, np.array([[0, 100, 0], [100, 0, 0]], "float32")),
    after("categorical_crossentropy", "sigmoid", ONE_HOT, scores(2, 3)),
    after("categorical_crossentropy", "tanh", ONE_HOT, array(2, 3, low=0.1)),
    program(
        "categorical_crossentropy after softmax along two axes",
        lambda K, t, x: K.categorical_crossentropy(t, K.softmax(x, axis=[0, 1])),
        ONE_HOT,
        scores(2, 3),
    ),
    program(
        "categorical_crossentropy after a softmax that was changed",
        lambda K, t, x: K.categorical_crossentropy(t, K.softmax(x) * 0.5),
        ONE_HOT,
        np.array([[0, 100, 0], [100, 0, 0]], "float32"),
    ),
    call(
        "categorical_crossentropy",
        ONE_HOT,
        np.array([[-np.inf, 0, 0], [0, 0, 0]], "float32"),
        from_logits=True,
        differs="With scores, a class of target 0 costs nothing even where its score is minus infinity; tf.keras gives"
        " NaN.",
        expected=lambda t, o: np.log([2.0, 3.0]).astype("float32"),
    ),
    # categorical_focal_crossentropy
    *usual("categorical_focal_crossentropy"),
    *lenient("categorical_focal_crossentropy", focal),
    *(
        call("categorical_focal_crossentropy", *pair(3, 4), **options)
        for options in ({"alpha": 0.5, "gamma": 0.5}, {"alpha": [0.1, 0.2, 0.3, 0.4]}, {"gamma": 0.0}, {"axis": 0})
    ),
    call("categorical_focal_crossentropy", *pair(2, 3, 4), from_logits=True, axis=1),
    call("categorical_focal_crossentropy", *pair(2, 3), axis=2, raises=True),
    call("categorical_focal_crossentropy", array(2, 3), array(2, 4), raises=True, ways=("eager", "compiled")),
    after("categorical_focal_crossentropy", "softmax", ONE_HOT, scores(2, 3)),
    # sparse_categorical_crossentropy
    call(SPARSE, ints(4, high=3), probabilities(4, 3)),
    call(SPARSE, ints(4, high=3, dtype="int64"), probabilities(4, 3, dtype="float64")),
    call(SPARSE, ints(4, high=3, dtype="uint8"), probabilities(4, 3, dtype="float16")),
    call(SPARSE, np.array([0, 2, 1], "float32"), probabilities(3, 3)),
    call(SPARSE, np.array([True, False]), probabilities(2, 3)),
    call(SPARSE, ints(4, 1, high=3), probabilities(4, 3)),
    call(SPARSE, LABELS, probabilities(2, 3, 4)),
    call(SPARSE, LABELS[..., None], probabilities(2, 3, 4)),
    call(SPARSE, LABELS.reshape(-1), probabilities(2, 3, 4)),
    call(SPARSE, LABELS, scores(2, 3, 4), from_logits=True),
    call(SPARSE, ints(2, 2, 3, high=3), probabilities(2, 2, 3, 3)),
    *(call(SPARSE, ON_AXIS_1, probabilities(2, 3, 4), axis=axis) for axis in (1, -2)),
    call(SPARSE, ON_AXIS_1, scores(2, 3, 4), from_logits=True, axis=1),
    call(SPARSE, ON_AXIS_1[..., None], probabilities(2, 3, 4), axis=1),
    call(SPARSE, ints(3, 2, high=2), probabilities(2, 3, 2), axis=0),
    call(SPARSE, ints(0), probabilities(0, 3)),
    call(SPARSE, np.int32(1), probabilities(3)),
    call(SPARSE, np.array([1], "int32"), probabilities(3)),
    call(SPARSE, np.array([2, 1]), CERTAIN),
    *(program(f"{SPARSE} of {what}", lambda K, t, o: getattr(K, SPARSE)(t, o), np.array([2, 1]), o) for what, o in ODD),
    call(SPARSE, np.array([2, 1]), np.array([[0, -np.inf, -np.inf], [0, 0, 0]], "float32"), from_logits=True),
    call(SPARSE, np.array([2, 1, 1]), probabilities(3, 3), ignore_class=1),
    call(SPARSE, np.array([-1, 1, 0]), probabilities(3, 3), ignore_class=-1),
    call(SPARSE, VOID, probabilities(3, 3), ignore_class=255),
    call(SPARSE, np.array([1, 1]), probabilities(2, 3), ignore_class=1),
    call(SPARSE, np.array([2.0, 1.0], "float32"), probabilities(2, 3), ignore_class=1.0),
    call(SPARSE, np.array([[2], [1]]), probabilities(2, 3), ignore_class=1),
    call(SPARSE, np.array([2, 1]), scores(2, 3), from_logits=True, ignore_class=2),
    call(SPARSE, LABELS, probabilities(2, 3, 4), ignore_class=2),
    call(SPARSE, LABELS[..., None], probabilities(2, 3, 4), ignore_class=2),
    call(SPARSE, ON_AXIS_1, probabilities(2, 3, 4), axis=1, ignore_class=0),
    call(SPARSE, np.array([3, 1]), probabilities(2, 3), raises=True, ways=("eager",)),
    call(SPARSE, np.array([-1, 1]), probabilities(2, 3), raises=True, ways=("eager",)),
    call(SPARSE, VOID, probabilities(3, 3), ignore_class=-1, raises=True, ways=("eager",)),
    call(
        SPARSE,
        np.array([3, 1, -1]),
        np.full((3, 3), 1 / 3, "float32"),
        ways=("compiled", "symbolic"),
        differs="the loss of a number that is none of a class is NaN where it is not known before a program runs.",
        expected=lambda t, o: np.array([np.nan, np.log(3), np.nan], "float32"),
    ),
    call(SPARSE, ints(3, high=3), probabilities(2, 3), raises=True, ways=("eager", "compiled")),
    program(
        f"{SPARSE} along an axis that is not there",
        lambda K, t, o: refused(lambda: getattr(K, SPARSE)(t, o, axis=5)),
        LABELS,
        probabilities(2, 3, 4),
        ways=("eager",),
        differs="An axis that `output` lacks is an error; tf.keras takes it modulo the rank.",
        expected=lambda t, o: np.array("ValueError"),
    ),
    after(SPARSE, "softmax", np.array([2, 1]), scores(2, 3)),
    after(SPARSE, "softmax", LABELS, scores(2, 3, 4)),
    after(SPARSE, "softmax", np.array([2, 1]), scores(2, 3), ignore_class=1),
    # binary_crossentropy
    *usual("binary_crossentropy"),
    *lenient("binary_crossentropy", binary),
    call("binary_crossentropy", *pair()),
    call("binary_crossentropy", np.array([0, 1, 0, 1], "float32"), np.array([1, 0, 0, 1], "float32")),
    call("binary_crossentropy", np.array([0, 1], "float32"), np.array([np.inf, -np.inf], "float32")),
    call("binary_crossentropy", array(1, 3, low=0, high=1), probabilities(2, 3)),
    call("binary_crossentropy", array(3, low=0, high=1), probabilities(2, 3)),
    call("binary_crossentropy", 0.0, probabilities(2, 3)),
    call("binary_crossentropy", array(2, 3), array(2, 4), raises=True),
    after("binary_crossentropy", "sigmoid", np.array([0, 1, 0, 1], "float32"), np.array([40, -40, 0, 3], "float32")),
    after("binary_crossentropy", "sigmoid", ONE_HOT, scores(2, 3)),
    after("binary_crossentropy", "softmax", ONE_HOT, scores(2, 3)),
    after("binary_crossentropy", "hard_sigmoid", ONE_HOT, scores(2, 3)),
    program(
        "binary_crossentropy after a sigmoid that was changed",
        lambda K, t, x: K.binary_crossentropy(t, 1 - K.sigmoid(x)),
        ONE_HOT,
        scores(2, 3),
    ),
    # binary_focal_crossentropy
    *usual("binary_focal_crossentropy"),
    *lenient(
        "binary_focal_crossentropy",
        binary_focal,
        "targets of another dtype are promoted, integers become floats and lists tensors; tf.keras refuses them.",
    ),
    *(
        call("binary_focal_crossentropy", *pair(3, 4), **options)
        for options in (
            {"apply_class_balancing": True},
            {"apply_class_balancing": True, "alpha": 0.3, "gamma": 1.5},
            {"gamma": 0.0},
            {"apply_class_balancing": True, "from_logits": True},
        )
    ),
    call("binary_focal_crossentropy", array(2, 3), array(2, 4), raises=True),
    after("binary_focal_crossentropy", "sigmoid", ONE_HOT, scores(2, 3)),
    # in_top_k
    *(call("in_top_k", array(4, 5, gap=0.1), ints(4, high=5), k) for k in (1, 2, 5, 0, -1, 9)),
    call("in_top_k", array(4, 5, gap=0.1), ints(4, high=5, dtype="int64"), 2),
    call("in_top_k", np.ones((2, 3), "float32"), np.array([2, 0]), 1),
    call("in_top_k", np.array([[np.nan, 1, 2], [0, np.nan, 1], [0, 1, 2]], "float32"), np.array([2, 2, 2]), 2),
    call("in_top_k", np.array([[np.inf, 1, 2], [0, -np.inf, 1], [0, 1, np.inf]], "float32"), np.array([2, 2, 2]), 2),
    call("in_top_k", array(2, 3), np.array([5, -1]), 3),
    call("in_top_k", array(0, 3), ints(0), 1),
    call("in_top_k", array(3), ints(1), 1, raises=True),
    call("in_top_k", array(2, 3), ints(2, 1), 1, raises=True),
    call("in_top_k", array(2, 3), ints(3), 1, raises=True, ways=("eager", "compiled")),
    call(
        "in_top_k",
        array(2, 3, gap=0.1, dtype="float64"),
        np.array([0, 1]),
        2,
        differs="scores may be numbers of any dtype; tf.keras refuses all but float32.",
        expected=lambda p, t: (p > p[[0, 1], t][:, None]).sum(-1) < 2,
    ),
]
