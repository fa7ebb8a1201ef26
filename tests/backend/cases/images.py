"""Cases of resizing: every interpolation and layout, dtypes, errors."""

import numpy as np

from dovetail.ops.image.resize import INTERPOLATIONS
from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

FIRST, LAST = "channels_first", "channels_last"
KNOWN = ("eager", "compiled")  # the size of the images must be known
X, F = array(2, 3, 4, 2), array(2, 2, 3, 4)
V = array(1, 2, 3, 2, 2)


def images():
    for interpolation in INTERPOLATIONS:
        for factors in [(2, 2), (1, 3), (3, 2), (1, 1)]:
            yield call("resize_images", X, *factors, LAST, interpolation)
            yield call("resize_images", F, *factors, FIRST, interpolation)
        yield call("resize_images", array(1, 1, 1, 3), 3, 2, LAST, interpolation)
        yield call("resize_images", array(0, 2, 3, 1), 2, 2, LAST, interpolation)
        for dtype in ("float16", "float64"):
            yield call("resize_images", array(1, 2, 3, 1, dtype=dtype), 2, 3, LAST, interpolation)
            yield call("resize_images", array(1, 2, 3, 1, dtype=dtype), 1, 1, LAST, interpolation)
        for dtype in ("int32", "int64", "uint8"):
            yield call("resize_images", ints(1, 2, 3, 1, high=99, dtype=dtype), 2, 3, LAST, interpolation)
    yield call("resize_images", X, np.int64(2), np.int32(3), LAST, "bilinear")
    yield call("resize_images", X, 2.0, 3.0, LAST)
    odd = np.float32([[[[np.nan], [1]], [[-np.inf], [2]]]])
    yield call("resize_images", odd, 2, 2, LAST)
    yield program("resize_images twice", lambda K, x: K.resize_images(K.resize_images(x, 2, 1, LAST), 1, 2, LAST), X)
    yield call(
        "resize_images",
        array(1, 2, 3, 0),
        2,
        2,
        LAST,
        differs="images without channels are taken",
        expected=lambda x: np.zeros((1, 4, 6, 0), "float32"),
    )


def volumes():
    for factors in [(2, 2, 2), (1, 2, 3), (3, 1, 1), (1, 1, 1)]:
        yield call("resize_volumes", V, *factors, LAST)
        yield call("resize_volumes", V, *factors, FIRST)
    for x in (array(1, 2, 2, 1, 1, dtype="float64"), ints(1, 2, 2, 1, 1), bools(1, 2, 2, 1, 1), array(0, 2, 2, 1, 1)):
        yield call("resize_volumes", x, 2, 1, 2, LAST, ways=KNOWN)


def errors():
    for data_format in (None, "NHWC", "Channels_Last"):
        yield call("resize_images", X, 2, 2, data_format, raises=True)
        yield call("resize_volumes", V, 2, 2, 2, data_format, raises=True)
    for interpolation in ("cubic", "Bilinear", None):
        yield call("resize_images", X, 2, 2, LAST, interpolation, raises=True)
    for factor in (0, -1, 0.5):
        yield call("resize_images", X, factor, 1, LAST, raises=True)
    for factor in (0, -1):
        yield call("resize_volumes", V, 1, factor, 1, LAST, raises=True)
    for shape in ((2, 0, 3, 1), (2, 3, 0, 1)):
        yield call("resize_images", array(*shape), 2, 2, LAST, raises=True, ways=KNOWN)
    yield call("resize_images", array(2, 3, 4, 2, 1), 2, 2, LAST, raises=True)


CASES = [*images(), *volumes(), *errors()]
