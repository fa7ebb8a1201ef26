"""Linear algebra."""

from __future__ import annotations

from typing import Any

from dovetail.ops import infer
from dovetail.ops.kinds import Number
from dovetail.ops.op import primitive
from dovetail.ops.samples import array, sample
from dovetail.ops.shape import sum_like
from dovetail.tensor import Tensor


@primitive(
    "MatMul",
    infer=infer.matmul,
    samples=[
        sample(array(2, 3), array(3, 4)),
        sample(array(5, 3, 2), array(1, 4, 3), transpose_a=True, transpose_b=True),
    ],
)
def matmul(x: Number, y: Number, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product of the last two axes; the axes before them broadcast.

    Source: `tf.linalg.matmul`.

    Example:
        >>> matmul([[1., 2.]], [[3.], [4.]]).numpy()
        array([[11.]], dtype=float32)
    """


@matmul.gradient
def _(op: Any, g: Any) -> Any:
    x, y, ta, tb = op.args
    dx = matmul(y, g, tb, True) if ta else matmul(g, y, False, not tb)
    dy = matmul(g, x, True, ta) if tb else matmul(x, g, not ta, False)
    return sum_like(dx, x), sum_like(dy, y)
