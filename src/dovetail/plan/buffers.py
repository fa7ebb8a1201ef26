"""Buffer planning: which intermediate results share memory that is kept from call to call.

Large temporaries that go back to the operating system after every step cost as much as the arithmetic, so the plan
keeps an arena of buffers and lets ops write into them where the engine has an `out=` rule.  A buffer is free again when
the value in it, and everything that may be a view of it, was used for the last time; an elementwise op may write over
an argument that dies with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engines.base import Engine
from dovetail.graph.ir import GraphTensor, Operation
from dovetail.ops.infer import size_of
from dovetail.ops.spec import TensorSpec

SMALLEST = 1 << 12  # bytes; below this the allocator is faster than the bookkeeping


class BufferPlan:
    """Which operation writes into which buffer.

    Attributes:
        specs: the buffers.
        of: operation → number of its buffer.
    """

    def __init__(self) -> None:
        self.specs: list[TensorSpec] = []
        self.of: dict[Operation, int] = {}

    def arena(self, engine: Engine) -> Callable[[], list[Any]]:
        """A function that gives this thread's buffers, made at its first call."""
        local = threading.local()

        def buffers() -> list[Any]:
            try:
                return local.buffers
            except AttributeError:
                local.buffers = [engine.empty(spec.shape, spec.dtype) for spec in self.specs]
                return local.buffers

        return buffers


def plan_buffers(
    operations: Sequence[Operation], engine: Engine, inputs: Sequence[GraphTensor], outputs: Sequence[GraphTensor]
) -> BufferPlan:
    """Plans the buffers of a program whose operations run in this order."""
    plan = BufferPlan()
    if not engine.out_rules:
        return plan
    root = _roots(operations, engine)
    last: dict[GraphTensor, int] = {}
    for at, op in enumerate(operations):
        for tensor in (*op.inputs, *op.outputs):
            last[root.get(tensor, tensor)] = at
    kept = {root.get(t, t) for t in (*outputs, *inputs)}
    held: dict[GraphTensor, int] = {}
    free: dict[TensorSpec, list[int]] = {}
    for at, op in enumerate(operations):
        out = op.outputs[0]
        dying = [t for t in dict.fromkeys(root.get(t, t) for t in op.inputs) if last[t] == at and t in held]
        if _plannable(op, engine) and out not in kept:
            if getattr(op.op.infer, "elementwise", False):
                for tensor in [t for t in dying if t.spec == out.spec]:
                    free.setdefault(tensor.spec, []).append(held.pop(tensor))
                    dying.remove(tensor)
            plan.of[op] = held[out] = _take(plan, free, out.spec)
        for tensor in dying:
            free.setdefault(tensor.spec, []).append(held.pop(tensor))
        if held.get(out) is not None and last[out] == at:
            free.setdefault(out.spec, []).append(held.pop(out))
    return plan


def _take(plan: BufferPlan, free: dict[TensorSpec, list[int]], spec: TensorSpec) -> int:
    if free.get(spec):
        return free[spec].pop()
    plan.specs.append(spec)
    return len(plan.specs) - 1


def _plannable(op: Operation, engine: Engine) -> bool:
    size = size_of(op.outputs[0].shape)
    return op.type in engine.out_rules and size is not None and size * op.outputs[0].dtype.itemsize >= SMALLEST


def _roots(operations: Sequence[Operation], engine: Engine) -> dict[GraphTensor, GraphTensor]:
    """value → the value whose memory it may share: what is not known to be fresh may be a view of an argument."""
    parent: dict[GraphTensor, GraphTensor] = {}

    def find(t: GraphTensor) -> GraphTensor:
        while t in parent:
            t = parent[t]
        return t

    for op in operations:
        if op.type not in engine.out_rules and op.type not in engine.fresh and op.inputs:
            first: Any = None
            for tensor in (*op.inputs, *op.outputs):
                top = find(tensor)
                if first is None:
                    first = top
                elif top is not first:
                    parent[top] = first
    return {t: find(t) for t in parent}
