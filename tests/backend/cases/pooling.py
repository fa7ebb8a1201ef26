"""Cases of pools: windows, strides, padding and layouts; then dtypes, unusual values and errors."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call

FIRST = "channels_first"
KNOWN = ("eager", "compiled")  # the size of the images must be known
X2, X3 = array(2, 5, 6, 3), array(1, 4, 5, 3, 2)
F2, F3 = array(2, 3, 5, 6), array(1, 2, 4, 5, 3)  # channels first
MODES = ("max", "avg")
INFINITE = float("inf")


def windows():
    for name, last, first, choices in [
        ("pool2d", X2, F2, [((2, 2), (1, 1)), ((2, 2), (2, 2)), ((3, 2), (2, 1)), ((1, 4), (3, 2)), ((2, 2), (9, 9))]),
        ("pool3d", X3, F3, [((2, 2, 2), (1, 1, 1)), ((2, 3, 1), (2, 2, 2)), ((1, 2, 3), (1, 3, 2))]),
    ]:
        for mode in MODES:
            yield call(name, last, (2,) * (len(last.shape) - 2), pool_mode=mode)
            for size, strides in choices:
                for padding in ("valid", "same"):
                    yield call(name, last, size, strides, padding, pool_mode=mode)
                    yield call(name, first, size, strides, padding, FIRST, mode)
            yield call(name, last, (7,) * (len(last.shape) - 2), padding="same", pool_mode=mode)


def without_elements():
    """Cases without elements. If oneDNN's kernel has nothing to do, the oracle's result has the shape of `x`."""
    for name, shape, result in [
        ("pool2d", (0, 5, 6, 3), (0, 4, 5, 3)),
        ("pool3d", (0, 3, 4, 3, 1), (0, 2, 3, 2, 1)),
    ]:
        for mode in MODES:
            yield call(
                name,
                array(*shape),
                (2,) * (len(shape) - 2),
                pool_mode=mode,
                differs="without elements, the result has the shape that it has with some",
                expected=lambda x, shape=result: np.zeros(shape, "float32"),
            )
    yield call("pool2d", array(2, 0, 6, 3), (2, 2), padding="same")
    yield call("pool2d", array(2, 0, 6, 3), (2, 3), (2, 2), padding="same", pool_mode="avg")


def dtypes():
    for dtype in ("float16", "float64"):
        for mode in MODES:
            yield call("pool2d", array(1, 4, 3, 2, dtype=dtype), (2, 2), padding="same", pool_mode=mode)
            yield call(
                "pool3d",
                array(1, 4, 3, 2, 2, dtype=dtype),
                (2, 2, 1),
                pool_mode=mode,
                differs="dtypes other than float32 are taken",
                expected=lambda x, mode=mode: of_windows(x, (2, 2, 1), mode),
            )
    for dtype in ("int32", "int64", "uint8", "int16"):
        yield call("pool2d", ints(1, 4, 3, 2, low=0, high=100, dtype=dtype), (2, 2), (2, 1), "same")
    yield call("pool2d", ints(1, 4, 3, 1, low=-100, high=-50), (2, 2), (2, 1), "same")
    yield call(
        "pool3d",
        ints(1, 4, 3, 2, 2),
        (2, 2, 1),
        differs="dtypes other than float32 are taken",
        expected=lambda x: of_windows(x, (2, 2, 1), "max"),
    )
    yield call(
        "pool2d",
        ints(1, 4, 3, 2),
        (2, 2),
        pool_mode="avg",
        differs="means of integers are floats",
        expected=lambda x: of_windows(x, (2, 2), "avg").astype("float32"),
    )


def of_windows(x, size, mode):
    axes = tuple(range(1, len(size) + 1))
    found = np.lib.stride_tricks.sliding_window_view(x, size, axes)
    inside = tuple(range(-len(size), 0))
    return found.max(inside) if mode == "max" else found.mean(inside)


def odd_values():
    x = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    x[0, 0, 0], x[0, 3, 3], x[0, 3, 0] = np.nan, np.inf, -np.inf
    yield call("pool2d", x, (2, 2), pool_mode="avg")
    yield call("pool2d", x[:, 1:], (2, 2), padding="same")
    yield call(
        "pool2d",
        x,
        (2, 2),
        (2, 2),
        differs="the maximum of a window with a NaN is NaN",
        expected=lambda x: of_windows(x, (2, 2), "max")[:, ::2, ::2],
    )
    yield call(
        "pool2d",
        np.full((1, 2, 2, 1), -np.inf, "float32"),
        (2, 2),
        padding="same",
        differs="the maximum of minus infinities is that",
        expected=lambda x: x,
    )


def errors():
    for name, x, rank in (("pool2d", X2, 2), ("pool3d", X3, 3)):
        size = (2,) * rank
        for options in [
            {"padding": "causal"},
            {"padding": "SAME"},
            {"padding": None},
            {"data_format": "NHWC"},
            {"pool_mode": "mean"},
            {"pool_mode": "MAX"},
            {"pool_mode": None},
        ]:
            yield call(name, x, size, **options, raises=True)
        for mode in MODES:
            yield call(name, x, (0,) * rank, pool_mode=mode, raises=True)
            yield call(name, x, (9,) * rank, pool_mode=mode, raises=True, ways=KNOWN)
            yield call(name, x, size, (0,) * rank, pool_mode=mode, raises=True)
        yield call(name, x, size, 2, raises=True)
    yield call("pool2d", X2, 2, raises=True)
    yield call("pool2d", X2, (2,), raises=True)
    yield call("pool2d", X2, (2, 2), (2,), raises=True)
    yield call("pool2d", X2, (2, 2), (2, 2, 2), raises=True)
    yield call("pool2d", array(5, 6, 3), (2, 2), raises=True)
    yield call("pool2d", array(2, 0, 6, 3), (2, 2), raises=True, ways=KNOWN)
    yield call(
        "pool2d",
        X2,
        [2, 2],
        [1, 2],
        differs="sizes may be lists",
        expected=lambda x: of_windows(x, (2, 2), "max")[:, :, ::2],
    )


CASES = [*windows(), *without_elements(), *dtypes(), *odd_values(), *errors()]
