"""Comparison, logic and selection."""

from __future__ import annotations

from typing import Any

from dovetail.ops.infer import elementwise, elementwise_as
from dovetail.ops.kinds import Anything, Bool
from dovetail.ops.op import primitive
from dovetail.ops.samples import array, bools, sample, binary
from dovetail.ops.shape import sum_like
from dovetail.tensor import Tensor

to_bool = elementwise_as("bool")


@primitive("Greater", infer=to_bool, differentiable=False, samples=binary())
def greater(x: Anything, y: Anything) -> Tensor:
    """Whether `x > y`, elementwise, with broadcasting.

    Source: `numpy.greater`.

    Example:
        >>> greater([1, 3], 2).numpy()
        array([False,  True])
    """


@primitive("SelectV2", infer=elementwise, samples=[sample(bools(2, 3), array(2, 3), array(3))])
def where(condition: Bool, x: Anything, y: Anything) -> Tensor:
    """Elements of `x` where the condition holds, of `y` elsewhere; all three broadcast.

    Source: `numpy.where`.

    Example:
        >>> where([True, False], [1, 2], 0).numpy()
        array([1, 0], dtype=int32)
    """


@where.gradient
def _(op: Any, g: Any) -> Any:
    condition, x, y = op.inputs
    return None, sum_like(where(condition, g, 0), x), sum_like(where(condition, 0, g), y)
