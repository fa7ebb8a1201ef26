"""Cases of Python's operators by name: NumPy's results replace the oracle's."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call

NAMED = {"differs": "tf.keras has the operators alone"}
OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((0, 3), (3,))]

CASES = [
    *(
        call(name, array(*a), array(*b, low=0.5), **NAMED, expected=operator)
        for name, operator in OPERATORS.items()
        for a, b in SHAPES
    ),
    *(
        call(name, array(4, dtype="float64"), 2, **NAMED, expected=lambda x, f=f: f(x, 2))
        for name, f in OPERATORS.items()
    ),
    *(
        call(name, ints(4, low=1, high=9), ints(4, low=1, high=9), **NAMED, expected=f)
        for name, f in OPERATORS.items()
        if name != "divide"
    ),
    call(
        "divide",
        ints(4, low=1, high=9),
        ints(4, low=1, high=9),
        **NAMED,
        expected=lambda x, y: (x / y).astype("float32"),
    ),
]
