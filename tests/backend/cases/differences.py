"""Cases of differences from tf.keras that belong to no single shape or dtype of a family's cases."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

EAGER = ("eager",)


def refused(function, name, *args, differs, **options):
    """A case in which K.`function` raises a ValueError, and tf.keras computes a result."""

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
    program(
        "random_uniform bounds of another dtype",
        lambda K, low, high: K.shape(K.random_uniform((3,), low, high, dtype="float32")),
        ints(3, low=0, high=2, dtype="int64"),
        ints(3, low=3, high=5, dtype="int64"),
        ways=EAGER,
        expected=lambda low, high: np.array([3], "int32"),
        differs="parameters of another dtype are cast",
    ),
    call(
        "pool3d",
        array(1, 2, 2, 2, 1),
        [1, 1, 1],
        [1, 2, 1],
        expected=lambda x: x[:, :, ::2],
        differs="sizes may be lists",
    ),
    program(
        "sparse_categorical_crossentropy mask",
        lambda K, y, p: hasattr(K.sparse_categorical_crossentropy(y, p, ignore_class=0), "_keras_mask"),
        ints(3, low=0, high=2),
        array(3, 2, low=0.1, high=1),
        ways=EAGER,
        expected=lambda y, p: False,
        differs="the result bears no mask of the classes that are not ignored",
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
