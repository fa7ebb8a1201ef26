"""Writing of layers that ONNX has as one operator: recurrent layers, normalization, attention, and sizes of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.formats.onnx.ops.convolutions import first, given_back
from dovetail.formats.onnx.table import writes
from dovetail.formats.onnx.written_nodes import Place, Ref
from dovetail.graph.operation import Operation
from dovetail.ops.nn.attention import HIDDEN

# -- recurrent layers -------------------------------------------------------------------------------------------------


def _weights(place: Place, x: Ref, order: Any) -> Ref:
    """A matrix (features, gates · units) as ONNX's (1, gates · units, features), its gates in another order."""
    return place.node("Unsqueeze", place.node("Transpose", _gates(place, x, order), perm=[1, 0]), place.constant([0]))


def _gates(place: Place, x: Ref, order: Any) -> Ref:
    """The parts along the last axis in another order."""
    if [*order] == sorted(order):
        return x
    count = len(order) if place.opset >= 18 else None
    parts = place.several("Split", x, dtypes=[x.dtype] * len(order), axis=-1, num_outputs=count)
    return place.node("Concat", [parts[number] for number in order], axis=-1)


def _layer(place: Place, type: str, x: Ref, states: Any, matrices: Any, bias: Ref | None, **attrs: Any) -> list[Ref]:
    """The outputs of all steps, and the states behind the last."""
    axis = place.constant([0])
    given = [None if bias is None else place.node("Unsqueeze", bias, axis), None]
    given += [place.node("Unsqueeze", state, axis) for state in states]
    dtypes = [x.dtype] * (1 + len(states))
    by_step = place.node("Transpose", x, perm=[1, 0, 2])
    units = place.made[-1][-1]
    outputs, *last = place.several(type, by_step, *matrices, *given, dtypes=dtypes, hidden_size=units, **attrs)
    outputs = place.node("Transpose", place.node("Squeeze", outputs, place.constant([1])), perm=[1, 0, 2])
    return [outputs, *(place.node("Squeeze", state, axis) for state in last)]


IOFC = (0, 3, 1, 2)  # ONNX's order of the gates of an LSTM, by their numbers here


def _is_run(operation: Operation) -> bool:
    """Whether ONNX Runtime has a kernel, for float32 alone and not for a batch of none, and the units are known."""
    x, units = operation.inputs[0], (operation.outputs[-1].shape or (None,))[-1]
    return x.dtype.name == "float32" and x.shape is not None and 0 not in x.shape and units is not None


@writes("LSTM", _is_run)
def _lstm(place: Place, x: Ref, h: Ref, c: Ref, kernel: Ref, recurrent: Ref, bias: Ref | None) -> list[Ref]:
    matrices = [_weights(place, one, IOFC) for one in (kernel, recurrent)]
    if bias is not None:
        moved = _gates(place, bias, IOFC)
        bias = place.node("Concat", [moved, place.constant(np.zeros(place.shapes[-1]), x.dtype)], axis=0)
    return _layer(place, "LSTM", x, (h, c), matrices, bias)


@writes("GRU", _is_run)
def _gru(place: Place, x: Ref, h: Ref, kernel: Ref, recurrent: Ref, bias: Ref | None) -> list[Ref]:
    matrices = [_weights(place, one, range(3)) for one in (kernel, recurrent)]
    bias = None if bias is None else place.node("Reshape", bias, place.constant([-1]))
    return _layer(place, "GRU", x, (h,), matrices, bias, linear_before_reset=1)


@writes("GRUResetBefore", _is_run)
def _gru_before(place: Place, x: Ref, h: Ref, kernel: Ref, recurrent: Ref, bias: Ref | None) -> list[Ref]:
    matrices = [_weights(place, one, range(3)) for one in (kernel, recurrent)]
    if bias is not None:
        bias = place.node("Concat", [bias, place.constant(np.zeros(place.shapes[-1]), x.dtype)], axis=0)
    return _layer(place, "GRU", x, (h,), matrices, bias)


# -- normalization ----------------------------------------------------------------------------------------------------


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
    moved = first(place, x, rank, layout)
    normalized = place.node("BatchNormalization", moved, scale, offset, mean, variance, epsilon=epsilon)
    return given_back(place, normalized, rank, layout)


# -- attention --------------------------------------------------------------------------------------------------------


def _has_heads(operation: Operation) -> bool:
    return operation.inputs[0].dtype.name == "float32" and len(operation.inputs[0].shape or ()) == 4


@writes("ScaledDotProductAttention", _has_heads)
def _attention(
    place: Place, query: Ref, key: Ref, value: Ref, mask: Ref | None, scale: float | None, is_causal: bool
) -> list[Ref]:
    """A mask of truth values becomes scores that are finite: a target that sees nothing gets the mean of all."""
    if not place.has("Attention"):
        return place.by_body()
    if mask is not None and mask.dtype.is_bool:
        ends = place.constant(0, query.dtype), place.constant(HIDDEN, query.dtype)
        mask = place.node("Where", mask, *ends, dtype=query.dtype)
    return place.result("Attention", query, key, value, mask, scale=scale, is_causal=int(is_causal))


# -- images -----------------------------------------------------------------------------------------------------------

RESIZED = {
    "ResizeNearestNeighbor": {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    "ResizeBilinear": {"mode": "linear"},
}


@writes(" ".join(RESIZED), lambda operation: operation.inputs[0].dtype.name == "float32")
def _resize(place: Place, x: Ref, size: Any, layout: str) -> list[Ref]:
    x = first(place, x, 2, layout)
    kept = place.node("Slice", place.shape(x), place.constant([0]), place.constant([2]))
    sizes = place.node("Concat", [kept, place.ints(size)], axis=0)
    attrs = {**RESIZED[place.operation.type], "coordinate_transformation_mode": "half_pixel"}
    return given_back(place, place.node("Resize", x, None, None, sizes, **attrs), 2, layout)
