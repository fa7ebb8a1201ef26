"""Buffer planning: memory for intermediate results, which share it and keep it from call to call.

Large temporaries that go back to the operating system after every step cost as much as the arithmetic.  So the plan
keeps an arena of buffers, and ops write into them if the engine has an `out=` rule.  A buffer is free again after the
last use of its value, and of everything that may be a view of it.  An elementwise op may write over an argument if it
is the last to use it.  The new value of a variable goes into a spare buffer: the one that held the value before the
current one.  So the current value stays whole until the program ends.

An op with a rule for `over` needs no spare buffers: it writes new values over the current ones when the program ends.
Every other result of the program is computed before that, and shares no memory with an array that is written over.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from dovetail.core.engine import Engine
from dovetail.core.engines.allocation import SMALLEST, Arena
from dovetail.core.engines.engine_memory import allocates, fills
from dovetail.core.values.shapes import size_of
from dovetail.core.values.spec import TensorSpec
from dovetail.edit.graph import GraphTensor, Operation
from dovetail.execute.aliases import Aliases


class BufferPlan:
    """The buffers of a program, by the operations that write into them.

    Attributes:
        specs: the buffers of the arena.
        of: operation → number of its buffer.
        results: the operations that write a result of the program into a new array of the engine's `allocate`.
        allocating: the operations that make results of the program, which may be large, by other rules.
        spares: tensor → number of the variable whose spare buffer its operation writes it into.
        owned: per assigned variable, whether nobody else knows its new buffer.
        leaves: per input, whether a returned value may be a view of it.
        may_overwrite: operation that runs last → for each result, the number of the input that it may overwrite; None
            if it overwrites a copy.
        overwrites: the same for the operations that do write over inputs; `overwrite` chooses them.
    """

    def __init__(self) -> None:
        self.specs: list[TensorSpec] = []
        self.of: dict[Operation, int] = {}
        self.results: set[Operation] = set()
        self.allocating: set[Operation] = set()
        self.spares: dict[GraphTensor, int] = {}
        self.owned: list[bool] = []
        self.leaves: list[bool] = []
        self.may_overwrite: dict[Operation, list[int | None]] = {}
        self.overwrites: dict[Operation, list[int | None]] = {}

    def in_order(self, operations: Iterable[Operation]) -> list[Operation]:
        """Operations in the order in which they run."""
        return [*[op for op in operations if op not in self.may_overwrite], *self.may_overwrite]

    def overwrite(self, free: Container[int]) -> list[int]:
        """Let operations write over inputs that the program may consume, and return the numbers of these.

        Args:
            free: the numbers of the inputs that may be consumed.
        """
        for op, numbers in self.may_overwrite.items():
            consumed = [n if n in free else None for n in numbers]
            if set(consumed) != {None}:
                self.overwrites[op] = consumed
        over = {t: n for op, numbers in self.overwrites.items() for t, n in zip(op.outputs, numbers, strict=True)}
        self.spares = {t: number for t, number in self.spares.items() if over.get(t) is None}
        return sorted(n for n in over.values() if n is not None)

    @property
    def spare_numbers(self) -> list[int]:
        """The numbers of the variables whose spare buffers are written into, in order."""
        return sorted(self.spares.values())

    def arena(self, engine: Engine, device: str | None) -> Callable[[], list[Any]]:
        """A function that returns this thread's buffers, and makes them at the thread's first call."""
        local = threading.local()

        def buffers() -> list[Any]:
            try:
                return local.buffers
            except AttributeError:
                made = (engine.allocate(s.shape, s.dtype, device) for s in self.specs)  # type: ignore[arg-type]  # all are known
                local.buffers = Arena(engine, made)
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
    """Plan the buffers of a program.

    Args:
        operations: the program's operations, in the order in which they run.
        engine: its `out_rules` and `fresh` decide which results get buffers.
        inputs: the values that are given.
        outputs: the values that are returned.
        states: the new values of variables, returned too.
        compiled: whether the engine compiles the program as a whole; if not given, `engine.compiles_programs` says it.
    """
    plan = BufferPlan()
    aliases = Aliases(operations, engine, engine.compiles_programs if compiled is None else compiled)
    known = Counter(aliases.roots((*outputs, *states, *inputs)))
    constants = set(aliases.roots([op.outputs[0] for op in operations if op.type == "Const"]))
    plan.owned = [known[root] == 1 and root not in constants for root in aliases.roots(states)]
    returned = set(aliases.roots((*outputs, *states)))
    plan.leaves = [root in returned for root in aliases.roots(inputs)]
    owned = {t: number for number, t in enumerate(states) if plan.owned[number]}
    if engine.written:
        plan.may_overwrite = _overwriting(owned, engine, inputs, aliases, known)
    if engine.out_rules:
        for op in dict.fromkeys([t.op for t in owned]):
            if owned.keys() >= {*op.outputs} and _plannable(op, engine):
                plan.spares |= {t: owned[t] for t in op.outputs}
        _fill_arena(plan, plan.in_order(operations), engine, aliases, known)
    return plan


def written_places(op: Operation, engine: Engine) -> list[int]:
    """The numbers of the inputs that an operation writes over by its rule, one for each result."""
    arguments = dict(zip((param.name for param in op.op.params), op.arguments(range(len(op.inputs))), strict=True))
    return [place for name in engine.written[op.type] for place in arguments[name]]


def _overwriting(
    owned: Mapping[GraphTensor, int],
    engine: Engine,
    inputs: Sequence[GraphTensor],
    aliases: Aliases,
    known: Counter[GraphTensor],
) -> dict[Operation, list[int | None]]:
    """The operations that may end a program: no operation takes their results; see `BufferPlan.may_overwrite`.

    No other value that is alive at the end may be a view of an input that is written over.
    """
    numbers = {t: number for number, t in enumerate(inputs)}
    last = [
        op
        for op in dict.fromkeys([t.op for t in owned])
        if op.type in engine.written and owned.keys() >= {*op.outputs} and not any(t.is_used for t in op.outputs)
    ]
    taken = Counter(aliases.roots(t for op in last for t in op.inputs))
    overwriting: dict[Operation, list[int | None]] = {}
    for op in last:
        over = [op.inputs[place] for place in written_places(op, engine)]
        alone = [known[root] == taken[root] == 1 for root in aliases.roots(over)]
        overwriting[op] = [numbers.get(t) if is_alone else None for t, is_alone in zip(over, alone, strict=True)]
    return overwriting


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
        elif not kept.keys().isdisjoint(aliases.roots(op.outputs)) and allocates(engine, specs := _specs(op)):
            (plan.results if fills(engine, op.type, specs) else plan.allocating).add(op)
        release([*dying, *[t for t in op.outputs if last.get(t) == at]])


def _may_overwrite(op: Operation, tensor: GraphTensor, aliases: Aliases) -> bool:
    """Whether an op may overwrite an argument: the op is elementwise, keeps the spec, and takes no views of it."""
    takes = [t for t in op.inputs if aliases.root(t) is tensor]
    return op.op.is_elementwise and tensor.spec == op.outputs[0].spec and all(t is tensor for t in takes)


def _specs(op: Operation) -> list[TensorSpec]:
    return [t.spec for t in op.outputs]


def _plannable(op: Operation, engine: Engine) -> bool:
    if op.type not in engine.out_rules:
        return False
    sizes = [size_of(t.shape) for t in op.outputs]
    known = [size * t.dtype.itemsize for size, t in zip(sizes, op.outputs, strict=True) if size is not None]
    return len(known) == len(sizes) and sum(known) >= SMALLEST
