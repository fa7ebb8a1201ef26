"""Quantized numbers and packed weights in ONNX Runtime's own domain: QLinearAdd and others, QGemm, MatMulNBits.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.formats.nodes.constants import counted, within
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.calls import arguments
from dovetail.formats.onnx.nodes import DOMAIN, Node
from dovetail.formats.onnx.ops.pools import averaged
from dovetail.formats.onnx.ops.quantized import dequantized, fitted, quantized
from dovetail.formats.onnx.ops.recurrent import OF_LSTM, layer, lstm
from dovetail.formats.onnx.table import special
from dovetail.formats.onnx.windows import WINDOW
from dovetail.ops.shapes.shape import dims_of, rank_of


def _number(node: Node, first: int) -> Any:
    """The floats that an input, its scale and its zero point say."""
    return dequantized(node.tensor(first), node.tensor(first + 1), node.optional(first + 2))


def _result(node: Node, x: Any, first: int) -> Any:
    """Floats as the integers of a scale and a zero point, which are inputs."""
    return quantized(
        x, node.tensor(first), node.optional(first + 1), node.number(first + 1 if node.has(first + 1) else 0)
    )


# type → (the function of the floats, the number of quantized inputs)
PLAIN: dict[str, tuple[Callable[..., Any], int]] = {
    "QLinearAdd": (lambda node, a, b: a + b, 2),
    "QLinearMul": (lambda node, a, b: a * b, 2),
    "QLinearSigmoid": (lambda node, x: ops.sigmoid(x), 1),
    "QLinearLeakyRelu": (lambda node, x: ops.leaky_relu(x, node.attrs.get("alpha", 0.01)), 1),
}


@special(" ".join(f"{DOMAIN}.{name}" for name in PLAIN))
def _plain(node: Node) -> Any:
    function, count = PLAIN[node.type.rpartition(".")[2]]
    return _result(node, function(node, *(_number(node, 3 * i) for i in range(count))), 3 * count)


@special(f"{DOMAIN}.QLinearConcat")
def _joined(node: Node) -> Any:
    parts = [_number(node, first) for first in range(2, len(node.inputs), 3)]
    joined = ops.concatenate(parts, node.attrs["axis"])
    return quantized(joined, node.tensor(0), node.tensor(1), node.number(1))


@special(f"{DOMAIN}.QLinearGlobalAveragePool")
def _pooled(node: Node) -> Any:
    x, is_last = _number(node, 0), node.attrs.get("channels_last", 0)
    axes = [*range(1, rank_of(x) - 1)] if is_last else [*range(2, rank_of(x))]
    return _result(node, ops.mean(x, axes, keepdims=True), 3)


@special(f"{DOMAIN}.QLinearWhere")
def _chosen(node: Node) -> Any:
    return _result(node, ops.where(node.tensor(0), _number(node, 1), _number(node, 4)), 7)


@special(f"{DOMAIN}.QLinearAveragePool")
def _averaged(node: Node) -> Any:
    x, is_last = _number(node, 0), node.attrs.get("channels_last", 0)
    given = arguments(node, f"{WINDOW} ceil_mode:ceil count_include_pad:padded")
    means = averaged(ops.moveaxis(x, -1, 1) if is_last else x, **given)
    return _result(node, ops.moveaxis(means, 1, -1) if is_last else means, 3)


@special(f"{DOMAIN}.QLinearSoftmax")
def _shares(node: Node) -> Any:
    """Before opset 13, of all the axes from one on."""
    x = _number(node, 0)
    axis = node.attrs.get("axis", -1) % rank_of(x)
    axes = [axis] if node.attrs["opset"] >= 13 else [*range(axis, rank_of(x))]
    powers = ops.exp(x - ops.max(x, axes, True))
    return _result(node, powers / ops.sum(powers, axes, True), 3)


@special(f"{DOMAIN}.QLinearReduceMean")
def _mean(node: Node) -> Any:
    means = ops.mean(_number(node, 0), node.attrs.get("axes"), bool(node.attrs.get("keepdims", 1)))
    return _result(node, means, 3)


@special(f"{DOMAIN}.QGemm")
def _product(node: Node) -> Any:
    turned = [bool(node.attrs.get(name, 0)) for name in ("transA", "transB")]
    a = _number(node, 0)
    b = dequantized(node.tensor(3), node.tensor(4), node.optional(5), 0 if turned[1] else -1)
    alpha = node.attrs.get("alpha", 1.0)
    product = ops.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1]) * alpha
    if node.has(6):
        product = product + ops.cast(node.tensor(6), product.dtype) * (node.tensor(1) * node.tensor(4) * alpha)
    return _result(node, product, 7) if node.has(7) else product


@special(f"{DOMAIN}.MatMulIntegerToFloat")
def _scaled(node: Node) -> Any:
    a = dequantized(node.tensor(0), node.tensor(2), node.optional(4))
    product = ops.matmul(a, dequantized(node.tensor(1), node.tensor(3), node.optional(5), -1))
    return product + node.tensor(6) if node.has(6) else product


@special(f"{DOMAIN}.DynamicQuantizeMatMul")
def _fitted(node: Node) -> Any:
    b = dequantized(node.tensor(1), node.tensor(2), node.optional(3), -1)
    product = ops.matmul(dequantized(*fitted(node.tensor(0))), b)
    return product + node.tensor(4) if node.has(4) else product


@special(f"{DOMAIN}.DynamicQuantizeLSTM")
def _recurrent(node: Node) -> Any:
    """An LSTM that rounds its input, and the states of all rows in each step, to 256 numbers that fit them.

    ONNX Runtime does so in one thread; in several, each rounds the states of its rows by themselves.
    """
    x, (bias, lengths, h, c, peephole) = node.tensor(0), (node.optional(i) for i in range(3, 8))
    is_masked = lengths is not None and bool(node.proto.output[0])
    if lengths is not None:
        at, ends = ops.reshape(counted(dims_of(x)[0]), [-1, 1, 1]), ops.reshape(lengths, [1, -1, 1])
        x = ops.where(ops.less(at, ops.max(ends)), x, 0.0)
    x = dequantized(*fitted(x))
    if is_masked:  # rows that have ended do not count for the states' scale, if the node gives all outputs
        x = ops.concatenate([x, ops.cast(ops.less_equal(at, ends), x.dtype)], -1)

    def cell(f: Any, limited: Any, x: Any, states: Any, *weights: Any) -> Any:
        h, c = states
        if is_masked:
            x, h = x[:, :-1], h * x[:, -1:]
        return lstm(node.attrs.get("input_forget", 0), f, limited, x, (dequantized(*fitted(h)), c), *weights)

    weights = [_of_gates(node, 1, 8), _of_gates(node, 2, 10), bias, peephole]
    given = arguments(node, "activation_alpha:alphas activation_beta:betas activations clip direction")
    return layer(cell, None, OF_LSTM, x, weights, lengths, [h, c], **given)


def _of_gates(node: Node, index: int, first: int) -> Any:
    """A kernel (directions, columns, rows), as an LSTM has it; a direction or a column has a scale and a zero point."""
    kernel = ops.cast(ops.swapaxes(node.tensor(index), 1, 2), "float32")
    scale, zero = (ops.reshape(node.tensor(i), [dims_of(kernel)[0], -1, 1]) for i in (first, first + 1))
    return (kernel - ops.cast(zero, "float32")) * scale


# -- packed weights ---------------------------------------------------------------------------------------------------


def _unpacked(x: Any, bits: int, count: int) -> Any:
    """The numbers in bytes, the first one in the lowest bits, along the last axis."""
    steps = ops.constant(np.arange(0, 8, bits, dtype="uint8"))
    parts = ops.bitwise_and(ops.right_shift(ops.expand_dims(x, -1), steps), np.uint8(2**bits - 1))
    dims = dims_of(x)
    return ops.reshape(parts, [*dims[:-1], dims[-1] * (8 // bits)])[..., :count]


@special(f"{DOMAIN}.MatMulNBits")
def _packed_product(node: Node) -> Any:
    """A product with the turned matrix of whole numbers of 2, 4 or 8 bits, which blocks of a row scale."""
    size, rows, bits = node.attrs["K"], node.attrs["N"], node.attrs.get("bits", 4)
    if bits not in (2, 4, 8):
        raise Unreadable(f"its weights have {bits} bits")
    x, block = node.tensor(0), node.attrs["block_size"]
    within(size)
    blocks = -(-size // block)
    zero: Any = float(2 ** (bits - 1))
    if node.has(3):
        zero = node.tensor(3)
        if zero.dtype == "uint8":
            zero = _unpacked(ops.reshape(zero, [rows, -1]), bits, blocks)
        zero = ops.reshape(ops.cast(zero, x.dtype), [rows, blocks])
    scale = ops.reshape(node.tensor(2), [rows, blocks])
    numbers = ops.cast(_unpacked(ops.reshape(node.tensor(1), [rows, -1]), bits, size), x.dtype)
    of_block = node.tensor(4) if node.has(4) else ops.constant(np.arange(size, dtype="int32") // block)
    scale = ops.take(scale, of_block, 1)
    zero = ops.take(zero, of_block, 1) if node.has(3) else zero
    product = ops.matmul(x, (numbers - zero) * ops.cast(scale, x.dtype), transpose_b=True)
    return product + node.tensor(5) if node.has(5) else product
