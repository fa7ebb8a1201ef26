"""Changes by passes: which passes changed the operations of a graph, told by the states before and after each pass."""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import Any, NamedTuple

from dovetail.edit.graph import Graph, Operation
from dovetail.passes import base


class Touch(NamedTuple):
    """A change that a pass makes to an operation.

    Attributes:
        name: the pass.
        module: the module of the pass.
        before, after: the types before and after it.
        into: the operation whose copy computes it from then on; None if it has its own.
    """

    name: str
    module: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    into: Operation | None = None

    def __str__(self) -> str:
        after = ", ".join(self.after) or "nothing"
        whole = f" of {self.into.type} {self.into.name!r}" if self.into is not None else ""
        return f"{self.name}: {', '.join(self.before) or 'nothing'} → {after}{whole}"


class _State(NamedTuple):
    """An operation before a pass: its type, static arguments, uses, and the outputs of the graph that it makes."""

    type: str
    attrs: tuple[Any, ...]
    uses: tuple[tuple[Operation, int], ...]
    returned: tuple[int, ...]


class Touches:
    """The changes that passes make, by the user's operation.

    Attributes:
        found: the user's operation → its changes, in order.
    """

    def __init__(self) -> None:
        self.found: dict[Operation, list[Touch]] = {}

    def runner(self, graph: Graph) -> base.Passes:
        """A run of passes whose changes are noted."""
        return _Noted(graph, self)

    def into(self, operation: Operation) -> Operation:
        """The user's operation whose copy computes an operation at the end."""
        seen = {operation}
        while True:
            successor = next((t.into for t in reversed(self.found.get(operation, ())) if t.into is not None), None)
            if successor is None or successor in seen:
                return operation
            seen.add(successor)
            operation = successor

    def note(self, apply: Any, part: Graph, before: dict[Operation, _State]) -> None:
        """Note the changes since a state."""
        function = apply.func if isinstance(apply, partial) else getattr(apply, "visitor", apply)
        after = _states(part)
        gone = [op for op, state in before.items() if op not in after or _changed(state, after[op])]
        new = [op for op, state in after.items() if op not in before or _changed(before[op], state)]
        left = {op.origin for op in after}
        for origin in dict.fromkeys(op.origin for op in (*gone, *new)):
            old = tuple(before[op].type for op in gone if op.origin is origin)
            own = tuple(after[op].type for op in new if op.origin is origin and after[op].type != "Const")
            into = None
            if not own and origin not in left:
                others = [_successor(part, op, before, new) for op in gone if op.origin is origin]
                successor = next((op for op in others if op is not None and op.origin is not origin), None)
                if successor is not None:
                    own, into = (successor.type,), successor.origin
            if own != old or into is not None:
                touch = Touch(function.__name__, function.__module__, old, own, into)
                self.found.setdefault(origin, []).append(touch)


class _Noted(base.Passes):
    """A run of passes whose changes are noted."""

    def __init__(self, graph: Graph, touches: Touches) -> None:
        super().__init__(graph)
        self._touches = touches

    def _applied(self, apply: base.Pass, part: Graph) -> int:
        before = _states(part)
        changes = super()._applied(apply, part)
        self._touches.note(apply, part, before)
        return changes


def _states(graph: Graph) -> dict[Operation, _State]:
    """The states of the operations that the graph needs."""
    needed = {t.op for t in graph.outputs}
    for op in reversed(graph.operations):
        if op in needed or op.is_kept:
            needed.update((op, *(t.op for t in op.inputs), *op.control_inputs))
    returned: dict[Operation, list[int]] = {}
    for number, tensor in enumerate(graph.outputs):
        returned.setdefault(tensor.op, []).append(number)
    return {op: _state(op, tuple(returned.get(op, ()))) for op in graph if op in needed}


def _state(op: Operation, returned: tuple[int, ...]) -> _State:
    return _State(op.type, tuple(op.attrs.values()), tuple(use for t in op.outputs for use in t.uses()), returned)


def _changed(before: _State, after: _State) -> bool:
    same = len(before.attrs) == len(after.attrs) and all(map(is_, before.attrs, after.attrs))
    return before.type != after.type or not same


def _successor(graph: Graph, op: Operation, before: dict[Operation, _State], new: list[Operation]) -> Operation | None:
    """The operation that computes a removed one: a consumer's new one, or the new input of it or of the output."""
    if before[op].returned:
        return graph.outputs[before[op].returned[0]].op
    for consumer, number in before[op].uses:
        replaced = next((other for other in new if other.origin is consumer.origin), None)
        if replaced is not None:
            return replaced
        if not consumer.is_removed and number < len(consumer.inputs) and consumer.inputs[number].op is not op:
            return consumer.inputs[number].op
        if consumer in before and (successor := _successor(graph, consumer, before, new)) is not None:
            return successor
    return None
