"""Shape values: the elements of integer tensors that are known before a graph runs, from arithmetic with shapes.

`shape(x)[1] * 4` is a number even if the first dimension of `x` is open.  To find it, the NumPy engine computes the
integer operations behind a tensor in float64, with NaN for unknown elements: arithmetic carries NaN along.  In a part
of a program, an input may replace such a tensor, without those operations; it then holds the known elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.base.read_limits import budget, kept
from dovetail.core.base.scopes import unseen
from dovetail.core.calls import dispatch
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.infer import CARRIES_NAN
from dovetail.core.values.shapes import size_of
from dovetail.core.values.spec import Ints
from dovetail.graph.operation import GraphTensor, Operation

LARGEST = 64  # elements: shapes, and tensors computed from them, are small
DEEPEST = 64  # operations between a shape and its use
BARRIER = "XlaOptimizationBarrier"
SATURATING = "SaturateCast"
PASSING = {*CARRIES_NAN, BARRIER, SATURATING}


class ShapeValues:
    """The known elements of integer tensors, cached from call to call.

    Args:
        is_kept: whether it is asked again and again, so that the number of operations behind a tensor does not matter.
    """

    def __init__(self, is_kept: bool = False) -> None:
        self._found: dict[GraphTensor, np.ndarray | None] = {}
        self._is_kept = is_kept

    def of(self, tensor: GraphTensor, depth: int = 0) -> np.ndarray | None:
        """The elements as float64, NaN if unknown; None if nothing is known, not even their number."""
        stack = [tensor] if self._is_kept and not depth else []
        while stack:  # those behind it first
            one = stack[-1]
            ahead = [t for t in one.op.inputs if t not in self._found] if one.op.type in PASSING else []
            stack += ahead
            if not ahead:
                self.of(stack.pop(), 1)
        if tensor not in self._found:
            value = self._compute(tensor, depth) if tensor.dtype.is_integer and depth < DEEPEST else None
            size = size_of(tensor.shape)
            if value is None and size is not None and size <= LARGEST:
                value = np.full(tensor.shape, np.nan)  # type: ignore[arg-type]
            self._found[tensor] = value
        return self._found[tensor]

    def ints(self, tensor: GraphTensor) -> Ints:
        """The elements, flattened to Python ints, with None for unknown ones."""
        value = self.of(tensor)
        return None if value is None else tuple(None if np.isnan(v) else int(v) for v in value.reshape(-1))

    def _compute(self, tensor: GraphTensor, depth: int) -> np.ndarray | None:
        op = tensor.op
        if op.type == "Const":
            value = op.attrs["value"]
            return value.astype(np.float64) if value.size <= LARGEST else None
        if op.type == "Placeholder":
            told = op.attrs["known"]
            if told is None:
                return None
            return np.array(told, np.float64).reshape(tensor.shape)  # type: ignore[arg-type]  # None becomes NaN
        if op.type == "Shape":
            shape = op.inputs[0].shape
            return None if shape is None else np.array(shape, np.float64)
        if op.type == BARRIER:
            return self.of(op.inputs[tensor.index], depth + 1)
        if op.type == SATURATING:
            unclipped = self.of(op.inputs[0], depth + 1)
            return None if unclipped is None else np.clip(unclipped, tensor.dtype.min, tensor.dtype.max)
        if op.type == "Iota" and not op.inputs and (size := size_of(tensor.shape) or 0) <= LARGEST:
            return np.arange(size, dtype=np.float64)
        if op.type not in CARRIES_NAN:
            return None
        if (size_of(tensor.shape) or 0) > LARGEST:  # one such as Tile makes a large tensor of small ones
            return None
        values = [self.of(t, depth + 1) for t in op.inputs]
        return None if any(v is None for v in values) else _run(op, values)


def shape_values(tensor: GraphTensor) -> ShapeValues:
    """The shape values by which to ask for a tensor: while a file is read, the same until its graph is edited."""
    graph, known = tensor.op.graph, kept(ShapeValues, dict)
    version, values = known.get(graph, (None, None))
    if values is None or version != graph.version:
        values = ShapeValues(is_kept=budget() is not None)
        known[graph] = graph.version, values
    return values


def known_ints(tensor: GraphTensor) -> Ints:
    """The elements that are known now, flat, with None for the others; None if no element is known."""
    ints = shape_values(tensor).ints(tensor) if tensor.dtype.is_integer else None
    return None if ints is None or set(ints) <= {None} else ints


def known_value(tensor: GraphTensor) -> np.ndarray | None:
    """The elements, if all are known now; None if one is not."""
    if tensor.op.type == "Const":
        return tensor.op.attrs["value"]
    value = ShapeValues().of(tensor) if tensor.dtype.is_integer else None
    return None if value is None or np.isnan(value).any() else value.astype(tensor.dtype.numpy)


def _run(op: Operation, values: list[Any]) -> np.ndarray | None:
    if op.type in ("Cast", "Identity"):
        return values[0]
    engine = get_engine("numpy")
    try:
        with unseen():
            result = dispatch.run(op.op, op.arguments([Tensor(v, engine) for v in values]), engine)
    except (TypeError, ValueError, IndexError):  # NaN where a number is needed, as in the shape of a Reshape
        return None
    return np.asarray(result)
