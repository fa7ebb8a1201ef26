"""Folding: the results of operations on constants, which the NumPy engine computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.base.scopes import unseen
from dovetail.core.calls import dispatch
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.shapes import size_of
from dovetail.graph.operation import Operation
from dovetail.ops.control.plumbing import PRINTS, STRUCTURAL

LARGEST = 4096  # elements; a result larger than this, and larger than its arguments, is not worth its memory


def folded(op: Operation, values: Sequence[np.ndarray], grows: bool = True) -> list[np.ndarray] | None:
    """The results of an operation.

    Args:
        op: the operation.
        values: of its inputs.
        grows: whether large results may take more bytes than the arguments, as floats made of small integers.

    Returns:
        Arrays; None if it has an effect or subgraphs, if they would be large, or if the NumPy engine has no rule.
    """
    if op.type in STRUCTURAL or op.type in PRINTS or any(hasattr(value, "captures") for value in op.attrs.values()):
        return None
    sizes = [size_of(t.shape) for t in op.outputs]
    if None in sizes or sum(sizes) > max(LARGEST, sum(value.size for value in values)):  # type: ignore[arg-type]
        return None
    total = sum((size or 0) * t.dtype.itemsize for size, t in zip(sizes, op.outputs, strict=True))
    if not grows and total > max(LARGEST, sum(value.nbytes for value in values)):
        return None
    try:
        return computed(op, values)
    except NotImplementedError:  # an op of the user's
        return None


def computed(op: Operation, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of an operation for the values of its inputs."""
    engine = get_engine("numpy")
    args = op.arguments([Tensor(value, engine) for value in values])
    with unseen():
        result = dispatch.run(op.op, args, engine)
    return [np.asarray(t._value) for t in (result if op.op.returns_tuple else (result,))]
