"""Normalization over axes, groups and neighbours: BatchNormalization, LayerNormalization, LRN and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import known_size
from dovetail.formats.onnx.table import row, writes
from dovetail.formats.onnx.windows import channels_first, given_back
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.shapes.shape import dims_of, known_dims, rank_of

# -- reading ----------------------------------------------------------------------------------------------------------


def by_channel(value: Any, x: Any) -> Any:
    """A vector of the channels, which are the second axis, as a factor of a tensor."""
    return ops.reshape(value, [1, -1, *[1] * (rank_of(x) - 2)])


@row(
    "BatchNormalization 1-13: x scale bias mean variance; epsilon momentum spatial=1",
    "BatchNormalization 14: x scale bias mean variance; epsilon momentum training_mode:training",
)
def _(
    x: Any,
    scale: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training: int = 0,
) -> Any:
    """The normalized input; in training, by its own moments, with the next running ones."""
    running: list[Any] = []
    if training:
        axes = [0, *range(2, rank_of(x))]
        own = ops.moments(x, axes)
        pairs = zip((mean, variance), own, strict=True)
        running = [ops.cast(old * momentum + new * (1 - momentum), old.dtype) for old, new in pairs]
        mean, variance = own
    factor = scale * ops.rsqrt(variance + epsilon)
    normalized = x * by_channel(factor, x) + by_channel(bias - mean * factor, x)
    return [ops.cast(normalized, x.dtype), *running]


@row("InstanceNormalization: x scale bias; epsilon")
def _(x: Any, scale: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    normalized, _, _ = standard(x, [*range(2, rank_of(x))], epsilon)
    return normalized * by_channel(scale, x) + by_channel(bias, x)


def standard(x: Any, axes: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """Numbers with the mean 0 and the deviation 1 along axes, the mean, and the inverse of the deviation."""
    mean, variance = ops.moments(x, axes, keepdims=True)
    inverse = ops.rsqrt(variance + epsilon)
    return (x - mean) * inverse, mean, inverse


@row("GroupNormalization: x scale bias; num_groups:groups epsilon stash_type")
def _(x: Any, scale: Any, bias: Any, groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """Groups of channels; in version 18, scale and bias are those of the groups."""
    dims = dims_of(x)
    each = ops.reshape(x, [dims[0], groups, -1])
    normalized = ops.reshape(standard(ops.cast(each, "float32"), [2], epsilon)[0], dims)
    if known_dims(scale) == (groups,) and known_dims(x)[1:2] != (groups,):
        scale, bias = (ops.repeat(one, known_size(x, 1) // groups) for one in (scale, bias))
    return ops.cast(normalized, x.dtype) * by_channel(scale, x) + by_channel(bias, x)


@row("LayerNormalization 17: x scale bias; axis epsilon stash_type")
def _(x: Any, scale: Any, bias: Any = None, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    axes = [*range(axis % rank_of(x), rank_of(x))]
    normalized, mean, inverse = standard(ops.cast(x, "float32") if stash_type == 1 else x, axes, epsilon)
    scaled = ops.cast(normalized, x.dtype) * scale
    return scaled if bias is None else scaled + bias, mean, inverse


@row("RMSNormalization: x scale; axis epsilon stash_type")
def _(x: Any, scale: Any, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    axes = [*range(axis % rank_of(x), rank_of(x))]
    wide = ops.cast(x, "float32") if stash_type == 1 else x
    return ops.cast(wide * ops.rsqrt(ops.mean(ops.square(wide), axes, True) + epsilon), x.dtype) * scale


@row("LpNormalization: x; axis p")
def _(x: Any, axis: int = -1, p: int = 2) -> Any:
    norm = ops.sum(ops.absolute(x), axis, True) if p == 1 else ops.sqrt(ops.sum(ops.square(x), axis, True))
    return ops.where(ops.equal(norm, 0), ops.zeros_like(x), x / norm)


@row("MeanVarianceNormalization: x; axes")
def _(x: Any, axes: Any = (0, 2, 3)) -> Any:
    mean, variance = ops.moments(x, list(axes), keepdims=True)
    return (x - mean) / (ops.sqrt(variance) + 1e-9)


@row("LRN: x; size alpha beta bias")
def _(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    widths = [(0, 0)] * rank_of(x)
    widths[1] = ((size - 1) // 2, size // 2)
    squares = ops.pad(ops.square(x), widths)
    total = sum(squares[:, i : i + dims_of(x)[1]] for i in range(size))
    return x / ops.power(total * (alpha / size) + bias, beta)


# -- writing ----------------------------------------------------------------------------------------------------------


def _axes(operation: Operation) -> list[int] | None:
    """The axes as numbers from the start, if they are the last ones and their sizes are known."""
    shape, axis = operation.inputs[0].shape, operation.attrs["axis"]
    if shape is None:
        return None
    axes = sorted(one % len(shape) for one in ([axis] if isinstance(axis, int) else axis or range(len(shape))))
    is_last = axes == [*range(len(shape) - len(axes), len(shape))]
    return axes if is_last and None not in shape[axes[0] :] else None


@writes("LayerNormalization", lambda operation: _axes(operation) is not None)
def _layer_norm(place: Place, x: Ref, gamma: Ref | None, beta: Ref | None, axis: Any, epsilon: float) -> list[Ref]:
    if not place.has("LayerNormalization"):
        return place.by_body()
    start = (_axes(place.operation) or [0])[0]
    gamma = place.constant(np.ones(place.shapes[0][start:]), x.dtype) if gamma is None else gamma
    return place.result("LayerNormalization", x, gamma, beta, axis=start, epsilon=epsilon)


@writes("RmsNormalization", lambda operation: _axes(operation) is not None)
def _rms_norm(place: Place, x: Ref, scale: Ref | None, axis: Any, epsilon: float) -> list[Ref]:
    start = (_axes(place.operation) or [0])[0]
    if not place.has("RMSNormalization"):
        return place.by_body()
    scale = place.constant(np.ones(place.shapes[0][start:]), x.dtype) if scale is None else scale
    return place.result("RMSNormalization", x, scale, axis=start, epsilon=epsilon)


def _has_batches(operation: Operation) -> bool:
    shape, (channels,) = operation.inputs[0].shape, operation.inputs[1].shape or (None,)
    is_channel = shape and len(shape) > 1 and operation.attrs["axis"] % len(shape) in (1, len(shape) - 1)
    return bool(is_channel and channels and operation.inputs[0].dtype.name == "float32")


@writes("BatchNormalization", _has_batches)
def _batch_norm(
    place: Place, x: Ref, mean: Ref, variance: Ref, offset: Ref | None, scale: Ref | None, axis: int, epsilon: float
) -> list[Ref]:
    shape, (channels,) = place.shapes[0], place.shapes[1]
    rank, layout = len(shape) - 2, "channels_first" if axis % len(shape) == 1 else "channels_last"
    scale = place.constant(np.ones(channels), x.dtype) if scale is None else scale
    offset = place.constant(np.zeros(channels), x.dtype) if offset is None else offset
    moved = channels_first(place, x, rank, layout)
    normalized = place.node("BatchNormalization", moved, scale, offset, mean, variance, epsilon=epsilon)
    return given_back(place, normalized, rank, layout)
