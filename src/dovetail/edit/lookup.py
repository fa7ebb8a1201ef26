"""Lookup: the methods of Graph that find operations and tensors, by name, by type, or by a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from dovetail.core.op import Op
from dovetail.graph.operation import Operation

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph

# by name


def get_operation(graph: Graph, name: str) -> Any:
    """An operation by name.

    Raises:
        KeyError: there is none; the message lists names that end alike, or close ones.
    """
    if name not in graph._operations:
        last = name.rpartition("/")[2]
        alike = [other for other in graph._operations if other.rpartition("/")[2] == last]
        close = alike[:5] or get_close_matches(name, graph._operations, 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise KeyError(f"no operation {name!r} in {graph.name!r}{hint}")
    return graph._operations[name]


def get_tensor(graph: Graph, name: str) -> Any:
    """A tensor by name, such as `dense_1/BiasAdd:0`; the number may be left out for the first output.

    The name of an operation may have colons of its own, as `onnx::Pow_25` has.

    Raises:
        KeyError: there is none; the message names close ones.
    """
    op_name, colon, index = name.rpartition(":")
    if not colon or (op_name not in graph._operations and name in graph._operations):
        op_name, index = name, "0"
    outputs = graph.get_operation(op_name).outputs
    if not (index or "0").isdecimal() or int(index or 0) >= len(outputs):
        raise KeyError(f"{op_name!r} has {len(outputs)} outputs, so there is no tensor {name!r}.")
    return outputs[int(index or 0)]


# by type, name or a test


def find(
    graph: Graph,
    type: str | Op | Iterable[str | Op] | None = None,
    name: str | None = None,
    where: Callable[[Operation], Any] | None = None,
) -> list[Operation]:
    """The operations that meet all conditions given, in program order.

    Args:
        type: an op type or op, or several, of which an operation must have one.
        name: a regular expression that matches somewhere in the name.
        where: a function that says whether an operation meets the condition.

    Returns:
        Operations of this graph alone; to search bodies of loops and branches, use `subgraphs()`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.Graph()
        >>> x = graph.placeholder(dt.spec((None, 3)), "x")
        >>> y = dt.ops.relu(dt.ops.tanh(x), name="first") + dt.ops.relu(x, name="second")
        >>> graph.find("Relu", name="^first"), graph.find(where=lambda op: op.inputs == [])
        ([<operation first Relu>], [<operation x Placeholder>])
    """
    types = None if type is None else {_type(t) for t in ([type] if isinstance(type, (str, Op)) else type)}
    pattern = None if name is None else re.compile(name)
    return [
        op
        for op in (graph.operations if types is None else graph.of_types(types))
        if (pattern is None or pattern.search(op.name)) and (where is None or where(op))
    ]


def _type(kind: str | Op) -> str:
    return kind if isinstance(kind, str) else kind.name
