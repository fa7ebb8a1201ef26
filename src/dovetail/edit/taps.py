"""Taps of a graph: points at which `dovetail.taps` looks while the graph runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dovetail import ops
from dovetail.core.base.errors import describe, op_error

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph
    from dovetail.graph.operation import GraphTensor


def tap(graph: Graph, *patterns: str) -> list[str]:
    """Put a point behind each operation, also of branches and loops, whose name fits a pattern.

    The point is an operation `Tap`, an identity.  Nothing of it is left in a program at which no `dovetail.taps` look.

    Args:
        graph: the graph to edit.
        patterns: regular expressions, which fit whole names.

    Returns:
        The names of the points, which are the names of the operations.

    Raises:
        ValueError: a pattern is no regular expression, or fits no operation; then the graph stays as it was.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.tanh(x) * 2.0).graph(dt.spec((2,)))
        >>> graph.tap("Ta.*")
        ['Tanh']
        >>> with dt.taps() as seen:
        ...     result = dt.function(graph)(dt.ops.zeros(2))
        >>> seen["Tanh"].statistics.zeros
        2
    """
    compiled_patterns = list(map(compiled, patterns))
    names: list[str] = []
    with graph.edit():
        for pattern in compiled_patterns:
            fitting = [
                op
                for part in graph.everywhere()
                for op in part.operations
                if op.outputs and op.type != "Tap" and pattern.fullmatch(op.name) and op.name not in names
            ]
            if not fitting:
                raise op_error(ValueError, "tap", f"no operation of {graph.name!r} fits {pattern.pattern!r}.")
            for op in fitting:
                names.append(op.name)
                op.graph.insert_after(op.outputs[0], _tapped)
    return names


def _tapped(tensor: GraphTensor) -> Any:
    return ops.tap(tensor, tensor.op.name, name=f"{tensor.op.name}/tap")


def compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression that fits names of operations.

    Raises:
        ValueError: the pattern is none.
    """
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        problem = f"{describe(pattern)} is no regular expression: {error}. It fits names of operations, as 'dense.*'."
        raise op_error(ValueError, "taps", problem) from None
