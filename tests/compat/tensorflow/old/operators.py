"""Classes that wrap tensors, and take over their operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.tensorflow.legacy import array


def stand_in(tf: Any) -> type:
    """A class with all operators of `tf.Tensor`, as libraries of random variables have it."""

    class Standing:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        found = getattr(tf.Tensor, name, None)
        if found is not None:
            setattr(Standing, name, lambda self, *given, found=found: found(self.tensor, *given))
    return Standing


def arithmetic(tf: Any, fed: Any) -> Any:
    x, square = stand_in(tf)(tf.get_variable("x", [3])), stand_in(tf)(fed(array(2, 2), [2, 2]))
    pairs = [x + 1.0, 1.0 + x, x - 2.0, 2.0 - x, x * 3.0, 3.0 * x, x / 2.0, 2.0 / x, x**2.0, 2.0**x]
    rest = [x // 0.1, 1.0 // x, x % 0.1, 1.0 % x, -x, abs(x), x[1], x[1:], x < 0.1, x <= 0.1, x > 0.1, x >= 0.1]
    matrix = fed(array(2, 2, seed=1), [2, 2])
    return [*pairs, *rest, square @ matrix, square.__rmatmul__(np.ones((2, 2), "float32"))]


def logic(tf: Any, fed: Any) -> Any:
    b, other = stand_in(tf)(fed(np.array([True, False]), [2])), fed(np.array([True, True]), [2])
    return [b & other, b | other, b ^ other, ~b, b.__rand__(other), b.__ror__(other), b.__rxor__(other)]


CASES = {"arithmetic": arithmetic, "logic": logic}
