"""Opaque operations: nodes that Dovetail cannot compute, with their type, shapes and dtypes, in a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import UnknownRank, is_of_op, op_error
from dovetail.core.base.table import OPS
from dovetail.core.calls.static_types import DTypeLike, ShapeLike
from dovetail.core.kinds import Eachs
from dovetail.core.op import Op
from dovetail.core.tensor import Tensor
from dovetail.core.values.spec import TensorSpec

_FORMATS = str(Path(__file__).parents[1]) + os.sep


def _specs(inputs: Any, reason: str, dtypes: Any, shapes: Any, number: int = 0) -> list[TensorSpec]:
    return [TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _opaque(
    inputs: Eachs, reason: str, dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike], number: int = 0
) -> tuple[Tensor, ...]:
    """An op of another format that is known by name only."""
    raise op_error(NotImplementedError, "an opaque operation", reason)


class Unreadable(Exception):
    """A node that has no equivalent here; the text is the reason."""


class Words(dict[Any, Any]):
    """A table by words or numbers of a file; asking for any other one raises `Unreadable`."""

    def __missing__(self, word: Any) -> Any:
        raise Unreadable(f"{word!r} is none of {', '.join(map(repr, self))}")


def is_refusal(error: Exception) -> bool:
    """Whether an error says that a node cannot be read or written; any other is a bug, and nobody may hide it."""
    return isinstance(error, (Unreadable, UnknownRank)) or is_of_op(error, _FORMATS)


class OpaqueOp(Op[Any, Any]):
    """An op of another format that no engine computes; each of its operations has the reason as an attribute.

    Args:
        type: the format's type; "Opaque" comes before it if an op of Dovetail has this name.
        reason: the reason why Dovetail does not compute it.

    Attributes:
        reason: as given.
    """

    def __init__(self, type: str, reason: str) -> None:
        super().__init__(f"Opaque{type}" if type in OPS else type, _opaque, infer=_specs, differentiable=False)
        self.reason = reason

    def refusal(self, graph: Any) -> str:
        """The reason why a graph with this op cannot be written."""
        return self.reason

    def no_rule(self, engine: str) -> str:
        return f"{self.reason}. Cut the graph before it, replace it, or feed its results."


def opaque_outputs(
    graph: Any,
    op: OpaqueOp,
    tensors: list[Any],
    reason: str,
    dtypes: list[Any],
    shapes: list[Any],
    name: str,
    number: int = 0,
) -> list[Any]:
    """The results of a new opaque operation.

    Args:
        graph: the graph that gets it.
        op: its op.
        tensors: its inputs.
        reason: the reason why Dovetail does not compute it.
        dtypes, shapes: of the results.
        name: of the operation.
        number: operations with different ones compute different results of the same inputs.
    """
    if tensors:
        return list(op(tensors, reason, dtypes, shapes, number, name=f"{name}/"))
    attrs = {key: op.normalize(key, value) for key, value in (("dtypes", dtypes), ("shapes", shapes))}
    specs = _specs(tensors, reason, dtypes, shapes)
    layout = (0, None, None, None, None)  # without tensors a call would compute it
    return list(graph.add(op, [], {"reason": reason, **attrs, "number": number}, specs, layout, f"{name}/").outputs)
