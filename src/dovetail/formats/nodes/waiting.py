"""Waiting operations: nodes that need shapes or values which are not known yet, and stay in the graph until they are.

Such an operation keeps its node.  Once more is known of its inputs, the node is read again in the same graph, which may
have been edited, and its operations replace it; `passes.resolve` does so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.core.base.scopes import Scoped
from dovetail.formats.nodes.opaque import OpaqueOp, Unreadable, opaque_outputs
from dovetail.graph.nesting import outermost_of

Read = Callable[[list[Any], str, Mapping[str, Any]], list[Any]]
_numbers = itertools.count(1)
FOR_ALL: Scoped[bool] = Scoped(False)  # whether nodes are read for all sizes, which takes more operations


def wait_for(reason: str) -> None:
    """Make a node wait for sizes, by which it needs fewer operations, unless it is read for all sizes.

    Raises:
        Unreadable: it is to wait.
    """
    if not FOR_ALL.get():
        raise Unreadable(reason)


class Waits(Unreadable):
    """A node needs more than is known; `needed` are the inputs of the graph whose values it needs."""

    def __init__(self, reason: str, needed: Collection[Any]) -> None:
        super().__init__(reason)
        self.needed = needed


class WaitingOp(OpaqueOp):
    """The op of one node that waits.

    Args:
        type: as for `OpaqueOp`.
        reason: what it waits for.
        read: (inputs, name, values of the host by the names of inputs) → the results, recorded in the graph that is
            being built.  It raises `Waits` if too little is known.

    Attributes:
        names: the names of all such ops of the process; most programs have none.
    """

    names: ClassVar[set[str]] = set()

    def __init__(self, type: str, reason: str, read: Read) -> None:
        super().__init__(type, reason)
        self.read, self.differentiable = read, True
        self.names.add(self.name)
        self.gradient(_gradient)

    def outputs(self, graph: Any, tensors: list[Any], dtypes: list[Any], shapes: list[Any], name: str) -> list[Any]:
        """The results of a new operation, for the arguments of `opaque_outputs`."""
        return opaque_outputs(graph, self, tensors, self.reason, dtypes, shapes, name, next(_numbers))

    def refusal(self, graph: Any) -> str:
        """The reason why a graph with this op cannot be written, and the call that loads one that can."""
        inputs = outermost_of(graph).inputs
        sizes = [[a or (224 if axis else 1) for axis, a in enumerate(t.shape or ())] for t in inputs]
        said = ", ".join(f"{t.op.name!r}: {tuple(each)}" for t, each in zip(inputs, sizes, strict=True))
        return f"{self.reason}. Load the model with shapes, such as load(path, shapes={{{said}}})"


def _gradient(node: Any, *arriving: Any) -> list[Any]:
    """The gradients by the inputs, which wait for the same."""
    places = [i for i, x in enumerate(node.inputs) if x.dtype.is_differentiable]
    given = [number for number, g in enumerate(arriving) if g is not None]
    count = len(node.inputs)

    def read(inputs: list[Any], name: str, host: Mapping[str, Any]) -> list[Any]:
        xs = list(inputs[:count])
        for i in places:
            xs[i] = ops.identity(xs[i])  # an input may be there twice
        ys = node.op.read(xs, name, host)
        sources = [xs[i] for i in places]
        gradients = hooks.gradients([ys[number] for number in given], sources, inputs[count:])
        return [ops.zeros_like(x) if g is None else g for x, g in zip(sources, gradients, strict=True)]

    op = WaitingOp(f"{node.op.name}Gradient", node.op.reason, read)
    sources = [node.inputs[i] for i in places]
    tensors = [*node.inputs, *(arriving[number] for number in given)]
    gradients = op(tensors, op.reason, [x.dtype for x in sources], [x.shape for x in sources], next(_numbers))
    results: list[Any] = [None] * count
    for i, gradient in zip(places, gradients, strict=True):
        gradient.op.overrides = node.overrides
        results[i] = gradient
    return results
