"""Patterns: parts of programs to find and to replace, written as ops that are called on wildcards.

    x, w, b = wildcards("x w b")
    for found in graph.match(ops.tanh(x @ w + b)):
        print(found.tensor, found[w])
    graph.rewrite(-(-x), x)

Wildcards are a world of their own in dispatch: an op that is given one makes a `Call`, a tree of what to look for.
A number in a pattern stands for a scalar constant of that value, and arguments of commutative ops match in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.ops import worlds
from dovetail.ops.op import Op
from dovetail.tensor import Operators

COMMUTATIVE = frozenset((
    "AddV2", "Mul", "Maximum", "Minimum", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalXor", "BitwiseAnd",
    "BitwiseOr", "BitwiseXor",
))  # fmt: skip


class Wildcard(Operators):
    """Stands for any tensor, or any static value, in a pattern; the same one at every place where it is used.

    Args:
        name: how it is called.
        accepts: says which tensors it stands for; any, if not given.
    """

    __slots__ = ("accepts", "name")

    def __init__(self, name: str, accepts: Callable[[Any], bool] | None = None) -> None:
        self.name = name
        self.accepts = accepts

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return self.name


class Call(Operators):
    """Stands for the result of an op on arguments that match; made by calling the op."""

    __slots__ = ("arguments", "op")

    def __init__(self, op: Op, arguments: list[Any]) -> None:
        self.op = op
        self.arguments = arguments

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(map(repr, self.arguments))})"


Pattern: TypeAlias = Wildcard | Call


def wildcards(names: str, accepts: Callable[[Any], bool] | None = None) -> Any:
    """Wildcards, from which patterns are made by calling ops on them.

    Args:
        names: how they are called, with spaces between.
        accepts: says which tensors they stand for; any, if not given.

    Returns:
        A list of them; one alone if there is one name.

    Example:
        >>> from dovetail import ops
        >>> x, y = wildcards("x y")
        >>> ops.tanh(x @ y)
        Tanh(MatMul(x, y, False, False))
    """
    made = [Wildcard(name, accepts) for name in names.split()]
    return made[0] if len(made) == 1 else made


class Match(dict[Wildcard, Any]):
    """Where a pattern was found: wildcard → tensor or static value.

    Attributes:
        tensor: what the whole pattern matched.
    """

    tensor: GraphTensor

    @property
    def op(self) -> Operation:
        return self.tensor.op


def match(pattern: Pattern, tensor: GraphTensor) -> Match | None:
    """How a tensor fits a pattern; None if it does not."""
    found = Match()
    found.tensor = tensor
    return found if _fits(pattern, tensor, found) else None


def matches(graph: Graph, pattern: Pattern) -> Iterator[Match]:
    """Every place of a graph that fits, in program order; edits while iterating are seen by what comes later."""
    for operation in graph.operations:
        for tensor in operation.outputs[:1] if operation in graph else ():
            found = match(pattern, tensor)
            if found is not None:
                yield found


def build(template: Any, found: Match) -> Any:
    """A pattern made into operations, with what was found in the place of its wildcards."""
    if isinstance(template, Wildcard):
        return found[template]
    if isinstance(template, Call):
        return template.op(*[build(a, found) for a in template.arguments])
    return tuple(build(a, found) for a in template) if isinstance(template, tuple) else template


def rewrite(graph: Graph, pattern: Pattern, replacement: Any) -> int:
    """Replaces what a pattern matches.

    Args:
        graph: is edited; what nobody needs any more stays until it is pruned.
        pattern: what to look for.
        replacement: a pattern of the same wildcards; or a function that is given the `Match` and returns the tensor
            to use instead, or None to leave it.

    Returns:
        How many places were replaced.

    Raises:
        ValueError, TypeError: the replacement has another dtype or a shape that does not fit; then that place, and what
            comes after it, is left.
    """
    count = 0
    for found in matches(graph, pattern):
        with graph.insert_before(found.op):
            new = replacement(found) if callable(replacement) else build(replacement, found)
        if new is not None:
            graph.replace_all_uses(found.tensor, new)
            count += 1
    return count


def _fits(pattern: Any, value: Any, found: Match) -> bool:
    if isinstance(pattern, Wildcard):
        if pattern in found:
            before = found[pattern]
            return before is value or (GraphTensor not in (type(before), type(value)) and before == value)
        if pattern.accepts is not None and not pattern.accepts(value):
            return False
        found[pattern] = value
        return True
    if type(value) is GraphTensor:
        if isinstance(pattern, Call):
            return pattern.op is value.op.op and value.index == 0 and _call_fits(pattern, value.op, found)
        return isinstance(pattern, (bool, int, float)) and scalar_constant(value) == pattern
    if isinstance(pattern, tuple) and isinstance(value, tuple):
        return len(pattern) == len(value) and all(_fits(p, v, found) for p, v in zip(pattern, value, strict=True))
    return not isinstance(pattern, Call) and pattern == value


def _call_fits(pattern: Call, operation: Operation, found: Match) -> bool:
    arguments = operation.args
    if pattern.op.name not in COMMUTATIVE:
        return _all_fit(pattern.arguments, arguments, found)
    before = dict(found)
    if _all_fit(pattern.arguments, arguments, found):
        return True
    found.clear()
    found.update(before)
    return _all_fit(pattern.arguments, arguments[::-1], found)


def _all_fit(patterns: list[Any], values: list[Any], found: Match) -> bool:
    return all(_fits(p, v, found) for p, v in zip(patterns, values, strict=True))


def scalar_constant(tensor: GraphTensor) -> Any:
    """The value of a constant without dimensions, as a Python number; None for all else."""
    if tensor.op.type == "Const" and tensor.shape == ():
        return tensor.op.attrs["value"].item()
    return None


def uniform_constant(tensor: GraphTensor) -> np.ndarray | None:
    """The one value that all elements of a constant have, without dimensions; None if they differ."""
    if tensor.op.type != "Const":
        return None
    value = tensor.op.attrs["value"]
    first = value.reshape(-1)[:1]
    return first.reshape(()) if 0 < value.size <= 4096 and (value == first).all() else None


PATTERN = worlds.World("pattern", 5, lambda op, values, name: Call(op, values))
worlds.register_world(Wildcard, PATTERN)
worlds.register_world(Call, PATTERN)
