"""Cases of comparisons."""

import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call

NAN, INF = float("nan"), float("inf")
X = np.array([NAN, NAN, INF, -INF, 0.0, 1.0, 2.0], "float32")
Y = np.array([NAN, 1.0, INF, INF, -0.0, 2.0, 1.0], "float32")
NAMES = ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]

CASES = [
    case
    for name in NAMES
    for case in (
        call(name, X, Y),
        call(name, ints(2, 3, high=3), ints(2, 3, high=3)),
        call(name, ints(2, 3, high=3, dtype="int64"), ints(3, high=3, dtype="int64")),
        call(name, ints(2, 1, high=3, dtype="uint8"), ints(3, high=3, dtype="uint8")),
        call(name, array(2, 3, dtype="float64"), array(3, dtype="float64")),
        call(name, array(3, dtype="float16"), 0.5),
        call(name, ints(5, high=3), 1),
        call(name, 1, ints(5, high=3)),
        call(name, array(), array()),
        call(name, array(0, 3), array(3)),
        call(name, array(2, 0), 1.0),
        call(name, array(3), [0.0, 1.0, 2.0]),
        call(name, array(2, 3), array(2), raises=True),
        call(
            name,
            np.array([1.0, 2.5], "float32"),
            np.array([1, 2], "int32"),
            differs="two dtypes are promoted",
            expected=lambda x, y, f=name: getattr(np, f)(x, y),
        ),
    )
] + [call(name, bools(2, 3), bools(3)) for name in ("equal", "not_equal")]
