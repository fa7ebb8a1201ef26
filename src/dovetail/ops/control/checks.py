"""Ops that return their input, and check its shape, or that nobody asks for its gradient."""

from __future__ import annotations

from typing import Any

from dovetail.core.base.table import OPS
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.calls.static_types import ShapeLike
from dovetail.core.kinds import Anything
from dovetail.core.op import composite
from dovetail.core.tensor import Tensor
from dovetail.core.values import infer
from dovetail.core.values.spec import TensorSpec
from dovetail.ops.control.host_calls import require
from dovetail.ops.math.compare import equal
from dovetail.ops.math.reduce import all as all_of
from dovetail.ops.samples import array, sample
from dovetail.ops.shapes.identity import identity, passed_on
from dovetail.ops.shapes.shape import shape as sizes_of


def _mismatch(found: str, shape: Any) -> str:
    wanted = ",".join("?" if size is None else str(size) for size in shape)
    return f"Shape of tensor {found}is not compatible with expected shape [{wanted}]"


@infer.any_rank
def _ensured(x: TensorSpec, shape: Any) -> TensorSpec:
    wanted = shape_of(shape)
    if not wanted.is_compatible_with(x.shape):
        raise ValueError(f"{_mismatch(f'{list(x.shape or ())} ', shape)}.")
    return TensorSpec(wanted.merge_with(x.shape) if shape is not None else x.shape, x.dtype)


@composite("EnsureShape", cost="move", infer=_ensured, samples=[sample(array(2, 3), shape=(None, 3)), sample(array(4))])
def ensure_shape(x: Anything, shape: ShapeLike = None) -> Tensor:
    """The value itself, which must have a shape whenever it is computed.

    Args:
        x: any tensor.
        shape: the shape, with None for any size; None for any shape.

    Raises:
        ValueError: the value has another shape.

    Source: `tf.ensure_shape`.

    Example:
        >>> ensure_shape([1., 2.], (None,)).numpy()
        array([1., 2.], dtype=float32)
    """
    known: Any = x.shape
    open_axes = [i for i, size in enumerate(shape or ()) if size is not None and known[i] is None]
    if open_axes:
        sizes, wanted = sizes_of(x), [shape[i] for i in open_axes]
        fits = equal(OPS["GatherV2"](sizes, open_axes, 0), wanted)
        require(all_of(fits), (sizes,), f"{_mismatch('', shape)}: it is")
    return identity(x)


ensure_shape.gradient(passed_on)


@composite("PreventGradient", cost="move", infer=infer.same)
def prevent_gradient(x: Anything, message: str = "") -> Tensor:
    """The value itself, whose gradient is an error.

    Args:
        x: any tensor.
        message: the reason, for the error.

    Raises:
        LookupError: a gradient is asked for.

    Source: `tf.raw_ops.PreventGradient`.

    Example:
        >>> prevent_gradient(3., "it is not known").numpy()
        array(3., dtype=float32)
    """
    return identity(x)


@prevent_gradient.gradient
def _(op: Any, g: Any) -> Any:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attr('message')}")
