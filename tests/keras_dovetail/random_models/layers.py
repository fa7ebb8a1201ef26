"""Random layers as data, in tables by the rank of a sample: vectors, sequences, images."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.keras_dovetail.random_models.data import Data, Draw, Shape, new, some

ACTIVATIONS = (
    *("relu", "tanh", "sigmoid", "elu", "gelu", "softplus", "silu", "leaky_relu", "selu", "softsign", "mish"),
    *("linear", "hard_sigmoid", "relu6", "softmax", "log_sigmoid", "celu", "exponential", None),
)


class Drawn(NamedTuple):
    """A layer, the shape of a sample that it gives, and how it is called.

    Attributes:
        layer: as data.
        shape: the shape of its result for a sample.
        call: further arguments of the call.
        takes: how often its input is given: twice for attention.
        apart: whether several inputs are separate arguments, rather than a list.
        pick: the index of the result that goes on; None if there is one result.
    """

    layer: Data
    shape: Shape
    call: Data = {}  # noqa: RUF012  nobody changes it
    takes: int = 1
    apart: bool = False
    pick: int | None = None


Table = dict[str, Callable[[Draw, Shape], Drawn]]


def weights(draw: Draw) -> Data:
    """Options of a layer with a kernel: activations, regularizers, constraints."""
    regularizers = ["l2", new("regularizers.L1L2", l1=0.01, l2=0.02), new("regularizers.L1", l1=0.02)]
    constraints = ["non_neg", new("constraints.MaxNorm", max_value=0.8), new("constraints.UnitNorm")]
    return {
        "activation": draw.choice(ACTIVATIONS),
        **some(draw, 0.2, use_bias=False),
        **some(draw, 0.15, kernel_regularizer=regularizers),
        **some(draw, 0.1, activity_regularizer=regularizers),
        **some(draw, 0.1, kernel_constraint=constraints),
    }


def _dense(draw: Draw, shape: Shape) -> Drawn:
    units = draw.randint(2, 5)
    return Drawn(new("layers.Dense", units=units, **weights(draw)), (*shape[:-1], units))


def _same(kind: str, **options: object) -> Callable[[Draw, Shape], Drawn]:
    """A layer that keeps shapes. Each list among the options is a choice."""

    def drawn(draw: Draw, shape: Shape) -> Drawn:
        return Drawn(new(kind, **some(draw, 1.0, **options)), shape)

    return drawn


def _batch_norm(draw: Draw, shape: Shape) -> Drawn:
    axes = [-1, *range(1, len(shape) + 1)]
    options = {"momentum": [0.5, 0.9], "scale": [True, True, False], "center": [True, True, False], "axis": axes}
    return Drawn(new("layers.BatchNormalization", **some(draw, 1.0, **options)), shape)


def _flat(draw: Draw, shape: Shape) -> Drawn:
    size = 1
    for length in shape:
        size *= length
    return Drawn(new("layers.Flatten"), (size,))


def _global(*kinds: str) -> Callable[[Draw, Shape], Drawn]:
    return lambda draw, shape: Drawn(new(draw.choice(kinds)), shape[-1:])


def _slid(length: int, size: int, stride: int, padding: str) -> int:
    return -(-length // stride) if padding != "valid" else (length - size) // stride + 1


def _window(draw: Draw, shape: Shape, size: int) -> tuple[Data, Shape]:
    """Strides and padding of a window over all axes except the last one, and the resulting lengths."""
    padding = "same" if min(shape[:-1]) < size else draw.choice(["same", "valid"])
    stride = draw.choice([1, 1, 2])
    return {"strides": stride, "padding": padding}, tuple(_slid(n, size, stride, padding) for n in shape[:-1])


def _conv(kind: str) -> Callable[[Draw, Shape], Drawn]:
    def drawn(draw: Draw, shape: Shape) -> Drawn:
        size, filters = draw.choice([1, 2, 3]), draw.randint(2, 4)
        window, lengths = _window(draw, shape, size)
        options = {"kernel_size": size, **window, "activation": draw.choice(ACTIVATIONS)}
        if "Depthwise" in kind:
            return Drawn(new(f"layers.{kind}", **options), (*lengths, shape[-1]))
        return Drawn(new(f"layers.{kind}", filters=filters, **options), (*lengths, filters))

    return drawn


def _pool(*kinds: str) -> Callable[[Draw, Shape], Drawn]:
    def drawn(draw: Draw, shape: Shape) -> Drawn:
        window, lengths = _window(draw, shape, 2)
        return Drawn(new(draw.choice(kinds), pool_size=2, **window), (*lengths, shape[-1]))

    return drawn


def _cell(draw: Draw) -> tuple[str, int, Data]:
    kind, units = draw.choice(["LSTM", "GRU", "SimpleRNN"]), draw.randint(2, 4)
    options = some(draw, 0.3, recurrent_activation=["sigmoid", "hard_sigmoid"]) if kind != "SimpleRNN" else {}
    if kind == "GRU":
        options |= some(draw, 0.5, reset_after=False)
    if kind == "LSTM":
        options |= some(draw, 0.3, unit_forget_bias=False)
    return kind, units, {"units": units, **options, **some(draw, 0.3, activation=["relu", "tanh", "sigmoid"])}


def _recurrent(draw: Draw, shape: Shape) -> Drawn:
    kind, units, options = _cell(draw)
    returns = draw.random() < 0.6
    options |= {"return_sequences": returns, **some(draw, 0.3, go_backwards=True), **some(draw, 0.15, unroll=True)}
    result = (shape[0], units) if returns else (units,)
    if draw.random() < 0.2:
        pick = draw.randint(0, 1)
        layer = new(f"layers.{kind}", return_state=True, **options)
        return Drawn(layer, (units,) if pick else result, pick=pick)
    return Drawn(new(f"layers.{kind}", **options), result)


def _both_ways(draw: Draw, shape: Shape) -> Drawn:
    kind, units, options = _cell(draw)
    returns, mode = draw.random() < 0.6, draw.choice(["concat", "sum", "ave", "mul"])
    inner = new(f"layers.{kind}", return_sequences=returns, **options)
    units *= 2 if mode == "concat" else 1
    return Drawn(new("layers.Bidirectional", layer=inner, merge_mode=mode), (shape[0], units) if returns else (units,))


def _cells(draw: Draw, shape: Shape) -> Drawn:
    cells, units = [], 0
    for _ in range(draw.randint(1, 2)):
        kind, units, options = _cell(draw)
        cells.append(new(f"layers.{kind}Cell", **options))
    returns = draw.random() < 0.6
    options = {"return_sequences": returns, **some(draw, 0.3, zero_output_for_mask=True)}
    return Drawn(new("layers.RNN", cell=cells, **options), (shape[0], units) if returns else (units,))


def _each_step(draw: Draw, shape: Shape) -> Drawn:
    inner = _dense(draw, shape[1:])
    return Drawn(new("layers.TimeDistributed", layer=inner.layer), (shape[0], *inner.shape))


def _heads(draw: Draw, shape: Shape) -> Drawn:
    options = {"num_heads": draw.randint(1, 2), "key_dim": 2, **some(draw, 0.3, use_bias=False)}
    return Drawn(new("layers.MultiHeadAttention", **options), shape, some(draw, 0.3, use_causal_mask=True), 2, True)


def _attention(draw: Draw, shape: Shape) -> Drawn:
    kind = draw.choice(["layers.Attention", "layers.AdditiveAttention"])
    return Drawn(new(kind, **some(draw, 0.5, use_scale=True)), shape, some(draw, 0.3, use_causal_mask=True), 2)


def _padded(kind: str, change: int) -> Callable[[Draw, Shape], Drawn]:
    def drawn(draw: Draw, shape: Shape) -> Drawn:
        if min(shape[:-1]) + change < 1:
            return _dense(draw, shape)
        option = {2: "padding", -1: "cropping"}[change]
        sizes = 1 if change == 2 else [[0, 1]] * (len(shape) - 1)
        sizes = sizes[0] if isinstance(sizes, list) and len(sizes) == 1 else sizes
        return Drawn(new(kind, **{option: sizes}), (*(n + change for n in shape[:-1]), shape[-1]))

    return drawn


def _enlarged(kind: str) -> Callable[[Draw, Shape], Drawn]:
    def drawn(draw: Draw, shape: Shape) -> Drawn:
        if max(shape[:-1]) > 6:
            return _dense(draw, shape)
        return Drawn(new(kind, size=2), (*(2 * n for n in shape[:-1]), shape[-1]))

    return drawn


def _groups(draw: Draw, shape: Shape) -> Drawn:
    return Drawn(new("layers.GroupNormalization", groups=draw.choice([1, -1])), shape)


def _nested(draw: Draw, shape: Shape) -> Drawn:
    """A model as a layer."""
    first = _dense(draw, shape)
    second = draw.choice([_dense, _batch_norm])(draw, first.shape)
    inner = [new("Input", shape=list(shape)), first.layer, second.layer]
    return Drawn(new("Sequential", layers=inner), second.shape)


ANY: Table = {
    "dense": _dense,
    "batch normalization": _batch_norm,
    "layer normalization": _same("layers.LayerNormalization", center=[True, False], rms_scaling=[False, False, True]),
    "activation": _same("layers.Activation", activation=ACTIVATIONS[:-1]),
    "slopes": _same("layers.PReLU"),
    "dropout": _same("layers.Dropout", rate=0.4),
    "noise": _same("layers.GaussianNoise", stddev=0.4),
    "rescaling": _same("layers.Rescaling", scale=[0.5, -1.0], offset=[0.0, 0.3]),
    "unit normalization": _same("layers.UnitNormalization"),
    "own state": _same("own.Counter"),
    "own loss": _same("own.Penalty", factor=[0.1, 0.01]),
    "own weights": _same("own.Scaled"),
    "nested": _nested,
}
VECTORS: Table = {
    **ANY,
    "dense again": _dense,
    "dense once more": _dense,
    "repeated": lambda draw, shape: Drawn(new("layers.RepeatVector", n=3), (3, *shape)),
}
SEQUENCES: Table = {
    **ANY,
    "recurrent": _recurrent,
    "recurrent again": _recurrent,
    "both ways": _both_ways,
    "cells": _cells,
    "each step": _each_step,
    "heads": _heads,
    "attention": _attention,
    "masking": _same("layers.Masking"),
    "own mask": _same("own.Visible"),
    "convolution": _conv("Conv1D"),
    "separable": _conv("SeparableConv1D"),
    "pooling": _pool("layers.MaxPooling1D", "layers.AveragePooling1D"),
    "global": _global("layers.GlobalAveragePooling1D", "layers.GlobalMaxPooling1D"),
    "flat": _flat,
    "padding": _padded("layers.ZeroPadding1D", 2),
    "cropping": _padded("layers.Cropping1D", -1),
    "larger": _enlarged("layers.UpSampling1D"),
    "whole channels": _same("layers.SpatialDropout1D", rate=0.4),
}
IMAGES: Table = {
    **ANY,
    "convolution": _conv("Conv2D"),
    "convolution again": _conv("Conv2D"),
    "depthwise": _conv("DepthwiseConv2D"),
    "separable": _conv("SeparableConv2D"),
    "pooling": _pool("layers.MaxPooling2D", "layers.AveragePooling2D"),
    "global": _global("layers.GlobalAveragePooling2D", "layers.GlobalMaxPooling2D"),
    "flat": _flat,
    "groups": _groups,
    "padding": _padded("layers.ZeroPadding2D", 2),
    "cropping": _padded("layers.Cropping2D", -1),
    "larger": _enlarged("layers.UpSampling2D"),
    "whole channels": _same("layers.SpatialDropout2D", rate=0.4),
}
TABLES = {1: VECTORS, 2: SEQUENCES, 3: IMAGES}
TO_VECTORS = {2: ("recurrent", "global", "flat"), 3: ("global", "flat")}
MERGES = ("Add", "Multiply", "Average", "Maximum", "Minimum", "Subtract", "Concatenate")
RANDOM = ("Dropout", "GaussianNoise")  # these layers draw random numbers in training, different ones on each backend
OPS = {1: ("tanh", "square", "sigmoid", "negative", "sin"), 2: ("add", "multiply", "maximum", "subtract")}
