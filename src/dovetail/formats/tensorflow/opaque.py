"""Opaque operations: nodes that Dovetail cannot compute, with their type, shapes and dtypes, in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.core.errors import op_error
from dovetail.core.kinds import Eachs
from dovetail.core.op import Op
from dovetail.core.spec import TensorSpec
from dovetail.core.static_types import DTypeLike, ShapeLike
from dovetail.core.table import OPS
from dovetail.core.tensor import Tensor


def _specs(inputs: Any, reason: str, dtypes: Any, shapes: Any) -> list[TensorSpec]:
    return [TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _opaque(inputs: Eachs, reason: str, dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike]) -> tuple[Tensor, ...]:
    """An op of TensorFlow that is known by name only."""
    raise op_error(NotImplementedError, "an opaque operation", reason)


class OpaqueOp(Op[Any, Any]):
    """An op of TensorFlow that no engine computes; each of its operations has the reason as an attribute.

    Args:
        type: TensorFlow's type; "Opaque" comes before it if an op of Dovetail has this name.
        reason: the reason why Dovetail does not compute it.
    """

    def __init__(self, type: str, reason: str) -> None:
        super().__init__(f"Opaque{type}" if type in OPS else type, _opaque, infer=_specs, differentiable=False)
        self._reason = reason

    def no_rule(self, engine: str) -> str:
        return f"{self._reason}. Cut the graph before it, replace it, or feed its results."
