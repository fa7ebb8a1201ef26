"""Quantized numbers: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger, QLinearConv and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.formats.nodes.constants import counted
from dovetail.formats.onnx.calls import arguments
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.ops.casting import SMALL, cast_to
from dovetail.formats.onnx.ops.convolutions import convolved
from dovetail.formats.onnx.table import special
from dovetail.formats.onnx.tensors import DTYPES, PACKED, dtype_of
from dovetail.formats.onnx.windows import WINDOW
from dovetail.ops.shapes.shape import dims_of, rank_of

UINT8 = 2  # ONNX's number of the dtype


def _limits(number: int) -> tuple[int, int]:
    """The least and the largest integer of a dtype."""
    dtype = DTYPES[number]
    bits = PACKED.get(number, 8 * dtype.itemsize)
    return (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _saturated(x: Any, zero: Any, number: int) -> Any:
    """Floats rounded to integers, ties to even, moved by the zero point, and kept within the limits of a dtype."""
    low, high = _limits(number)
    moved = ops.rint(x) + (0 if zero is None else ops.cast(zero, x.dtype))
    return cast_to(ops.cast(ops.clip(moved, low, high), "int32"), number)


def _along(x: Any, value: Any, axis: int, block: int = 0) -> Any:
    """A scale or a zero point for the elements of a tensor: of all, of a slice of an axis, or of a block of it."""
    axis = axis % max(rank_of(x), 1)
    if block:
        size = dims_of(x)[axis]
        return ops.take(ops.repeat(value, block, axis), counted(size), axis)
    if value.shape in ((), (1,)):
        return ops.reshape(value, [])
    return ops.reshape(value, [-1, *[1] * (rank_of(x) - axis - 1)])


def _parameters(node: Node, x: Any) -> tuple[Any, Any]:
    """The scale and the zero point of a node, or None; both fit the tensor."""
    axis, block = node.attrs.get("axis", 1), node.attrs.get("block_size", 0)
    scale_and_zero = [_along(x, node.tensor(i), axis, block) if node.has(i) else None for i in (1, 2)]
    return scale_and_zero[0], scale_and_zero[1]


def dequantized(x: Any, scale: Any, zero: Any, axis: int = 0) -> Any:
    """The floats that integers stand for; scales and zero points are of all, or of the slices of an axis."""
    floats = ops.cast(x, "float32")
    if zero is not None:
        floats = floats - ops.cast(_along(x, zero, axis), "float32")
    return floats * _along(x, scale, axis)


def quantized(x: Any, scale: Any, zero: Any, number: int) -> Any:
    """Floats as integers of a dtype, of one scale and one zero point."""
    zero = None if zero is None else ops.reshape(zero, [])
    return _saturated(x / ops.reshape(scale, []), zero, number)


@special("QuantizeLinear com.microsoft.QuantizeLinear")
def _quantized(node: Node) -> Any:
    x = node.tensor(0)
    scale, zero = _parameters(node, x)
    number = node.number(2) if zero is not None else node.attrs.get("output_dtype", 0) or UINT8
    ratio = ops.cast(x, "float32") / ops.cast(scale, "float32")
    if number in SMALL:
        return cast_to(ratio, number, bool(node.attrs.get("saturate", 1)))
    return _saturated(ratio, zero, number)


@special("DequantizeLinear com.microsoft.DequantizeLinear")
def _dequantized(node: Node) -> Any:
    x = node.tensor(0)
    scale, zero = _parameters(node, x)
    wide = "float32" if x.dtype.is_floating or x.dtype != "int32" else "float64"  # which holds all its numbers
    moved = ops.cast(x, wide) - (0 if zero is None else ops.cast(zero, wide))
    return ops.cast(moved * ops.cast(scale, wide), dtype_of(node.attrs.get("output_dtype", 0) or node.number(1)))


@special("DynamicQuantizeLinear")
def _dynamic(node: Node) -> Any:
    return [*fitted(node.tensor(0))]


def fitted(x: Any) -> tuple[Any, Any, Any]:
    """Floats as uint8, with the scale and the zero point that fit; 0.0 stays 0.0, and zeros alone have the scale 1."""
    low, high = ops.minimum(ops.min(x), 0.0), ops.maximum(ops.max(x), 0.0)
    scale = ops.where(ops.equal(high, low), 1.0, (high - low) / 255.0)
    zero = _saturated(-low / scale, None, UINT8)
    return _saturated(x / scale, zero, UINT8), scale, zero


# -- products ---------------------------------------------------------------------------------------------------------


def _moved(x: Any, zero: Any, dtype: str, is_of_rows: bool = False) -> Any:
    """Integers without their zero point, which may differ for each row, or for each column."""
    if zero is None:
        return ops.cast(x, dtype)
    zero = _of_rows(zero) if is_of_rows else _along(x, zero, -1)
    return ops.cast(x, dtype) - ops.cast(zero, dtype)


def _of_rows(value: Any) -> Any:
    return (
        ops.reshape(value, [])
        if value.shape in ((), (1,))
        else ops.expand_dims(value, -1)
        if rank_of(value) == 1
        else value
    )


@special("MatMulInteger")
def _product(node: Node) -> Any:
    a, b = _moved(node.tensor(0), node.optional(2), "int32", True), _moved(node.tensor(1), node.optional(3), "int32")
    return ops.matmul(a, b)


@special("QLinearMatMul")
def _scaled_product(node: Node) -> Any:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = map(node.tensor, range(8))
    products = ops.matmul(_moved(a, a_zero, "int32", True), _moved(b, b_zero, "int32"))
    scales = ops.cast(_of_rows(a_scale), "float32") * ops.cast(_along(b, b_scale, -1), "float32")
    ratio = scales / ops.cast(_along(products, scale, -1), "float32")
    return _saturated(ops.cast(products, "float32") * ratio, zero, node.number(7))


def _convolution(node: Node, x: Any, kernel: Any) -> Any:
    """A convolution of integers, which float64 holds exactly."""
    return convolved(x, kernel, **arguments(node, WINDOW))


@special("ConvInteger")
def _convolved(node: Node) -> Any:
    x, kernel = _moved(node.tensor(0), node.optional(2), "float64"), node.tensor(1)
    kernel = ops.cast(kernel, "float64") - _of_kernels(kernel, node.optional(3))
    return ops.cast(_convolution(node, x, kernel), "int32")


def _of_kernels(kernel: Any, zero: Any) -> Any:
    return 0.0 if zero is None else _along(kernel, ops.cast(zero, "float64"), 0)


@special("QLinearConv")
def _scaled_convolution(node: Node) -> Any:
    x, x_scale, x_zero, kernel, kernel_scale, kernel_zero, scale, zero = map(node.tensor, range(8))
    wide: Callable[[Any], Any] = lambda value: ops.cast(value, "float64")  # noqa: E731
    products = _convolution(node, _moved(x, x_zero, "float64"), wide(kernel) - _of_kernels(kernel, kernel_zero))
    if node.has(8):
        products = products + _along(products, wide(node.tensor(8)), 1)
    ratio = wide(x_scale) * _along(products, wide(kernel_scale), 1) / wide(scale)
    return _saturated(products * ratio, zero, node.number(7))
