"""Aliases: which values of a program may share memory."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.core.engine import Engine
from dovetail.graph.ir import GraphTensor, Operation


class Aliases:
    """Groups values that may be views of each other.

    An op with an `out=` rule, or one that its engine declares `fresh`, returns new memory; any other may return a view
    of its arguments.  In a program that the engine compiles as a whole, only what is the same value shares memory.
    """

    def __init__(self, operations: Sequence[Operation], engine: Engine, compiled: bool) -> None:
        self._parent: dict[GraphTensor, GraphTensor] = {}
        if compiled:
            return
        for op in operations:
            if op.inputs and op.type not in engine.out_rules and op.type not in engine.fresh:
                first = self.root(op.inputs[0])
                for tensor in (*op.inputs[1:], *op.outputs):
                    top = self.root(tensor)
                    if top is not first:
                        self._parent[top] = first

    def root(self, tensor: GraphTensor) -> GraphTensor:
        """The value that stands for its group."""
        parent = self._parent
        top = tensor
        while top in parent:
            top = parent[top]
        while tensor is not top:
            parent[tensor], tensor = top, parent[tensor]
        return top
