"""Calls: the inputs and attributes of a node as a row says, and the results of its op or function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.nodes.rows import Row, rows_of
from dovetail.formats.onnx.attributes import CONVERTERS
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.table import row_of


def by_row(row: Row, node: Node, name: str | None = None) -> list[Any]:
    """Call the op or the function of a row with a node's inputs and attributes.

    Raises:
        Unreadable: the node has an attribute or an input that the row does not take.
    """
    given = _inputs(row, node) | _attributes(row, node)
    missing = () if row.body is None else [name for name in _needed(row.body) if name not in given]
    if missing:
        raise Unreadable(f"it has no {missing[0]}")
    results = listed(OPS[row.ours](**given, name=name) if row.body is None else row.body(**given))
    for attribute in row.attributes:
        if attribute.result is not None:
            number = attribute.result
            results[number] = ops.cast(results[number], attribute.default)
    return results


@functools.cache
def _needed(body: Callable[..., Any]) -> list[str]:
    """The parameters of the function of a row that have no default."""
    parameters = inspect.signature(body).parameters.values()
    return [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]


def _inputs(row: Row, node: Node) -> dict[str, Any]:
    """The arguments that are inputs; a list takes all inputs from its place on."""
    given: dict[str, Any] = {}
    for index, one in enumerate(row.inputs):
        if one.way == "*":
            given[one.param] = [node.optional(i) for i in range(index, len(node.inputs))]
        elif node.has(index):
            given[one.param] = _TAKEN[one.way](node, index)
    if len(node.inputs) > len(row.inputs) and not any(one.way == "*" for one in row.inputs):
        raise Unreadable(f"it has {len(node.inputs)} inputs, and the op takes {len(row.inputs)}")
    return given


def _attributes(row: Row, node: Node) -> dict[str, Any]:
    """The arguments that are attributes, or that the type says."""
    given: dict[str, Any] = {}
    for attribute in row.attributes:
        if attribute.ours and not attribute.theirs:
            given[attribute.ours] = attribute.only
        elif attribute.ours:
            value = node.attrs.get(attribute.theirs, attribute.default)
            if value is not None:
                given[attribute.ours] = CONVERTERS[attribute.converter](value)
    return given


def arguments(node: Node, text: str) -> dict[str, Any]:
    """The attributes of a node as arguments, by a text like that of a row behind its semicolon."""
    return _attributes(next(rows_of(f"{node.type}: ; {text}")), node)


_TAKEN: dict[str, Callable[[Node, int], Any]] = {"": Node.tensor, "!": Node.constant, "?": Node.shape}


def listed(found: Any) -> list[Any]:
    """The results of a node as a list."""
    return list(found) if type(found) in (list, tuple) else [found]


def of_numbers(node: Node) -> Any:
    """The results that the row of a type gives."""
    row = row_of(node.type, node.version, node.attrs)
    if row is None:
        raise Unreadable(f"Dovetail has no rule for ONNX's op {node.type} of version {node.version}")
    return by_row(row, node)
