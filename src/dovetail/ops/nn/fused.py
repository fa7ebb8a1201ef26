"""Fused ops: compositions for which some libraries have one kernel.

Programs are not written with these; `passes.fuse` puts them in where the engine claims them.
"""

from __future__ import annotations

from dovetail.core import infer
from dovetail.core.infer import elementwise
from dovetail.core.kinds import Float
from dovetail.core.op import composite
from dovetail.core.spec import TensorSpec
from dovetail.core.tensor import Tensor
from dovetail.ops.linalg.linalg import matmul
from dovetail.ops.samples import array, sample


def _matmul_add_spec(bias: TensorSpec, x: TensorSpec, y: TensorSpec, *transposed: bool) -> TensorSpec:
    product = infer.matmul(x, y, *transposed)
    return TensorSpec(infer.broadcast(bias.shape, product.shape), product.dtype)


@composite(
    "FusedMatMul",
    infer=_matmul_add_spec,
    samples=[
        sample(array(4), array(2, 3), array(3, 4)),
        sample(array(2, 4), array(3, 2), array(4, 3), transpose_a=True, transpose_b=True),
    ],
)
def matmul_add(bias: Float, x: Float, y: Float, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """The product of two matrices plus a bias that broadcasts to it.

    Source: `torch.addmm`.

    Example:
        >>> matmul_add([1., 2.], [[1., 1.]], [[3., 4.], [5., 6.]]).numpy()
        array([[ 9., 12.]], dtype=float32)
    """
    return matmul(x, y, transpose_a, transpose_b) + bias


@composite(
    "AddScaled", infer=elementwise, samples=[sample(array(2, 3), array(2, 3), -0.5), sample(array(2), array(), 2.0)]
)
def add_scaled(x: Float, y: Float, scale: float) -> Tensor:
    """The sum `x + scale * y`; a step of gradient descent.

    Source: `torch.add` with `alpha`.

    Example:
        >>> add_scaled([1., 2.], [10., 20.], -0.1).numpy()
        array([0., 0.], dtype=float32)
    """
    return x + scale * y


__all__ = ["add_scaled", "matmul_add"]
