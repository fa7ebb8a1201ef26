"""Gradients by op type for existing operations, and for operations of the graphs inside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.core.base.hooks import hooks
from dovetail.trace.captures import subgraph_names

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

Overrides = Mapping[str, str | None]


def override_gradients(operations: Iterable[Operation], overrides: Overrides) -> dict[Operation, None]:
    """Give operations, and the operations of graphs that they hold, a gradient override map over their present one.

    Args:
        operations: may be changed.
        overrides: op type → name of a gradient; None for the op's own.

    Returns:
        All operations that got it.
    """
    merged: dict[int, tuple[Any, Any]] = {}  # id of a map, which many operations share → the map, and the new one
    reached: dict[Operation, None] = {}
    for operation in operations:
        before = operation.overrides
        if id(before) not in merged:
            merged[id(before)] = before, _over(before, overrides)
        _set(operation, merged[id(before)][1])
        reached[operation] = None
        for name in subgraph_names(operation):
            reached |= override_gradients(hooks.own_subgraph(operation, name).operations, overrides)
    return reached


def _over(before: Mapping[str, str], overrides: Overrides) -> dict[str, str]:
    return {op_type: name for op_type, name in {**before, **overrides}.items() if name is not None}


def _set(operation: Operation, overrides: Mapping[str, str]) -> None:
    before, operation.overrides = operation.overrides, overrides
    operation.graph.edited(partial(_set, operation, before))
