"""Fusion: compositions become one op if the engine claims it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dovetail import ops
from dovetail.core.values import infer
from dovetail.edit.graph import Graph, Operation
from dovetail.edit.patterns import Match, build, match, scalar_constant, wildcards
from dovetail.graph.pass_edits import rewire
from dovetail.passes.base import needs, sweep

x, y, bias = wildcards("x y bias")
ta, tb = wildcards("ta tb")
scale = wildcards("scale", lambda value: scalar_constant(value) is not None)


def _matrices(found: Match) -> bool:
    if not found[x].ndim == found[y].ndim == found.tensor.ndim == 2 or not found.tensor.dtype.is_floating:
        return False
    if found[bias].shape is None:
        return False
    product = infer.matmul(found[x].spec, found[y].spec, found[ta], found[tb]).shape or ()
    pairs = zip(reversed(found[bias].shape), reversed(product), strict=False)
    return all(dim is not None and dim in (1, own) for dim, own in pairs)  # the bias broadcasts, the product does not


def _wide(found: Match) -> bool:
    shape = found[x].shape
    return shape is not None and shape == found.tensor.shape and found.tensor.dtype.is_floating


def _scaled(sign: int) -> Callable[[Match], Any]:
    return lambda found: ops.add_scaled(found[x], found[y], sign * scalar_constant(found[scale]))


# (pattern, replacement, condition); the inner op must have no other use
FUSIONS: list[tuple[Any, Any, Callable[[Match], bool]]] = [
    (ops.matmul(x, y, ta, tb) + bias, ops.matmul_add(bias, x, y, ta, tb), _matrices),
    (x + y * scale, _scaled(1), _wide),
    (x - y * scale, _scaled(-1), _wide),
]
MAKES = {"AddV2": ("FusedMatMul", "AddScaled"), "Sub": ("AddScaled",)}
INNER = frozenset(["MatMul", "Mul"])


@needs(INNER)
def fuse(graph: Graph, claimed: Callable[[Operation], Collection[str]]) -> int:
    """Replace compositions by fused ops.

    Args:
        graph: the graph to edit.
        claimed: (operation) → the names of the ops that its engine claims.

    Returns:
        The number of fused compositions; `prune` removes operations that are not needed any more.
    """

    def visit(op: Operation) -> int:
        if INNER.isdisjoint(t.op.type for t in op.inputs):
            return 0
        if not any(name in claimed(op) for name in MAKES[op.type]):
            return 0
        for pattern, replacement, condition in FUSIONS:
            matched = match(pattern, op.outputs[0])
            if matched is None or not condition(matched) or not _inner_is_free(op, matched):
                continue
            new = replacement(matched) if callable(replacement) else build(replacement, matched)
            if new.op.type in claimed(op) and new.spec == op.outputs[0].spec:
                rewire(graph, op.outputs[0], new)
                return 1
        return 0

    return sweep(graph, visit, graph.of_types(MAKES))


def _inner_is_free(op: Operation, found: Match) -> bool:
    """Whether the inner operations have the pin of the op, and no use outside of the fused op."""
    kept = {id(value) for value in found.values()}
    inner = [t for t in op.inputs if id(t) not in kept]
    returned = set(op.graph.outputs)
    return all(t.op.pin == op.pin and len(t.uses()) == 1 and t not in returned for t in inner)
