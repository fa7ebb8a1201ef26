"""Buffer planning: which intermediate results share memory that is kept from call to call.

Large temporaries that go back to the operating system after every step cost as much as the arithmetic, so the plan
keeps an arena of buffers and lets ops write into them where the engine has an `out=` rule.  A buffer is free again when
the value in it, and everything that may be a view of it, was used for the last time; an elementwise op may write over
an argument that dies with it.  The new value of a variable is written into the spare buffer that the variable's
previous but one value left behind, so the current value stays whole until the program has come to its end.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.core.engine import Engine
from dovetail.core.infer import size_of
from dovetail.core.spec import TensorSpec
from dovetail.graph.ir import GraphTensor, Operation
from dovetail.plan.aliases import Aliases

SMALLEST = 1 << 12  # bytes; below this the allocator is faster than the bookkeeping


class BufferPlan:
    """Which operation writes into which buffer.

    Attributes:
        specs: the buffers of the arena.
        of: operation → number of its buffer.
        spares: tensor → number of the variable whose spare buffer its operation writes it into.
        owned: per variable that is assigned, whether its new buffer is known to nobody else.
        leaves: per input, whether what is returned may be a view of it.
    """

    def __init__(self) -> None:
        self.specs: list[TensorSpec] = []
        self.of: dict[Operation, int] = {}
        self.spares: dict[GraphTensor, int] = {}
        self.owned: list[bool] = []
        self.leaves: list[bool] = []

    @property
    def spare_numbers(self) -> list[int]:
        """The numbers of the variables whose spare buffers are written into, in order."""
        return sorted(self.spares.values())

    def arena(self, engine: Engine, device: str | None) -> Callable[[], list[Any]]:
        """A function that gives this thread's buffers, made at its first call."""
        local = threading.local()

        def buffers() -> list[Any]:
            try:
                return local.buffers
            except AttributeError:
                local.buffers = [engine.empty(s.shape, s.dtype, device) for s in self.specs]  # type: ignore[arg-type]  # all are known
                return local.buffers

        return buffers


def plan_buffers(
    operations: Sequence[Operation],
    engine: Engine,
    inputs: Sequence[GraphTensor],
    outputs: Sequence[GraphTensor],
    states: Sequence[GraphTensor] = (),
    compiled: bool | None = None,
) -> BufferPlan:
    """Plans the buffers of a program.

    Args:
        operations: in the order in which they run.
        engine: whose `out_rules` and `fresh` say what can be planned.
        inputs: the values that are given.
        outputs: the values that are returned.
        states: the new values of variables, returned too.
        compiled: whether the engine compiles the program as a whole; as `engine.compiles_programs` says, if not given.
    """
    plan = BufferPlan()
    aliases = Aliases(operations, engine, engine.compiles_programs if compiled is None else compiled)
    known = Counter(aliases.roots((*outputs, *states, *inputs)))
    constants = set(aliases.roots(op.outputs[0] for op in operations if op.type == "Const"))
    plan.owned = [known[root] == 1 and root not in constants for root in aliases.roots(states)]
    returned = set(aliases.roots((*outputs, *states)))
    plan.leaves = [root in returned for root in aliases.roots(inputs)]
    if engine.out_rules:
        owned = {t: number for number, t in enumerate(states) if plan.owned[number]}
        for op in dict.fromkeys(t.op for t in owned):
            if owned.keys() >= {*op.outputs} and _plannable(op, engine):
                plan.spares |= {t: owned[t] for t in op.outputs}
        _fill_arena(plan, operations, engine, aliases, known)
    return plan


def _fill_arena(
    plan: BufferPlan, operations: Sequence[Operation], engine: Engine, aliases: Aliases, kept: Counter[GraphTensor]
) -> None:
    last: dict[GraphTensor, int] = {}
    for at, op in enumerate(operations):
        last.update(dict.fromkeys(aliases.roots((*op.inputs, *op.outputs)), at))
    held: dict[GraphTensor, int] = {}
    free: dict[TensorSpec, list[int]] = {}

    def release(tensors: Sequence[GraphTensor]) -> None:
        for tensor in tensors:
            if tensor in held:
                free.setdefault(tensor.spec, []).append(held.pop(tensor))

    for at, op in enumerate(operations):
        out = op.outputs[0] if len(op.outputs) == 1 else None
        dying = [t for t in dict.fromkeys(aliases.roots(op.inputs)) if last[t] == at]
        if out is not None and aliases.root(out) not in kept and _plannable(op, engine):
            release([t for t in dying if _may_overwrite(op, t, aliases)])
            waiting = free.get(out.spec)
            if waiting:
                plan.of[op] = waiting.pop()
            else:
                plan.of[op] = len(plan.specs)
                plan.specs.append(out.spec)
            held[out] = plan.of[op]
        release([*dying, *(t for t in op.outputs if last.get(t) == at)])


def _may_overwrite(op: Operation, tensor: GraphTensor, aliases: Aliases) -> bool:
    """Whether the op may write its result over an argument: elementwise, of the same size, and taken as it is."""
    takes = [t for t in op.inputs if aliases.root(t) is tensor]
    return op.op.is_elementwise and tensor.spec == op.outputs[0].spec and all(t is tensor for t in takes)


def _plannable(op: Operation, engine: Engine) -> bool:
    if op.type not in engine.out_rules:
        return False
    sizes = [size_of(t.shape) for t in op.outputs]
    known = [size * t.dtype.itemsize for size, t in zip(sizes, op.outputs, strict=True) if size is not None]
    return len(known) == len(sizes) and sum(known) >= SMALLEST
