"""Normalization: FusedBatchNorm, FusedBatchNormV2, FusedBatchNormV3, LRN, and their gradients."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.gradients import through
from dovetail.formats.tensorflow.table import row, writes
from dovetail.formats.tensorflow.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, rank_of

_NORM = "epsilon is_training exponential_avg_factor:factor data_format@layout"


@row(
    f"FusedBatchNorm: x scale offset mean variance; {_NORM}",
    f"FusedBatchNormV2: x scale offset mean variance; {_NORM}",
)
def batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    data_format: str,
    epsilon: float = 1e-4,
    is_training: bool = True,
    factor: float = 1.0,
) -> list[Any]:
    """The normalized values, and the mean and the variance twice: unbiased, and as they were used.

    Raises:
        Unreadable: it updates averages.
    """
    axis = -1 if data_format == "channels_last" else 1
    if not is_training:
        y = OPS["BatchNormalization"](x, mean, variance, offset, scale, axis, epsilon)
        return [y, mean, variance, mean, variance]
    if factor != 1.0:
        raise Unreadable("it updates averages as it computes")
    axes = [i for i in range(rank_of(x)) if i != axis % rank_of(x)]
    mean, variance = ops.moments(ops.cast(x, scale.dtype), axes)
    y = OPS["BatchNormalization"](x, mean, variance, offset, scale, axis, epsilon)
    count = ops.cast(ops.prod(ops.shape(x)) // ops.shape(x)[axis], variance.dtype)
    return [y, mean, variance * (count / ops.maximum(count - 1, 1)), mean, variance]


@row(f"FusedBatchNormV3: x scale offset mean variance; {_NORM}")
def _(x: Any, scale: Any, **others: Any) -> Any:
    return [*batch_norm(x, scale, **others), ops.zeros([0], scale.dtype)]


@row("LRN: x; depth_radius:radius bias alpha beta")
def local_response(x: Any, radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> Any:
    """Values over a power of the squares of the channels around them."""
    squares = OPS["PadV2"](ops.square(x), [0, 0, 0, radius], [0, 0, 0, radius])
    depth = dims_of(x)[-1]
    total = squares[..., :depth]
    for i in range(1, 2 * radius + 1):
        total = total + squares[..., i : depth + i]
    return x / (bias + alpha * total) ** beta


_GRADIENT = "epsilon is_training data_format@layout"


@row(
    f"FusedBatchNormGrad: g x scale mean variance; {_GRADIENT}",
    f"FusedBatchNormGradV2: g x scale mean variance; {_GRADIENT}",
    f"FusedBatchNormGradV3: g x scale mean variance reserved; {_GRADIENT}",
)
def _(
    g: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    data_format: str,
    reserved: Any = None,
    epsilon: float = 1e-4,
    is_training: bool = True,
) -> list[Any]:
    def norm(x: Any, scale: Any, offset: Any) -> Any:
        return batch_norm(x, scale, offset, mean, variance, data_format, epsilon, is_training)[0]

    nothing = ops.zeros([], scale.dtype)
    return [*through(norm, g, x, scale, ops.zeros_like(scale)), nothing, nothing]


@row("LRNGrad: g x y; depth_radius:radius bias alpha beta")
def _(g: Any, x: Any, y: Any, **numbers: Any) -> Any:
    return through(lambda x: local_response(x, **numbers), g, x)


# -- writing ----------------------------------------------------------------------------------------------------------


def _is_image(operation: Operation) -> bool:
    x, *others = operation.inputs
    axis = operation.attrs["axis"]
    return (
        len(others) == 4 and x.dtype.name == "float32" and x.shape is not None and rank_of(x) == 4 and axis in (3, -1)
    )


@writes("BatchNormalization", _is_image)
def _normalize(
    place: Place, x: Ref, mean: Ref, variance: Ref, offset: Ref, scale: Ref, axis: int, epsilon: float
) -> list[Ref]:
    inputs = x, scale, offset, mean, variance
    return place.result("FusedBatchNormV3", *inputs, epsilon=epsilon, is_training=False, data_format="NHWC")
