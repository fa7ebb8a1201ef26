"""Parts: the user's division of a graph into pieces that run one after another."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from dovetail.core.base.errors import op_error
from dovetail.graph.operation import Operation
from dovetail.ops.control.plumbing import STRUCTURAL

Part: TypeAlias = "int | str"


def in_parts(operations: Iterable[Operation]) -> list[tuple[Part | None, list[Operation]]]:
    """Divide operations into their parts, in the order in which these run.

    Parts with numbers run in ascending order; others in the order in which the graph first has them, unless a part
    needs values of a later one.  An operation without a part goes with the last part that it needs; if it needs none,
    with the first part.

    Args:
        operations: in program order; operations that compute nothing are left out.

    Returns:
        Pairs of a part and its operations, in program order; if no operation has a part, all of them with None.

    Raises:
        ValueError: parts need each other, or one with a number needs a later one.
    """
    operations = [op for op in operations if op.type not in STRUCTURAL]
    numbers: dict[Part, int] = {}
    for op in operations:
        if op._pin.part is not None:  # `part` would be a call per operation
            numbers.setdefault(op._pin.part, len(numbers))
    if not numbers:
        return [(None, operations)]
    needs = _needs(operations, numbers)
    order = _order(numbers, needs)
    rank = {part: number for number, part in enumerate(order)}
    ranks: dict[Operation, int] = {}
    parts: list[list[Operation]] = [[] for _ in order]
    for op in operations:
        behind = max((ranks[other] for other in _before(op) if other in ranks), default=0)
        ranks[op] = behind if op.part is None else rank[op.part]
        parts[ranks[op]].append(op)
    return list(zip(order, parts, strict=True))


def _before(op: Operation) -> Iterable[Operation]:
    return (*(tensor.op for tensor in op.inputs), *op.control_inputs)


def _needs(operations: list[Operation], numbers: dict[Part, int]) -> dict[Part, dict[Part, Operation]]:
    """Part → the other parts whose values it needs, directly or through others, each with the first operation."""
    parts = list(numbers)
    needed: dict[Operation, int] = {}  # a bit for each part
    needs: dict[Part, dict[Part, Operation]] = {part: {} for part in parts}
    for op in operations:
        bits = 0
        for other in _before(op):
            bits |= needed.get(other, 0)
        if op.part is not None:
            own = 1 << numbers[op.part]
            for number in range(len(parts)) if bits & ~own else ():
                if bits >> number & 1 and parts[number] != op.part:
                    needs[op.part].setdefault(parts[number], op)
            bits |= own
        needed[op] = bits
    return needs


def _order(numbers: dict[Part, int], needs: dict[Part, dict[Part, Operation]]) -> list[Part]:
    waits = {part: set(needed) for part, needed in needs.items()}
    for earlier, later in pairwise(sorted(part for part in numbers if isinstance(part, int))):
        waits[later].add(earlier)
    order: list[Part] = []
    while len(order) < len(numbers):
        ready = next((part for part in numbers if part not in order and waits[part].issubset(order)), None)
        if ready is None:
            raise _cycle([part for part in numbers if part not in order], waits, needs)
        order.append(ready)
    return order


def _cycle(left: list[Part], waits: dict[Part, set[Part]], needs: dict[Part, dict[Part, Operation]]) -> Exception:
    """The error for parts that wait for each other."""
    walked = [left[0]]
    while walked[-1] not in walked[:-1]:
        walked.append(next(part for part in left if part in waits[walked[-1]]))
    circle = walked[walked.index(walked[-1]) :]
    said = [_reason(part, other, needs) for part, other in pairwise(circle)]
    first = next(needs[part][other] for part, other in pairwise(circle) if other in needs[part])
    problem = f"parts run one after another, but {', and '.join(said)}. Put operations into other parts."
    return op_error(ValueError, first.type, problem, where=first.where)


def _reason(part: Part, other: Part, needs: dict[Part, dict[Part, Operation]]) -> str:
    operation = needs[part].get(other)
    if operation is None:
        return f"the part {part!r} has a higher number than the part {other!r}"
    return f"{operation.name!r} of the part {part!r} needs a value of the part {other!r}"
