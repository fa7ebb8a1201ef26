"""Cases of differences from tf.keras that do not belong to one shape or dtype of a family's cases."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

EAGER = ("eager",)
TRACED = ("compiled", "symbolic")


def refused(function, name, *args, differs, **options):
    """The call of K.`function` is refused with a ValueError; tf.keras computes something."""

    def run(K):
        try:
            getattr(K, function)(*args, **options)
        except ValueError:
            return True
        return False

    return program(f"{function} {name}", run, ways=EAGER, expected=lambda: True, differs=differs)


def folds():
    for name in ("foldl", "foldr"):
        yield program(
            f"{name} to another dtype",
            lambda K, x, name=name: getattr(K, name)(lambda a, v: K.cast(a, "float64") + K.cast(v, "float64"), x),
            array(4),
            ways=TRACED,
            expected=lambda x: x.astype("float64").sum(),
            differs="where a graph is built, a combination of another dtype than the start is promoted with it",
        )


def convolutions():
    yield call(
        "conv2d_transpose",
        ints(1, 2, 2, 1),
        array(1, 1, 1, 1, dtype="float32"),
        (1, 2, 2, 1),
        expected=lambda x, k: (x * k[0, 0, 0, 0]).astype("float32"),
        differs="tensors of two dtypes are promoted, and integers of all sizes are taken",
    )
    for name, kernels in (
        ("conv1d", [array(1, 1, 1)]),
        ("separable_conv2d", [array(1, 1, 1, 1), array(1, 1, 1, 1)]),
    ):
        shape = (1, 3, 1) if name == "conv1d" else (1, 3, 2, 1)
        yield call(
            name,
            ints(*shape),
            *kernels,
            expected=lambda x, *k: (x * np.prod(k)).astype("float32"),
            differs="tensors of two dtypes are promoted, and integers of all sizes are taken",
        )


CASES = [
    *folds(),
    *convolutions(),
    refused(
        "concatenate",
        "far below",
        [np.ones((2, 2), "float32")] * 2,
        axis=-5,
        differs="a negative axis is counted from the last once",
    ),
    refused("reshape", "of nothing", np.zeros((0, 3), "float32"), (0, -1), differs="beside a dimension of 0, -1 says"),
    program(
        "random_uniform bounds of another dtype",
        lambda K: K.shape(K.random_uniform((3,), np.zeros(3, "int64"), np.ones(3, "int64"), dtype="float32")),
        ways=EAGER,
        expected=lambda: np.array([3], "int32"),
        differs="parameters of another dtype are cast",
    ),
    program(
        "gradients gather",
        lambda K, x: K.gradients(K.sum(K.gather(x, [0, 0, 2])), [x]),
        array(3, 2),
        ways=("symbolic",),
        expected=lambda x: [np.float32([[2, 2], [0, 0], [1, 1]])],
        differs="the gradient of `K.gather` is dense",
    ),
]
