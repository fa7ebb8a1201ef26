"""Sizes and other numbers of inputs, each known or a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import ops
from dovetail.core.base.read_limits import need_operations
from dovetail.formats.nodes.constants import is_tensor, known_size, recorded
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.onnx.nodes import Node
from dovetail.graph.shape_values import known_ints


def scalar(value: Any) -> Any:
    """A number that is an input marked `?` or `!`, which may be a list of one.

    Raises:
        Unreadable: the list has none, or several.
    """
    if is_tensor(value):
        return ops.reshape(value, [])
    if isinstance(value, list) and len(value) != 1:
        raise Unreadable(f"an input that is one number has {len(value)}")
    return value[0] if isinstance(value, list) else value


def numbers(values: Any, dtype: str = "int32") -> list[Any]:
    """The numbers of an input marked `?`: as they are, and tensors of a dtype for those that are not known.

    Raises:
        Unreadable: their number is not known.
    """
    if not is_tensor(values):
        return list(values)
    known = known_ints(values) or [None] * known_size(values, 0)
    need_operations(len(known))
    return [ops.cast(values[i], dtype) if one is None else one for i, one in enumerate(known)]


def more(a: Any, b: Any) -> Any:
    """The larger one of two numbers, which may be tensors."""
    return ops.maximum(a, b) if is_tensor(a) or is_tensor(b) else max(a, b)


def less(a: Any, b: Any) -> Any:
    """The smaller one of two numbers, which may be tensors."""
    return ops.minimum(a, b) if is_tensor(a) or is_tensor(b) else min(a, b)


def computing(*values: Any) -> Any:
    """NumPy, or the ops, if one of some values is not known."""
    return ops if any(map(is_tensor, values)) else np


def held(value: Any, dtype: Any) -> Any:
    """An array as a constant, or a tensor, of a dtype."""
    return ops.cast(value, dtype) if is_tensor(value) else recorded(value, dtype)


def integer(node: Node, index: int) -> Any:
    """An input that is one integer, or a tensor of int32 if it is not known."""
    known = node.known(index)
    return ops.reshape(ops.cast(node.tensor(index), "int32"), []) if known is None else int(known.reshape(-1)[0])
