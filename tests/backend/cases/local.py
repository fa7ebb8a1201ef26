"""Cases of locally connected layers: windows and layouts, dtypes, errors."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

FIRST = "channels_first"
KNOWN = ("eager", "compiled")  # the number of windows, or the size of the input, must be known
X1, F1 = array(2, 5, 3), array(2, 3, 5)
X2, F2 = array(2, 4, 5, 3), array(2, 3, 4, 5)
K1, K2 = array(4, 6, 2), array(12, 12, 2)


def sequences():
    for size, strides, windows in [(2, 1, 4), (2, 2, 2), (2, 1, 3), (1, 1, 5), (5, 1, 1), (3, 2, 2), (1, 3, 2)]:
        kernel = array(windows, size * 3, 2)
        yield call("local_conv1d", X1, kernel, (size,), (strides,), ways=KNOWN)
        yield call("local_conv1d", F1, kernel, (size,), (strides,), FIRST, ways=KNOWN)
    yield call("local_conv1d", X1, K1, [2], [1], ways=KNOWN)
    yield call("local_conv1d", array(0, 5, 3), K1, (2,), (1,), ways=KNOWN)
    yield call("local_conv1d", np.float32([[[np.nan], [np.inf], [0], [1]]]), array(3, 2, 1), (2,), (1,), ways=KNOWN)
    kernel = np.arange(24, dtype="float32").reshape(4, 6, 1)

    def known_kernel(K, x):
        return K.local_conv1d(x, K.constant(kernel), (2,), (1,))

    def variable(K, x):
        return K.local_conv1d(x, K.variable(kernel), (2,), (1,), FIRST)

    yield program("local_conv1d kernel is a constant", known_kernel, X1)
    yield program("local_conv1d kernel is a variable", variable, F1)


def images():
    for size, strides, windows in [
        ((2, 2), (1, 1), (3, 4)),
        ((2, 2), (2, 3), (2, 2)),
        ((3, 1), (1, 2), (2, 3)),
        ((1, 2), (3, 1), (2, 2)),
        ((4, 5), (1, 1), (1, 1)),
        ((2, 2), (1, 1), (2, 1)),
    ]:
        kernel = array(windows[0] * windows[1], size[0] * size[1] * 3, 2)
        yield call("local_conv2d", X2, kernel, size, strides, windows)
        yield call("local_conv2d", F2, kernel, size, strides, windows, FIRST)
    yield call("local_conv2d", array(0, 4, 5, 3), K2, (2, 2), (1, 1), (3, 4))
    yield call(
        "local_conv2d",
        X2,
        np.ones((12, 12, 2), "float32"),
        (2, 2),
        (1, 1),
        [3, 4],
        differs="`output_shape` may be a list",
        expected=lambda x, k: np.repeat(
            np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 2)).sum((3, 4, 5))[..., None], 2, -1
        ),
    )


def dtypes():
    for dtype in ("float16", "float64"):
        yield call("local_conv1d", array(2, 5, 3, dtype=dtype), array(4, 6, 2, dtype=dtype), (2,), (1,), ways=KNOWN)
        kernel = array(12, 12, 2, dtype=dtype)
        yield call("local_conv2d", array(1, 4, 5, 3, dtype=dtype), kernel, (2, 2), (1, 1), (3, 4), tolerance=4)
    for dtype in ("int32", "int64"):
        yield call("local_conv1d", ints(2, 5, 3, dtype=dtype), ints(4, 6, 2, dtype=dtype), (2,), (1,), ways=KNOWN)
    yield call(
        "local_conv1d",
        array(2, 5, 3, dtype="float64"),
        np.ones((4, 6, 1), "float32"),
        (2,),
        (1,),
        ways=KNOWN,
        differs="tensors of two dtypes are promoted",
        expected=lambda x, k: (x[:, :-1] + x[:, 1:]).sum(-1, keepdims=True),
    )


def errors():
    for x, kernel, options in [
        (X1, array(5, 6, 2), {}),
        (X1, array(4, 5, 2), {}),
        (X1, array(0, 6, 2), {}),
        (array(4, 3, 3), K1, {}),
        (array(2, 5), K1, {}),
        (X1, K1, {"data_format": "NWC"}),
    ]:
        yield call("local_conv1d", x, kernel, (2,), (1,), **options, raises=True, ways=KNOWN)
    yield call("local_conv1d", X1, K1, 2, 1, raises=True, ways=KNOWN)
    for kernel, windows in [(K2, (4, 3)), (K2, (2, 6)), (array(11, 12, 2), (3, 4)), (array(12, 11, 2), (3, 4))]:
        yield call("local_conv2d", X2, kernel, (2, 2), (1, 1), windows, raises=True, ways=KNOWN)
    yield call("local_conv2d", X2, K2, (2, 2), (1, 1), (3, 4), "NHWC", raises=True)
    yield call("local_conv2d", X2, K2, 2, 1, (3, 4), raises=True)


CASES = [*sequences(), *images(), *dtypes(), *errors()]
