"""Common subexpressions: of several operations that compute the same from the same inputs, one stays."""

from __future__ import annotations

from typing import Any

from dovetail.core.values.signature import static_key
from dovetail.edit.graph import Graph, Operation
from dovetail.edit.patterns import COMMUTATIVE
from dovetail.graph.index import note_change
from dovetail.graph.pass_edits import rewire
from dovetail.ops.control.plumbing import EFFECTS, PRINTS, STRUCTURAL

LARGEST = 1 << 16  # bytes; larger constants are equal only if they are one array

KEPT = frozenset(["Placeholder", *EFFECTS, *PRINTS])


def merge_common(graph: Graph) -> int:
    """Make the users of an operation take the results of an earlier one that computes the same.

    Reads of a variable compute the same: they all see its value at the start.

    Returns:
        The number of operations that lost their users; `prune` removes them.
    """
    first: dict[Any, Operation] = {}
    count = 0
    for op in graph.of_types([name for name, alike in graph.by_type.items() if len(alike) > 1 and name not in KEPT]):
        try:
            earlier = first.setdefault(_key(op), op)
        except TypeError:  # a static argument without a hash equals no other
            continue
        if earlier is not op:
            note_change(graph, earlier)  # it may have had no users, so that no pass looked at it
            for tensor, same in zip(op.outputs, earlier.outputs, strict=True):
                rewire(graph, tensor, same)
            count += 1
    return count


def _key(op: Operation) -> Any:
    name = op.type
    if name == "Const":
        value = op.attrs["value"]
        return value.dtype, value.shape, value.tobytes() if value.nbytes <= LARGEST else id(value)
    inputs = list(map(id, op.inputs))
    if name in COMMUTATIVE:
        inputs.sort()
    overrides = tuple(sorted(op.overrides.items())) if op.overrides else None
    pin = None if name in STRUCTURAL else op._pin
    # Not the codec's data: it is not hashable, and it names other objects by identity, where equal ones are one here.
    attrs = tuple(map(static_key, op.attrs.values())) if op.attrs else None
    return name, *inputs, op.layout, pin, id(op.gradient_function), overrides, attrs
