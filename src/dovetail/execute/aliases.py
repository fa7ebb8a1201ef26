"""Aliases: the values of a program that may share memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail.core.engine import Engine
from dovetail.edit.graph import GraphTensor, Operation


class Aliases:
    """Groups of values that may be views of each other.

    An op with an `out=` rule, or one that its engine declares `fresh`, returns new memory; any other may return a view
    of its arguments.  If the engine compiles the program as a whole, a value shares memory only with itself.
    """

    def __init__(self, operations: Sequence[Operation], engine: Engine, compiled: bool) -> None:
        self._parent: dict[GraphTensor, GraphTensor] = {}
        if compiled:
            return
        for op in operations:
            if op.inputs and op.type not in engine.out_rules and op.type not in engine.fresh:
                first = self._top(op.inputs[0])
                for tensor in (*op.inputs[1:], *op.outputs):
                    top = self._top(tensor)
                    if top is not first:
                        self._parent[top] = first
        for tensor in self._parent:
            self._parent[tensor] = self._top(tensor)

    def _top(self, tensor: GraphTensor) -> GraphTensor:
        parent = self._parent
        top = tensor
        while top in parent:
            top = parent[top]
        while tensor is not top:
            parent[tensor], tensor = top, parent[tensor]
        return top

    def root(self, tensor: GraphTensor) -> GraphTensor:
        """The representative of the value's group."""
        return self._parent.get(tensor, tensor)

    def roots(self, tensors: Iterable[GraphTensor]) -> list[GraphTensor]:
        """The representatives of the values' groups, one for each tensor."""
        given = list(tensors)
        return list(map(self._parent.get, given, given))
