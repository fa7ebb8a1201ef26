"""Activations."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from keras_dovetail.src.dtypes import as_tensor, floating
from keras_dovetail.src.ops.calls import functions, of_tensor, unary
from keras_dovetail.versions import is_mended

UNARY = """
hard_sigmoid hard_silu hard_tanh log_sigmoid relu relu6 selu sigmoid silu softplus softsign tanh
"""
globals().update(functions(unary, UNARY) | functions(of_tensor, "celu elu leaky_relu log_softmax softmax"))


def gelu(x: Any, approximate: bool = True) -> Any:
    return ops.gelu(as_tensor(x), approximate)


def glu(x: Any, axis: int = -1) -> Any:
    x = as_tensor(x)
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={tuple(x.shape)} with axis={axis}")
    values, gates = ops.split(x, 2, axis)
    return values * ops.sigmoid(gates)


def hard_shrink(x: Any, threshold: float = 0.5) -> Any:
    x = as_tensor(x)
    return ops.where(ops.absolute(x) > threshold, x, ops.zeros_like(x))


def soft_shrink(x: Any, threshold: float = 0.5) -> Any:
    x = as_tensor(x)
    return ops.sign(x) * ops.maximum(ops.absolute(x) - threshold, 0)


def sparse_plus(x: Any) -> Any:
    x = as_tensor(x)
    return ops.where(x <= -1, ops.zeros_like(x), ops.where(x < 1, ops.square(x + 1) / 4, x))


def sparse_sigmoid(x: Any) -> Any:
    return ops.clip((floating(x) + 1) / 2, 0, 1)


def sparsemax(x: Any, axis: int = -1) -> Any:
    """The nearest point at which all numbers are positive or 0, and their sum is 1."""
    x = ops.moveaxis(as_tensor(x), axis, -1)
    ordered = ops.flip(ops.sort(x), -1)
    sums = ops.cumsum(ordered, -1)
    inside = ordered * ops.cumsum(ops.ones_like(x), -1) > sums - 1
    count = ops.sum(ops.cast(inside, x.dtype), -1, keepdims=True)
    added = ordered if is_mended("sparsemax") else sums
    total = ops.sum(ops.where(inside, added, ops.zeros_like(added)), -1, keepdims=True)
    return ops.moveaxis(ops.maximum(x - (total - 1) / count, 0), -1, axis)


def squareplus(x: Any, b: Any = 4) -> Any:
    x = as_tensor(x)
    return (x + ops.sqrt(ops.square(x) + as_tensor(b, x.dtype))) / 2


def tanh_shrink(x: Any) -> Any:
    x = as_tensor(x)
    return x - ops.tanh(x)


def threshold(x: Any, threshold: Any, default_value: Any) -> Any:
    x = as_tensor(x)
    return ops.where(x > threshold, x, as_tensor(default_value, x.dtype))
